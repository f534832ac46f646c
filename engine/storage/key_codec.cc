#include "engine/storage/key_codec.h"

#include "engine/base/assert.h"
#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/base/record.h"

#include <tallystick/types.h>

namespace tallystick {
namespace {

constexpr uint32_t kShardNumberMax = 0xffff;
constexpr RecordKind kChunkRecordKind = {"chunk record", kChunkRecordVersion};

void PutShardAndType(std::string* key, uint32_t shard, std::string_view etype) {
  TALLY_ASSERT(shard <= kShardNumberMax);
  TALLY_ASSERT(etype.size() <= kNameBytesMax);
  TALLY_ASSERT(etype.find('\0') == std::string_view::npos);
  PutU16(key, static_cast<uint16_t>(shard));
  key->append(etype);
  key->push_back('\0');
}

// A name of at most kNameBytesMax bytes up to the next 0x00, which is skipped.
bool ReadTerminated(ByteReader* reader, std::string_view* name) {
  const size_t length = reader->rest().find('\0');
  std::string_view terminator;
  return length != std::string_view::npos && length <= kNameBytesMax && reader->Raw(length, name) &&
         reader->Raw(1, &terminator);
}

bool ReadShardAndType(ByteReader* reader, uint32_t* shard, std::string_view* etype) {
  uint16_t number = 0;
  if (!reader->U16(&number) || !ReadTerminated(reader, etype)) return false;
  *shard = number;
  return true;
}

}  // namespace

std::string EntityStoreKey(uint32_t shard, std::string_view etype, std::string_view eid) {
  TALLY_ASSERT(eid.size() <= kPlainKeyBytesMax);
  std::string key;
  key.reserve(3 + etype.size() + eid.size());
  PutShardAndType(&key, shard, etype);
  key.append(eid);
  return key;
}

bool ParseEntityStoreKey(std::string_view key, uint32_t* shard, std::string_view* etype,
                         std::string_view* eid) {
  ByteReader reader(key);
  if (!ReadShardAndType(&reader, shard, etype)) return false;
  if (reader.remaining() > kPlainKeyBytesMax) return false;
  *eid = reader.rest();
  return true;
}

std::string ChunkStoreKey(uint32_t shard, std::string_view etype, std::string_view eid,
                          std::string_view metric, uint64_t chunk) {
  TALLY_ASSERT(eid.size() <= kPlainKeyBytesMax);
  TALLY_ASSERT(metric.size() <= kNameBytesMax);
  TALLY_ASSERT(metric.find('\0') == std::string_view::npos);
  std::string key;
  key.reserve(16 + etype.size() + eid.size() + metric.size());
  PutShardAndType(&key, shard, etype);
  PutU32(&key, static_cast<uint32_t>(eid.size()));
  key.append(eid);
  key.append(metric);
  key.push_back('\0');
  PutU64(&key, chunk);
  return key;
}

bool ParseChunkStoreKey(std::string_view key, uint32_t* shard, std::string_view* etype,
                        std::string_view* eid, std::string_view* metric, uint64_t* chunk) {
  ByteReader reader(key);
  uint32_t eid_bytes = 0;
  return ReadShardAndType(&reader, shard, etype) && reader.U32(&eid_bytes) &&
         eid_bytes <= kPlainKeyBytesMax && reader.Raw(eid_bytes, eid) &&
         ReadTerminated(&reader, metric) && reader.U64(chunk) && reader.remaining() == 0;
}

std::string ShardPrefix(uint32_t shard) {
  TALLY_ASSERT(shard <= kShardNumberMax);
  std::string key;
  PutU16(&key, static_cast<uint16_t>(shard));
  return key;
}

std::string ShardPrefixEnd(uint32_t shard) {
  TALLY_ASSERT(shard <= kShardNumberMax);
  return shard == kShardNumberMax ? std::string() : ShardPrefix(shard + 1);
}

std::string JournalKey(uint32_t partition, uint64_t first_offset) {
  TALLY_ASSERT(partition <= kShardNumberMax);
  std::string key;
  PutU16(&key, static_cast<uint16_t>(partition));
  PutU64(&key, first_offset);
  return key;
}

bool ParseJournalKey(std::string_view key, uint32_t* partition, uint64_t* first_offset) {
  ByteReader reader(key);
  uint16_t number = 0;
  if (!reader.U16(&number) || !reader.U64(first_offset) || reader.remaining() != 0) return false;
  *partition = number;
  return true;
}

std::string EncodeChunkRecord(std::string_view key, uint64_t sequence, std::string_view image) {
  std::string record;
  record.reserve(19 + image.size());
  record.push_back(static_cast<char>(kChunkRecordVersion));
  PutVarint(&record, sequence);
  record.append(image);
  SealRecord(key, &record);
  return record;
}

Status OpenChunkRecord(std::string_view key, std::string_view value, uint64_t* sequence,
                       std::string_view* image) {
  std::string_view body;
  if (Status s = OpenVersionedRecord(kChunkRecordKind, key, value, &body); !s.ok()) return s;
  ByteReader reader(body);
  if (!reader.Varint(sequence)) return DamagedRecord(kChunkRecordKind, "no sequence");
  *image = reader.rest();
  return Status();
}

}  // namespace tallystick
