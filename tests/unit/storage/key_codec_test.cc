// Proves that keys sort as what they name sorts, that keys of different entities never meet, that
// parsers undo encoders and refuse what no encoder wrote, and that chunk records are guarded.
// Random keys are drawn from few bytes, 0x00 among them, so that near-collisions are common.
#include "engine/storage/key_codec.h"

#include "engine/base/checksum.h"
#include "tests/support/damage.h"
#include "tests/support/test_seed.h"

#include <tallystick/types.h>

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

namespace tallystick {
namespace {

class RandomNames {
 public:
  explicit RandomNames(uint64_t seed) : random_(seed) {}
  uint64_t Below(uint64_t n) { return random_() % n; }
  std::string Name() { return Bytes("ab", Below(3)); }
  std::string Eid() { return Bytes(std::string_view("\0\1a:\xff", 5), Below(5)); }

 private:
  std::string Bytes(std::string_view alphabet, size_t length) {
    std::string text;
    for (size_t i = 0; i < length; ++i) text += alphabet[Below(alphabet.size())];
    return text;
  }
  std::mt19937_64 random_;
};

TEST(KeyCodec, EntityKeysSortAsShardTypeIdAndNeverCollide) {
  RandomNames names(TestSeed(20261130));
  using Entity = std::tuple<uint32_t, std::string, std::string>;
  std::map<Entity, std::string> keys;
  for (int i = 0; i < 20000; ++i) {
    const Entity entity(static_cast<uint32_t>(names.Below(3) * 255), names.Name(), names.Eid());
    const auto& [shard, etype, eid] = entity;
    const std::string key = EntityStoreKey(shard, etype, eid);
    keys[entity] = key;
    uint32_t parsed_shard = 0;
    std::string_view parsed_etype, parsed_eid;
    ASSERT_TRUE(ParseEntityStoreKey(key, &parsed_shard, &parsed_etype, &parsed_eid));
    ASSERT_EQ(entity, Entity(parsed_shard, parsed_etype, parsed_eid));
  }
  std::string previous;
  for (const auto& [entity, key] : keys) {
    ASSERT_LT(previous, key);
    previous = key;
  }
}

TEST(KeyCodec, ChunkKeysSortAsTheirPartsAndNeverCollide) {
  RandomNames names(TestSeed(20261130));
  using Chunk = std::tuple<uint32_t, std::string, size_t, std::string, std::string, uint64_t>;
  std::map<Chunk, std::string> keys;
  for (int i = 0; i < 20000; ++i) {
    const uint32_t shard = static_cast<uint32_t>(names.Below(2));
    const std::string etype = names.Name(), eid = names.Eid(), metric = names.Name();
    const uint64_t chunk = names.Below(2) == 0 ? names.Below(3) : UINT64_MAX - names.Below(300);
    const std::string key = ChunkStoreKey(shard, etype, eid, metric, chunk);
    keys[Chunk(shard, etype, eid.size(), eid, metric, chunk)] = key;
    uint32_t parsed_shard = 99;
    std::string_view parsed_etype, parsed_eid, parsed_metric;
    uint64_t parsed_chunk = 0;
    ASSERT_TRUE(ParseChunkStoreKey(key, &parsed_shard, &parsed_etype, &parsed_eid, &parsed_metric,
                                   &parsed_chunk));
    ASSERT_EQ(std::tie(shard, etype, eid, metric, chunk),
              std::make_tuple(parsed_shard, parsed_etype, parsed_eid, parsed_metric, parsed_chunk));
  }
  std::string previous;
  for (const auto& [chunk, key] : keys) {
    ASSERT_LT(previous, key);
    previous = key;
  }
}

TEST(KeyCodec, ShardBoundsHoldExactlyTheShard) {
  for (const uint32_t shard : {0u, 1u, 255u, 256u, 4095u, 65534u}) {
    const std::string lower = ShardPrefix(shard), upper = ShardPrefixEnd(shard);
    for (const std::string& key :
         {EntityStoreKey(shard, "", ""), EntityStoreKey(shard, "z", std::string(512, '\xff'))}) {
      EXPECT_LE(lower, key);
      EXPECT_LT(key, upper);
    }
    EXPECT_LE(upper, EntityStoreKey(shard + 1, "", ""));
  }
  EXPECT_EQ(ShardPrefixEnd(65535), "");
}

TEST(KeyCodec, JournalKeysSortAsPartitionOffset) {
  std::string previous;
  for (const uint32_t partition : {0u, 1u, 255u, 256u, 65535u}) {
    for (const uint64_t offset : {uint64_t{0}, uint64_t{255}, uint64_t{256}, UINT64_MAX}) {
      const std::string key = JournalKey(partition, offset);
      EXPECT_LT(previous, key);
      previous = key;
      uint32_t parsed_partition = 0;
      uint64_t parsed_offset = 1;
      ASSERT_TRUE(ParseJournalKey(key, &parsed_partition, &parsed_offset));
      EXPECT_EQ(parsed_partition, partition);
      EXPECT_EQ(parsed_offset, offset);
      EXPECT_FALSE(ParseJournalKey(key + "x", &parsed_partition, &parsed_offset));
      EXPECT_FALSE(ParseJournalKey(key.substr(1), &parsed_partition, &parsed_offset));
    }
  }
}

TEST(KeyCodec, ParsersRefuseForeignBytes) {
  uint32_t shard = 0;
  std::string_view etype, eid, metric;
  uint64_t chunk = 0;
  EXPECT_FALSE(ParseEntityStoreKey("", &shard, &etype, &eid));
  EXPECT_FALSE(ParseEntityStoreKey("ab", &shard, &etype, &eid));
  EXPECT_FALSE(ParseEntityStoreKey("ab" + std::string(65, 't') + std::string(1, '\0') + "e", &shard,
                                   &etype, &eid));
  const std::string key = ChunkStoreKey(7, "article", std::string("4\0002", 3), "like", 5);
  for (size_t length = 0; length < key.size(); ++length) {
    EXPECT_FALSE(ParseChunkStoreKey(key.substr(0, length), &shard, &etype, &eid, &metric, &chunk));
  }
  EXPECT_FALSE(ParseChunkStoreKey(key + "x", &shard, &etype, &eid, &metric, &chunk));
}

TEST(KeyCodec, TheLongestPlainKeyFits) {
  const std::string eid(kPlainKeyBytesMax, '\0');
  uint32_t shard = 0;
  std::string_view etype, parsed, metric;
  uint64_t chunk = 0;
  const std::string entity_key = EntityStoreKey(1, "", eid);
  ASSERT_TRUE(ParseEntityStoreKey(entity_key, &shard, &etype, &parsed));
  EXPECT_EQ(parsed, eid);
  const std::string chunk_key = ChunkStoreKey(1, "", eid, "bits", 9);
  ASSERT_TRUE(ParseChunkStoreKey(chunk_key, &shard, &etype, &parsed, &metric, &chunk));
  EXPECT_EQ(parsed, eid);
}

TEST(ChunkRecord, RoundTripAndDamage) {
  const std::string key = ChunkStoreKey(1, "article", "42", "like", 0);
  for (const std::string& image : {std::string(), std::string("an image")}) {
    const std::string record = EncodeChunkRecord(key, UINT64_MAX, image);
    uint64_t sequence = 0;
    std::string_view found;
    ASSERT_TRUE(OpenChunkRecord(key, record, &sequence, &found).ok());
    EXPECT_EQ(sequence, UINT64_MAX);
    EXPECT_EQ(found, image);
    EXPECT_FALSE(DecodeChunkRecord(key + "1", record, &sequence, &found));
    testing::ExpectEveryDamageRefused(record, [&](std::string_view bytes) {
      const Status s = OpenChunkRecord(key, bytes, &sequence, &found);
      EXPECT_TRUE(s.ok() || s.code() == StatusCode::kCorruption);
      return s.ok();
    });
  }
}

TEST(ChunkRecord, ANewerVersionIsRefusedByName) {
  std::string record("\x02\x01image", 7);
  SealRecord("key", &record);
  uint64_t sequence = 0;
  std::string_view image;
  const Status s = OpenChunkRecord("key", record, &sequence, &image);
  EXPECT_EQ(s.code(), StatusCode::kUnsupportedFormat);
  EXPECT_EQ(s.message(), "chunk record: version 2 was found, the newest understood is 1");
}

}  // namespace
}  // namespace tallystick
