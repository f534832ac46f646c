// Keys of the column families. Everything of one entity begins with its shard, so that a shard loads
// by one range scan; numbers are big-endian and sort as numbers. Layout in docs/formats/keys.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tallystick {

// shard u16 | etype | 0x00 | eid: sets, counts and kv. etype holds no 0x00.
std::string EntityStoreKey(uint32_t shard, std::string_view etype, std::string_view eid);
bool ParseEntityStoreKey(std::string_view key, uint32_t* shard, std::string_view* etype,
                         std::string_view* eid);
// shard u16 | etype | 0x00 | eid length u16 | eid | metric | 0x00 | chunk u64: snapshots. The length
// keeps entities whose ids hold 0x00 apart.
std::string ChunkStoreKey(uint32_t shard, std::string_view etype, std::string_view eid,
                          std::string_view metric, uint64_t chunk);
bool ParseChunkStoreKey(std::string_view key, uint32_t* shard, std::string_view* etype,
                        std::string_view* eid, std::string_view* metric, uint64_t* chunk);
std::string ShardPrefix(uint32_t shard);     // lower bound of a shard's keys
std::string ShardPrefixEnd(uint32_t shard);  // and the bound after its last
// partition u16 | first offset u64
std::string JournalKey(uint32_t partition, uint64_t first_offset);
bool ParseJournalKey(std::string_view key, uint32_t* partition, uint64_t* first_offset);

// A chunk's stored value: version, the shard sequence up to which it is true, the image, sealed.
std::string EncodeChunkRecord(std::string_view key, uint64_t sequence, std::string_view image);
bool DecodeChunkRecord(std::string_view key, std::string_view value, uint64_t* sequence,
                       std::string_view* image);

}  // namespace tallystick
