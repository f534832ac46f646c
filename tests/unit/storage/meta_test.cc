// Proves that the records of the meta column family come back as they were, that every small damage
// is refused, and that a newer version of the record or of the directory is refused by name.
#include "engine/storage/meta.h"

#include "engine/base/checksum.h"
#include "tests/support/damage.h"

#include <gtest/gtest.h>

namespace tallystick {
namespace {

DatabaseRecord SampleDatabase() {
  DatabaseRecord record;
  record.database_id_high = 0x0123456789abcdef;
  record.database_id_low = UINT64_MAX;
  record.created_ms = 1764547200000;
  record.shards = 256;
  record.partitions = 16;
  record.placement_seed = 7;
  record.schema = "schema bytes";
  return record;
}

TEST(Meta, DatabaseRoundTripAndDamage) {
  const std::string value = EncodeDatabaseRecord(SampleDatabase());
  const Result<DatabaseRecord> found = DecodeDatabaseRecord(value);
  ASSERT_TRUE(found.has_value()) << found.error().ToString();
  EXPECT_EQ(found->format_version, kFormatVersion);
  EXPECT_EQ(found->database_id_high, 0x0123456789abcdefu);
  EXPECT_EQ(found->database_id_low, UINT64_MAX);
  EXPECT_EQ(found->created_ms, 1764547200000u);
  EXPECT_EQ(found->shards, 256u);
  EXPECT_EQ(found->partitions, 16u);
  EXPECT_EQ(found->placement_seed, 7u);
  EXPECT_EQ(found->schema, "schema bytes");
  EXPECT_EQ(EncodeDatabaseRecord(*found), value);
  testing::ExpectEveryDamageRefused(value, [](std::string_view bytes) {
    const Result<DatabaseRecord> r = DecodeDatabaseRecord(bytes);
    EXPECT_TRUE(r.has_value() || r.error().code() == StatusCode::kCorruption);
    return r.has_value();
  });
}

TEST(Meta, ANewerDirectoryIsRefusedByName) {
  DatabaseRecord record = SampleDatabase();
  record.format_version = 9;
  const Result<DatabaseRecord> found = DecodeDatabaseRecord(EncodeDatabaseRecord(record));
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code(), StatusCode::kUnsupportedFormat);
  EXPECT_EQ(found.error().message(),
            "data directory: version 9 was found, the newest understood is 1");
}

TEST(Meta, ANewerRecordIsRefusedByName) {
  std::string value(1, '\x05');
  SealRecord(kDatabaseKey, &value);
  EXPECT_EQ(DecodeDatabaseRecord(value).error().message(),
            "database record: version 5 was found, the newest understood is 1");
  value.assign(1, '\x05');
  SealRecord(kEpochKey, &value);
  EXPECT_EQ(DecodeEpochRecord(value).error().message(),
            "epoch record: version 5 was found, the newest understood is 1");
  value.assign(1, '\x05');
  SealRecord(CheckpointKey(3), &value);
  EXPECT_EQ(DecodeCheckpointRecord(3, value).error().message(),
            "checkpoint record: version 5 was found, the newest understood is 1");
}

TEST(Meta, ImpossiblePlacementIsRefused) {
  for (const auto& [shards, partitions] :
       {std::pair{0u, 0u}, {3u, 1u}, {8192u, 1u}, {4u, 8u}, {4u, 3u}, {4u, 0u}}) {
    std::string value = EncodeDatabaseRecord(SampleDatabase());
    value.resize(value.size() - 8);
    std::string placement;
    placement +=
        std::string({'\0', '\0', static_cast<char>(shards >> 8), static_cast<char>(shards)});
    placement += std::string({'\0', '\0', '\0', static_cast<char>(partitions)});
    value.replace(1 + 4 + 24, 8, placement);
    SealRecord(kDatabaseKey, &value);
    EXPECT_EQ(DecodeDatabaseRecord(value).error().code(), StatusCode::kCorruption);
  }
}

TEST(Meta, EpochRoundTripAndDamage) {
  for (const uint64_t epoch : {uint64_t{0}, uint64_t{1}, uint64_t{300}, UINT64_MAX}) {
    const std::string value = EncodeEpochRecord(epoch);
    EXPECT_EQ(DecodeEpochRecord(value).value(), epoch);
    testing::ExpectEveryDamageRefused(
        value, [](std::string_view bytes) { return DecodeEpochRecord(bytes).has_value(); });
  }
}

TEST(Meta, CheckpointRoundTripAndDamage) {
  CheckpointRecord record;
  record.partition = 3;
  record.offset = 1234567;
  record.shard_sequences = {0, 1, UINT64_MAX};
  record.wipe_sequences = {0, 0, 17};
  const std::string value = EncodeCheckpointRecord(record);
  const Result<CheckpointRecord> found = DecodeCheckpointRecord(3, value);
  ASSERT_TRUE(found.has_value()) << found.error().ToString();
  EXPECT_EQ(found->partition, 3u);
  EXPECT_EQ(found->offset, 1234567u);
  EXPECT_EQ(found->shard_sequences, record.shard_sequences);
  EXPECT_EQ(found->wipe_sequences, record.wipe_sequences);
  EXPECT_FALSE(DecodeCheckpointRecord(4, value).has_value());  // another partition's key
  testing::ExpectEveryDamageRefused(
      value, [](std::string_view bytes) { return DecodeCheckpointRecord(3, bytes).has_value(); });
  testing::ExpectNoHarmBehindChecksum(CheckpointKey(3), value, [](std::string_view bytes) {
    return DecodeCheckpointRecord(3, bytes).has_value();
  });
}

TEST(Meta, ALyingNumberOfShardsAllocatesNothing) {
  std::string value("\x01\x00\x80\x20", 4);  // 4096 shards and no bytes for them
  SealRecord(CheckpointKey(0), &value);
  EXPECT_EQ(DecodeCheckpointRecord(0, value).error().code(), StatusCode::kCorruption);
}

}  // namespace
}  // namespace tallystick
