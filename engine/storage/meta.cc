#include "engine/storage/meta.h"

#include "engine/base/assert.h"
#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/base/record.h"

#include <bit>

namespace tallystick {
namespace {

constexpr RecordKind kDatabaseKind = {"database record", kDatabaseRecordVersion};
constexpr RecordKind kEpochKind = {"epoch record", kEpochRecordVersion};
constexpr RecordKind kCheckpointKind = {"checkpoint record", kCheckpointRecordVersion};
constexpr RecordKind kDirectoryKind = {"data directory", kFormatVersion};

constexpr uint32_t kShardsStoredMax = 4096;
constexpr std::string_view kCheckpointKeyPrefix = "checkpoint/";

bool ValidPlacement(uint32_t shards, uint32_t partitions) {
  return std::has_single_bit(shards) && shards <= kShardsStoredMax &&
         std::has_single_bit(partitions) && partitions <= shards;
}

std::string NewRecord(uint8_t version) {
  return std::string(1, static_cast<char>(version));
}

}  // namespace

std::string EncodeDatabaseRecord(const DatabaseRecord& record) {
  TALLY_ASSERT(record.format_version != 0);
  TALLY_ASSERT(ValidPlacement(record.shards, record.partitions));
  std::string out = NewRecord(kDatabaseRecordVersion);
  PutU32(&out, record.format_version);
  PutU64(&out, record.database_id_high);
  PutU64(&out, record.database_id_low);
  PutU64(&out, record.created_ms);
  PutU32(&out, record.shards);
  PutU32(&out, record.partitions);
  PutU64(&out, record.placement_seed);
  out.append(record.schema);
  SealRecord(kDatabaseKey, &out);
  return out;
}

Result<DatabaseRecord> DecodeDatabaseRecord(std::string_view value) {
  std::string_view body;
  if (Status s = OpenVersionedRecord(kDatabaseKind, kDatabaseKey, value, &body); !s.ok()) {
    return Fail(std::move(s));
  }
  DatabaseRecord record;
  ByteReader reader(body);
  if (!reader.U32(&record.format_version) || record.format_version == 0) {
    return Fail(DamagedRecord(kDatabaseKind, "no format version"));
  }
  if (record.format_version > kFormatVersion) {
    return Fail(UnsupportedRecord(kDirectoryKind, record.format_version));
  }
  if (!reader.U64(&record.database_id_high) || !reader.U64(&record.database_id_low) ||
      !reader.U64(&record.created_ms) || !reader.U32(&record.shards) ||
      !reader.U32(&record.partitions) || !reader.U64(&record.placement_seed)) {
    return Fail(DamagedRecord(kDatabaseKind, "too short"));
  }
  if (!ValidPlacement(record.shards, record.partitions)) {
    return Fail(DamagedRecord(kDatabaseKind, "impossible numbers of shards and partitions"));
  }
  record.schema = reader.rest();
  return record;
}

std::string EncodeEpochRecord(uint64_t epoch) {
  std::string out = NewRecord(kEpochRecordVersion);
  PutVarint(&out, epoch);
  SealRecord(kEpochKey, &out);
  return out;
}

Result<uint64_t> DecodeEpochRecord(std::string_view value) {
  std::string_view body;
  if (Status s = OpenVersionedRecord(kEpochKind, kEpochKey, value, &body); !s.ok()) {
    return Fail(std::move(s));
  }
  ByteReader reader(body);
  uint64_t epoch = 0;
  if (!reader.Varint(&epoch) || reader.remaining() != 0) {
    return Fail(DamagedRecord(kEpochKind, "not one number"));
  }
  return epoch;
}

std::string CheckpointKey(uint32_t partition) {
  TALLY_ASSERT(partition <= 0xffff);
  std::string key(kCheckpointKeyPrefix);
  PutU16(&key, static_cast<uint16_t>(partition));
  return key;
}

std::string EncodeCheckpointRecord(const CheckpointRecord& record) {
  TALLY_ASSERT(record.shard_sequences.size() == record.wipe_sequences.size());
  TALLY_ASSERT(record.shard_sequences.size() <= kShardsStoredMax);
  std::string out = NewRecord(kCheckpointRecordVersion);
  PutVarint(&out, record.offset);
  PutVarint(&out, record.shard_sequences.size());
  for (size_t i = 0; i < record.shard_sequences.size(); ++i) {
    PutVarint(&out, record.shard_sequences[i]);
    PutVarint(&out, record.wipe_sequences[i]);
  }
  SealRecord(CheckpointKey(record.partition), &out);
  return out;
}

Result<CheckpointRecord> DecodeCheckpointRecord(uint32_t partition, std::string_view value) {
  std::string_view body;
  if (Status s = OpenVersionedRecord(kCheckpointKind, CheckpointKey(partition), value, &body);
      !s.ok()) {
    return Fail(std::move(s));
  }
  CheckpointRecord record;
  record.partition = partition;
  ByteReader reader(body);
  uint64_t shards = 0;
  if (!reader.Varint(&record.offset) || !reader.Varint(&shards) || shards > kShardsStoredMax ||
      2 * shards > reader.remaining()) {
    return Fail(DamagedRecord(kCheckpointKind, "too short for its shards"));
  }
  record.shard_sequences.resize(shards);
  record.wipe_sequences.resize(shards);
  for (size_t i = 0; i < shards; ++i) {
    if (!reader.Varint(&record.shard_sequences[i]) || !reader.Varint(&record.wipe_sequences[i])) {
      return Fail(DamagedRecord(kCheckpointKind, "too short for its shards"));
    }
  }
  if (reader.remaining() != 0) return Fail(DamagedRecord(kCheckpointKind, "trailing bytes"));
  return record;
}

}  // namespace tallystick
