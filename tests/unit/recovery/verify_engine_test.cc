// Proves that the offline check agrees with what a real engine writes, closed cleanly or not, and
// finds drift planted into such a directory: in a record, in a bit of a stored snapshot, sparse and
// chunked, and in either copy of a counter part. How: an engine fills a directory; the test then
// rewrites one piece through the store, with a right checksum.
#include "engine/counts/sds_record.h"
#include "engine/facts/entity_image.h"
#include "engine/facts/fact_set.h"
#include "engine/storage/key_codec.h"
#include "engine/storage/rocks_store.h"
#include "tests/support/temp_dir.h"

#include <tallystick/engine.h>
#include <tallystick/verify.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace tallystick {
namespace {

constexpr EntityKey kSmall{"article", "small"};
constexpr EntityKey kLarge{"article", "large"};

class VerifyEngineTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kLargeFacts = 30000;

  std::unique_ptr<Engine> Open() {
    Options options;
    options.dir = dir_ / "data";
    options.shards = 4;
    options.partitions = 2;
    auto engine = Engine::Open(options);
    EXPECT_TRUE(engine.has_value()) << engine.error().ToString();
    return engine ? std::move(*engine) : nullptr;
  }

  void Fill(Engine* engine) {
    for (uint64_t uid = 0; uid < 20; ++uid) {
      ASSERT_TRUE(engine->Set({"like", kSmall.etype, kSmall.eid}, uid * uid).has_value());
      ASSERT_TRUE(engine->Set({"share", kSmall.etype, kSmall.eid}, uid).has_value());
    }
    ASSERT_TRUE(engine->Clear({"like", kSmall.etype, kSmall.eid}, 4).has_value());
    ASSERT_TRUE(engine->AddToCounter(kSmall, "share", 100).has_value());
    ASSERT_TRUE(engine->AddToCounter(kSmall, "view", -3).has_value());
    std::vector<FactOp> ops(kLargeFacts);
    std::vector<FactOutcome> outcomes(kLargeFacts);
    for (uint64_t uid = 0; uid < kLargeFacts; ++uid) {
      ops[uid] = {FactOpKind::kSet, {}, {"like", kLarge.etype, kLarge.eid}, uid * 3};
    }
    ASSERT_TRUE(engine->Apply(ops, outcomes).ok());
  }

  void FillAndClose() {
    const auto engine = Open();
    ASSERT_NE(engine, nullptr);
    Fill(engine.get());
    const Status closed = engine->Close();
    ASSERT_TRUE(closed.ok()) << closed.ToString();
  }

  VerifyReport Verify(const std::string& dir) {
    const auto report = VerifyDirectory(dir);
    EXPECT_TRUE(report.has_value()) << report.error().ToString();
    return report.value_or(VerifyReport());
  }
  VerifyReport Verify() { return Verify(dir_ / "data"); }

  // The only piece whose key names the entity, in one column family; `change` gives it a new value.
  template <typename Change>
  void Plant(ColumnFamily cf, const EntityKey& entity, Change change) {
    RocksStoreOptions options;
    options.dir = dir_ / "data/rocksdb";
    options.create_if_missing = false;
    const auto store = OpenRocksStore(options, Log(nullptr));
    ASSERT_TRUE(store.has_value());
    for (uint32_t shard = 0; shard < 4; ++shard) {
      const std::string key = EntityStoreKey(shard, entity.etype, entity.eid);
      std::string value;
      bool found = false;
      ASSERT_TRUE((*store)->Get(cf, key, &value, &found).ok());
      if (!found) continue;
      const auto batch = (*store)->NewBatch();
      batch->Put(cf, key, change(key, value));
      ASSERT_TRUE((*store)->Write(batch.get()).ok());
      return;
    }
    FAIL() << "nothing is stored of " << entity.eid;
  }

