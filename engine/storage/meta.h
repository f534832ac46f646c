// Records of the meta column family. Layouts in docs/formats/meta.md.
//
// Pure and thread-safe. Every record is sealed with its key; decoders take any bytes and answer
// kCorruption for damage and kUnsupportedFormat, by name, for a version that this build is too old
// for.
#pragma once

#include <tallystick/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

inline constexpr uint8_t kFormatVersion = 1;  // of the directory as a whole
inline constexpr uint8_t kDatabaseRecordVersion = 1;
inline constexpr uint8_t kEpochRecordVersion = 1;
inline constexpr uint8_t kCheckpointRecordVersion = 1;

// Key "database": what is fixed at creation.
struct DatabaseRecord {
  uint32_t format_version = kFormatVersion;
  uint64_t database_id_high = 0, database_id_low = 0;
  uint64_t created_ms = 0;
  uint32_t shards = 0;      // power of two, 1 to 4096
  uint32_t partitions = 0;  // power of two, 1 to shards
  uint64_t placement_seed = 0;
  std::string schema;  // Schema::Encode
};
std::string EncodeDatabaseRecord(const DatabaseRecord& record);
// kUnsupportedFormat names the version found and the newest that this build reads.
Result<DatabaseRecord> DecodeDatabaseRecord(std::string_view value);

// Key "epoch": how often the directory was opened.
std::string EncodeEpochRecord(uint64_t epoch);
Result<uint64_t> DecodeEpochRecord(std::string_view value);

// Key "checkpoint/" partition u16: everything before `offset` is in snapshots and records.
struct CheckpointRecord {
  uint32_t partition = 0;
  uint64_t offset = 0;  // replay starts here
  std::vector<uint64_t>
      shard_sequences;  // at `offset` or later, for the partition's shards in order
  // As many: everything of the shard up to here was wiped.
  std::vector<uint64_t> wipe_sequences;
};
std::string CheckpointKey(uint32_t partition);
std::string EncodeCheckpointRecord(const CheckpointRecord& record);
Result<CheckpointRecord> DecodeCheckpointRecord(uint32_t partition, std::string_view value);

inline constexpr std::string_view kDatabaseKey = "database";
inline constexpr std::string_view kEpochKey = "epoch";

}  // namespace tallystick
