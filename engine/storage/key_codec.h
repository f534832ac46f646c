// Keys of the column families. Everything of one entity begins with its shard, so that a shard
// loads by one range scan; numbers are big-endian and sort as numbers. Layout in
// docs/formats/keys.md.
//
// Pure and thread-safe. Encoders assert the limits of types.h (a shard or partition fits 16 bits,
// names have at most 64 bytes and no 0x00, an eid at most kPlainKeyBytesMax bytes); parsers take
// any bytes, answer false for what no encoder wrote, and their views point into `key`.
#pragma once

#include <tallystick/result.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tallystick {

inline constexpr uint8_t kChunkRecordVersion = 1;

// shard u16 | etype | 0x00 | eid: sets, counts and kv. etype holds no 0x00. Sorts as (shard, etype,
// eid).
std::string EntityStoreKey(uint32_t shard, std::string_view etype, std::string_view eid);
bool ParseEntityStoreKey(std::string_view key, uint32_t* shard, std::string_view* etype,
                         std::string_view* eid);
// shard u16 | etype | 0x00 | eid length u32 | eid | metric | 0x00 | chunk u64: snapshots. The
// length keeps entities whose ids hold 0x00 apart. Sorts as (shard, etype, eid length, eid, metric,
// chunk).
std::string ChunkStoreKey(uint32_t shard, std::string_view etype, std::string_view eid,
                          std::string_view metric, uint64_t chunk);
bool ParseChunkStoreKey(std::string_view key, uint32_t* shard, std::string_view* etype,
                        std::string_view* eid, std::string_view* metric, uint64_t* chunk);
std::string ShardPrefix(uint32_t shard);     // lower bound of a shard's keys
std::string ShardPrefixEnd(uint32_t shard);  // and the bound after its last; empty: open end
// partition u16 | first offset u64
std::string JournalKey(uint32_t partition, uint64_t first_offset);
bool ParseJournalKey(std::string_view key, uint32_t* partition, uint64_t* first_offset);

// A chunk's stored value: version, the shard sequence up to which it is true, the image, sealed.
std::string EncodeChunkRecord(std::string_view key, uint64_t sequence, std::string_view image);
// kCorruption or kUnsupportedFormat. `*image` points into `value`; its own codec validates it.
Status OpenChunkRecord(std::string_view key, std::string_view value, uint64_t* sequence,
                       std::string_view* image);
// The same for callers to whom the reason does not matter.
inline bool DecodeChunkRecord(std::string_view key, std::string_view value, uint64_t* sequence,
                              std::string_view* image) {
  return OpenChunkRecord(key, value, sequence, image).ok();
}

}  // namespace tallystick