  // Rewrites the snapshot of one entity.
  template <typename Change>
  void PlantInImage(const EntityKey& entity, Change change) {
    Plant(ColumnFamily::kSets, entity, [&](const std::string& key, const std::string& value) {
      EntityImage image;
      EXPECT_TRUE(DecodeEntityImage(key, value, &image).ok());
      change(&image);
      return EncodeEntityImage(key, image);
    });
  }

  TempDir dir_;
};

TEST_F(VerifyEngineTest, AClosedDirectoryHasNoDrift) {
  FillAndClose();
  const VerifyReport report = Verify();
  EXPECT_TRUE(report.ok()) << (report.damaged.empty() ? "drift" : report.damaged[0]);
  EXPECT_EQ(report.entities, 2u);
  EXPECT_EQ(report.fact_sets, 3u);
  EXPECT_EQ(report.facts, 19 + 20 + kLargeFacts);
}

TEST_F(VerifyEngineTest, ADirectoryLeftInMidFlightHasNoDrift) {
  const auto engine = Open();
  ASSERT_NE(engine, nullptr);
  Fill(engine.get());
  ASSERT_TRUE(engine->Checkpoint().ok());
  ASSERT_TRUE(engine->Set({"like", kSmall.etype, kSmall.eid}, 1000).has_value());
  ASSERT_TRUE(engine->AddToCounter(kSmall, "view", 1).has_value());
  ASSERT_TRUE(engine->Rebuild(kSmall).has_value());
  ASSERT_TRUE(engine->Clear({"like", kLarge.etype, kLarge.eid}, 3).has_value());
  EXPECT_EQ(VerifyDirectory(dir_ / "data").error().code(), StatusCode::kLocked);
  // Journaled writes are with the operating system: a copy is what a killed process leaves behind.
  const std::string copy = dir_ / "copy";
  std::filesystem::copy(dir_ / "data", copy, std::filesystem::copy_options::recursive);
  const VerifyReport report = Verify(copy);
  EXPECT_TRUE(report.ok()) << (report.damaged.empty() ? "drift" : report.damaged[0]);
  EXPECT_EQ(report.facts, 20 + 20 + kLargeFacts - 1);
  EXPECT_GT(report.tail_events, 0u);
}

TEST_F(VerifyEngineTest, DriftInARecord) {
  FillAndClose();
  Plant(ColumnFamily::kCounts, kSmall, [](const std::string& key, const std::string& value) {
    auto record = DecodeCountRecord(key, value, 5);
    EXPECT_TRUE(record.has_value());
    record->values[0] += 1;
    return EncodeCountRecord(key, *record);
  });
  const VerifyReport report = Verify();
  EXPECT_EQ(report.damaged_count, 0u);
  ASSERT_EQ(report.drifts.size(), 1u);
  EXPECT_EQ(report.drifts[0].kind, DriftKind::kCount);
  EXPECT_EQ(report.drifts[0].eid, "small");
  EXPECT_EQ(report.drifts[0].slot, "like");
  EXPECT_EQ(report.drifts[0].record, 20);
  EXPECT_EQ(report.drifts[0].facts, 19);
}

TEST_F(VerifyEngineTest, DriftInABitOfASmallSet) {
  FillAndClose();
  std::string header;
  PlantInImage(kSmall, [&](EntityImage* image) {
    for (EntityImage::Set& stored : image->sets) {
      if (stored.metric != "like") continue;
      FactSet set;
      ASSERT_TRUE(FactSet::DecodeHeader(stored.header, &set));
      ASSERT_FALSE(set.chunked());
      EXPECT_TRUE(set.Remove(9));
      set.EncodeHeader(&header);
      stored.header = header;
    }
  });
  const VerifyReport report = Verify();
  EXPECT_EQ(report.damaged_count, 0u);
  ASSERT_EQ(report.drifts.size(), 1u);
  EXPECT_EQ(report.drifts[0].record, 19);
  EXPECT_EQ(report.drifts[0].facts, 18);
}

