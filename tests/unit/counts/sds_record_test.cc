// Proves that count records keep exact 64-bit values, that damage, foreign numbers of slots and
// newer versions are refused, and that the SDS image clamps per slot and says so.
#include "engine/counts/sds_record.h"

#include "engine/base/checksum.h"
#include "tests/support/damage.h"
#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

#include <random>

namespace tallystick {
namespace {

constexpr std::string_view kKey = "key";

TEST(CountRecord, RandomRoundTrip) {
  std::mt19937_64 random(TestSeed(20261130));
  for (int i = 0; i < 5000; ++i) {
    CountRecord record;
    record.sequence = random() >> (random() % 64);
    record.slots = static_cast<uint32_t>(random() % (kSlotsMax + 1));
    for (uint32_t s = 0; s < record.slots; ++s) {
      record.values[s] = static_cast<int64_t>(random()) >> (random() % 64);
      record.counter_parts[s] = static_cast<int64_t>(random()) >> (random() % 64);
    }
    const std::string value = EncodeCountRecord(kKey, record);
    const Result<CountRecord> found = DecodeCountRecord(kKey, value, record.slots);
    ASSERT_TRUE(found.has_value()) << found.error().ToString();
    ASSERT_EQ(found->sequence, record.sequence);
    ASSERT_EQ(found->slots, record.slots);
    ASSERT_EQ(found->values, record.values);
    ASSERT_EQ(found->counter_parts, record.counter_parts);
  }
}

TEST(CountRecord, BoundaryValuesAndDamage) {
  CountRecord record;
  record.sequence = UINT64_MAX;
  record.slots = 5;
  record.values = {INT64_MIN, INT64_MAX, 0, -1, 4294967296};
  record.counter_parts = {INT64_MAX, INT64_MIN, -1, 0, 1};
  const std::string value = EncodeCountRecord(kKey, record);
  EXPECT_EQ(DecodeCountRecord(kKey, value, 5)->values, record.values);
  EXPECT_EQ(DecodeCountRecord(kKey, value, 5)->counter_parts, record.counter_parts);
  const auto accepts = [](std::string_view bytes) {
    return DecodeCountRecord(kKey, bytes, 5).has_value();
  };
  testing::ExpectEveryDamageRefused(value, accepts);
  testing::ExpectNoHarmBehindChecksum(kKey, value, accepts);
  EXPECT_EQ(DecodeCountRecord("other key", value, 5).error().code(), StatusCode::kCorruption);
}

TEST(CountRecord, AnotherNumberOfSlotsIsCorruption) {
  CountRecord record;
  record.slots = 5;
  const std::string value = EncodeCountRecord(kKey, record);
  for (const uint32_t slots : {0u, 4u, 6u, 16u}) {
    EXPECT_EQ(DecodeCountRecord(kKey, value, slots).error().code(), StatusCode::kCorruption);
  }
}

TEST(CountRecord, ANewerVersionIsRefusedByName) {
  std::string value("\x02whatever");
  SealRecord(kKey, &value);
  const Status s = DecodeCountRecord(kKey, value, 5).error();
  EXPECT_EQ(s.code(), StatusCode::kUnsupportedFormat);
  EXPECT_EQ(s.message(), "count record: version 2 was found, the newest understood is 1");
}

TEST(SdsImage, IsBigEndianAndClampsPerSlot) {
  std::vector<SlotSpec> slots(4);
  slots[3].width_bytes = 8;
  std::array<int64_t, kSlotsMax> values = {1, 4294967295, 0x01020304, 4294967296};
  uint32_t clamped = 99;
  EXPECT_EQ(EncodeSdsImage(slots, values, &clamped),
            std::string("\0\0\0\1\xff\xff\xff\xff\1\2\3\4\0\0\0\1\0\0\0\0", 20));
  EXPECT_EQ(clamped, 0u);
  values = {-1, 4294967296, INT64_MIN, -5};
  EXPECT_EQ(EncodeSdsImage(slots, values, &clamped),
            std::string("\0\0\0\0\xff\xff\xff\xff\0\0\0\0\0\0\0\0\0\0\0\0", 20));
  EXPECT_EQ(clamped, 4u);
  EXPECT_EQ(EncodeSdsImage({}, values, &clamped), "");
  EXPECT_EQ(clamped, 0u);
}

TEST(SdsImage, TheDefaultRecordHasTwentyBytes) {
  const SchemaSpec spec = SchemaSpec::Default();
  uint32_t clamped = 0;
  EXPECT_EQ(EncodeSdsImage(spec.types[0].slots, {1}, &clamped).size(), 20u);
}

}  // namespace
}  // namespace tallystick