TEST_F(VerifyEngineTest, DriftInABitOfAChunk) {
  FillAndClose();
  // One bit less, in the chunk and in the directory that says how many it has.
  std::string header;
  std::string planted_image;
  uint64_t planted_chunk = 0;
  PlantInImage(kLarge, [&](EntityImage* image) {
    ASSERT_EQ(image->sets.size(), 1u);
    FactSet right;
    for (uint64_t uid = 0; uid < kLargeFacts; ++uid) right.Add(uid * 3);
    ASSERT_TRUE(right.chunked());
    planted_chunk = 1;
    EXPECT_TRUE(right.Remove(32769));
    right.EncodeHeader(&header);
    right.EncodeChunk(planted_chunk, &planted_image);
    image->sets[0].header = header;
  });
  {
    RocksStoreOptions options;
    options.dir = dir_ / "data/rocksdb";
    const auto store = OpenRocksStore(options, Log(nullptr));
    ASSERT_TRUE(store.has_value());
    for (uint32_t shard = 0; shard < 4; ++shard) {
      const std::string key = ChunkStoreKey(shard, kLarge.etype, kLarge.eid, "like", planted_chunk);
      std::string value;
      bool found = false;
      ASSERT_TRUE((*store)->Get(ColumnFamily::kSnapshots, key, &value, &found).ok());
      if (!found) continue;
      uint64_t sequence = 0;
      std::string_view image;
      ASSERT_TRUE(DecodeChunkRecord(key, value, &sequence, &image));
      const auto batch = (*store)->NewBatch();
      batch->Put(ColumnFamily::kSnapshots, key, EncodeChunkRecord(key, sequence, planted_image));
      ASSERT_TRUE((*store)->Write(batch.get()).ok());
    }
  }
  const VerifyReport report = Verify();
  EXPECT_EQ(report.damaged_count, 0u) << report.damaged[0];
  ASSERT_EQ(report.drifts.size(), 1u);
  EXPECT_EQ(report.drifts[0].eid, "large");
  EXPECT_EQ(report.drifts[0].record, static_cast<int64_t>(kLargeFacts));
  EXPECT_EQ(report.drifts[0].facts, static_cast<int64_t>(kLargeFacts) - 1);
}

TEST_F(VerifyEngineTest, DriftInEitherCopyOfACounterPart) {
  FillAndClose();
  PlantInImage(kSmall, [](EntityImage* image) {
    for (EntityImage::CounterPart& part : image->counter_parts) {
      if (part.slot == "share") part.value += 1;
    }
  });
  VerifyReport report = Verify();
  EXPECT_EQ(report.damaged_count, 0u);
  ASSERT_EQ(report.drifts.size(), 1u);
  EXPECT_EQ(report.drifts[0].kind, DriftKind::kCounterPart);
  EXPECT_EQ(report.drifts[0].slot, "share");
  EXPECT_EQ(report.drifts[0].counter_part, 100);
  EXPECT_EQ(report.drifts[0].snapshot_counter_part, 101);

  PlantInImage(kSmall, [](EntityImage* image) {
    for (EntityImage::CounterPart& part : image->counter_parts) {
      if (part.slot == "share") part.value -= 1;
    }
  });
  EXPECT_TRUE(Verify().ok());
  Plant(ColumnFamily::kCounts, kSmall, [](const std::string& key, const std::string& value) {
    auto record = DecodeCountRecord(key, value, 5);
    EXPECT_TRUE(record.has_value());
    record->counter_parts[3] += 5;
    return EncodeCountRecord(key, *record);
  });
  report = Verify();
  ASSERT_EQ(report.drifts.size(), 1u);
  EXPECT_EQ(report.drifts[0].kind, DriftKind::kCounterPart);
  EXPECT_EQ(report.drifts[0].counter_part, 105);
  EXPECT_EQ(report.drifts[0].snapshot_counter_part, 100);
}

}  // namespace
}  // namespace tallystick
