// Proves that the offline check finds every kind of planted drift and damage, names it, and stays
// quiet about a directory that is right however its pieces are spread between snapshots, records
// and the journal's tail. How: pieces are written with the codecs, as the engine would; then one of
// them is planted wrong, with valid checksums where a checksum would tell.
#include "engine/base/checksum.h"
#include "engine/counts/schema.h"
#include "engine/counts/sds_record.h"
#include "engine/events/batch_codec.h"
#include "engine/facts/entity_image.h"
#include "engine/facts/fact_set.h"
#include "engine/recovery/verify_directory.h"
#include "engine/storage/directory.h"
#include "engine/storage/key_codec.h"
#include "engine/storage/meta.h"
#include "engine/storage/rocks_store.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tallystick {
namespace {

constexpr uint32_t kShards = 4;
constexpr uint32_t kPartitions = 2;
constexpr uint32_t kShard = 3;  // of the second partition
constexpr uint32_t kPartition = 1;

class VerifyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RocksStoreOptions options;
    options.dir = dir_.path() + "/rocksdb";
    auto store = OpenRocksStore(options, Log(nullptr));
    ASSERT_TRUE(store.has_value()) << store.error().ToString();
    store_ = std::move(*store);
    auto schema = Schema::Make(SchemaSpec::Default());
    ASSERT_TRUE(schema.has_value());
    DatabaseRecord database;
    database.shards = kShards;
    database.partitions = kPartitions;
    database.schema = schema->Encode();
    Put(ColumnFamily::kMeta, kDatabaseKey, EncodeDatabaseRecord(database));
  }

  void Put(ColumnFamily cf, std::string_view key, std::string_view value) {
    auto batch = store_->NewBatch();
    batch->Put(cf, key, value);
    ASSERT_TRUE(store_->Write(batch.get()).ok());
  }
  void Delete(ColumnFamily cf, std::string_view key) {
    auto batch = store_->NewBatch();
    batch->Delete(cf, key);
    ASSERT_TRUE(store_->Write(batch.get()).ok());
  }
  std::string Get(ColumnFamily cf, std::string_view key) {
    std::string value;
    bool found = false;
    EXPECT_TRUE(store_->Get(cf, key, &value, &found).ok());
    EXPECT_TRUE(found);
    return value;
  }

  static std::string Key(std::string_view eid) { return EntityStoreKey(kShard, "article", eid); }

  // Writes the snapshot of article:eid: its likes, and the counter part of `view`.
  void PutSnapshot(std::string_view eid, uint64_t sequence, const std::vector<uint64_t>& likes,
                   int64_t views) {
    FactSet set;
    for (const uint64_t uid : likes) set.Add(uid);
    std::vector<uint64_t> changed, stale;
    set.TakePending(&changed, &stale);
    for (const uint64_t chunk : changed) {
      std::string image;
      set.EncodeChunk(chunk, &image);
      const std::string key = ChunkStoreKey(kShard, "article", eid, "like", chunk);
      Put(ColumnFamily::kSnapshots, key, EncodeChunkRecord(key, sequence, image));
    }
    std::string header;
    set.EncodeHeader(&header);
    EntityImage image;
    image.sequence = sequence;
    if (!likes.empty()) image.sets.push_back({"like", {}, header});
    if (views != 0) image.counter_parts.push_back({"view", views});
    Put(ColumnFamily::kSets, Key(eid), EncodeEntityImage(Key(eid), image));
  }

  // Writes the count record: likes in slot 0, views (all of them counter part) in slot 4.
  void PutRecord(std::string_view eid, uint64_t sequence, int64_t likes, int64_t views,
                 int64_t view_part) {
    CountRecord record;
    record.sequence = sequence;
    record.slots = 5;
    record.values[0] = likes;
    record.values[4] = views;
    record.counter_parts[4] = view_part;
    Put(ColumnFamily::kCounts, Key(eid), EncodeCountRecord(Key(eid), record));
  }

  void PutCheckpoint(uint64_t offset, uint64_t sequence, uint64_t wipe_sequence = 0) {
    CheckpointRecord record;
    record.partition = kPartition;
    record.offset = offset;
    record.shard_sequences = {0, sequence};
    record.wipe_sequences = {0, wipe_sequence};
    Put(ColumnFamily::kMeta, CheckpointKey(kPartition), EncodeCheckpointRecord(record));
  }

  static JournalEvent Flip(uint64_t sequence, std::string_view eid, uint64_t uid, bool set) {
    JournalEvent event;
    event.kind = EventKind::kFlip;
    event.shard = kShard;
    event.sequence = sequence;
    event.uid = uid;
    event.delta = set ? 1 : -1;
    event.metric = "like";
    event.etype = "article";
    event.eid = eid;
    return event;
  }
  static JournalEvent View(uint64_t sequence, std::string_view eid, int64_t delta) {
    JournalEvent event = Flip(sequence, eid, 0, true);
    event.kind = EventKind::kCounter;
    event.metric = "view";
    event.delta = delta;
    return event;
  }

  void PutJournal(uint64_t first_offset, const std::vector<JournalEvent>& events) {
    BatchBuilder builder;
    builder.Begin(kPartition, first_offset, 1, 1);
    // One number per entity stands for its address.
    std::map<std::string, int> identities;
    for (const JournalEvent& event : events) {
      int* identity = &identities[std::string(event.eid)];
      builder.Add(event, event.kind == EventKind::kWipe ? nullptr : identity);
    }
    const std::string key = JournalKey(kPartition, first_offset);
    Put(ColumnFamily::kJournal, key, builder.Finish(key));
  }

  VerifyReport Verify() {
    Result<VerifyReport> report = VerifyStore(store_.get(), {});
    EXPECT_TRUE(report.has_value()) << report.error().ToString();
    return report ? *report : VerifyReport();
  }

  // Exactly one drift and no damage.
  Drift OnlyDrift() {
    const VerifyReport report = Verify();
    EXPECT_FALSE(report.ok());
    EXPECT_EQ(report.drift_count, 1u);
    EXPECT_EQ(report.damaged_count, 0u) << report.damaged[0];
    return report.drifts.size() == 1 ? report.drifts[0] : Drift();
  }
  // Exactly one damaged piece and no drift.
  std::string OnlyDamage() {
    const VerifyReport report = Verify();
    EXPECT_FALSE(report.ok());
    EXPECT_EQ(report.drift_count, 0u);
    EXPECT_EQ(report.damaged_count, 1u);
    return report.damaged.size() == 1 ? report.damaged[0] : "";
  }

  // A directory that is right: "a" complete, "b" with its record ahead of its snapshot, "c" only in
  // the journal, "d" with a large set in chunks of which the tail changes one.
  void PutRightDirectory() {
    for (uint64_t uid = 0; uid < 9000; ++uid) large_.push_back(uid * 11);
    PutCheckpoint(100, 10);
    PutSnapshot("a", 9, {1, 2, 1ull << 60}, 7);
    PutRecord("a", 8, 3, 7, 7);
    PutSnapshot("b", 4, {5}, 0);
    PutRecord("b", 12, 2, 0, 0);
    PutSnapshot("d", 10, large_, 0);
    PutRecord("d", 14, 9001, 0, 0);
    PutJournal(100, {Flip(11, "b", 6, true), Flip(12, "b", 7, true), Flip(13, "d", 1, true)});
    PutJournal(103, {Flip(14, "d", 2, true), Flip(15, "d", 11, false), Flip(16, "b", 6, false),
                     Flip(17, "c", 1, true), View(18, "c", 5), View(19, "c", -1)});
    // 12: b's record had {5, 6, 7} = 3.
    PutRecord("b", 12, 3, 0, 0);
    // 14: d's record had 9000 + 2.
    PutRecord("d", 14, 9002, 0, 0);
  }

  TempDir dir_;
  std::unique_ptr<Store> store_;
  std::vector<uint64_t> large_;
};

TEST_F(VerifyTest, ARightDirectoryIsQuiet) {
  PutRightDirectory();
  const VerifyReport report = Verify();
  EXPECT_TRUE(report.ok()) << (report.damaged.empty() ? report.drifts[0].eid : report.damaged[0]);
  EXPECT_EQ(report.entities, 4u);
  EXPECT_EQ(report.fact_sets, 4u);
  EXPECT_EQ(report.facts, 3u + 2 + 1 + 9001);
  EXPECT_EQ(report.slots, 20u);
  EXPECT_EQ(report.tail_events, 9u);
}

TEST_F(VerifyTest, AnEmptyDirectoryIsQuiet) {
  const VerifyReport report = Verify();
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.entities, 0u);
}

TEST_F(VerifyTest, DriftInARecord) {
  PutRightDirectory();
  PutRecord("a", 8, 4, 7, 7);
  const Drift drift = OnlyDrift();
  EXPECT_EQ(drift.kind, DriftKind::kCount);
  EXPECT_EQ(drift.etype, "article");
  EXPECT_EQ(drift.eid, "a");
  EXPECT_EQ(drift.slot, "like");
  EXPECT_EQ(drift.record, 4);
  EXPECT_EQ(drift.facts, 3);
}

TEST_F(VerifyTest, DriftInARecordThatClaimsALaterSequence) {
  PutRightDirectory();
  PutRecord("d", 15, 9002, 0, 0);  // the event 15 is left out of the value
  EXPECT_EQ(OnlyDrift().record, 9002);
}

TEST_F(VerifyTest, AMissingRecord) {
  PutRightDirectory();
  Delete(ColumnFamily::kCounts, Key("a"));
  const VerifyReport report = Verify();
  EXPECT_EQ(report.drift_count, 2u);  // like and view
  for (const Drift& drift : report.drifts) EXPECT_EQ(drift.kind, DriftKind::kMissingRecord);
}

TEST_F(VerifyTest, DriftInABitOfASparseSet) {
  PutRightDirectory();
  PutSnapshot("a", 9, {1, 2, 3, 1ull << 60}, 7);
  const Drift drift = OnlyDrift();
  EXPECT_EQ(drift.record, 3);
  EXPECT_EQ(drift.facts, 4);
}

TEST_F(VerifyTest, DriftInABitOfAChunk) {
  PutRightDirectory();
  std::vector<uint64_t> more = large_;
  more.push_back(40000 * 11 + 1);  // chunk and directory alike, so that only the recount can tell
  PutSnapshot("d", 10, more, 0);
  const Drift drift = OnlyDrift();
  EXPECT_EQ(drift.record, 9001);
  EXPECT_EQ(drift.facts, 9002);
}

TEST_F(VerifyTest, AChunkThatContradictsItsDirectory) {
  PutRightDirectory();
  FactSet set;
  for (const uint64_t uid : large_) set.Add(uid);
  set.Add(3);
  if (!set.chunked()) GTEST_SKIP() << "9,000 members are held in one piece";
  std::string image;
  set.EncodeChunk(0, &image);
  const std::string key = ChunkStoreKey(kShard, "article", "d", "like", 0);
  Put(ColumnFamily::kSnapshots, key, EncodeChunkRecord(key, 10, image));
  EXPECT_EQ(OnlyDamage(),
            "article:'d': chunk 0 of like does not hold the members that its directory says");
  Put(ColumnFamily::kSnapshots, key, EncodeChunkRecord(key, 11, image));
  EXPECT_EQ(OnlyDamage(), "article:'d': chunk 0 of like is newer than its directory");
  Delete(ColumnFamily::kSnapshots, key);
  EXPECT_EQ(OnlyDamage(), "article:'d': chunk 0 of like is missing");
}

TEST_F(VerifyTest, DriftInOneCopyOfACounterPart) {
  PutRightDirectory();
  PutSnapshot("a", 9, {1, 2, 1ull << 60}, 8);
  Drift drift = OnlyDrift();
  EXPECT_EQ(drift.kind, DriftKind::kCounterPart);
  EXPECT_EQ(drift.slot, "view");
  EXPECT_EQ(drift.counter_part, 7);
  EXPECT_EQ(drift.snapshot_counter_part, 8);
  PutSnapshot("a", 9, {1, 2, 1ull << 60}, 7);
  PutRecord("a", 8, 3, 7, 6);
  drift = OnlyDrift();
  EXPECT_EQ(drift.kind, DriftKind::kCounterPart);
  EXPECT_EQ(drift.counter_part, 6);
  EXPECT_EQ(drift.snapshot_counter_part, 7);
}

TEST_F(VerifyTest, FlippedBytesAreDamage) {
  PutRightDirectory();
  for (const ColumnFamily cf : {ColumnFamily::kSets, ColumnFamily::kCounts}) {
    const std::string good = Get(cf, Key("a"));
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 0x10);
      Put(cf, Key("a"), bad);
      EXPECT_NE(OnlyDamage().find("article:'a': "), std::string::npos) << i;
    }
    Put(cf, Key("a"), good);
  }
  EXPECT_TRUE(Verify().ok());
}

TEST_F(VerifyTest, ASnapshotThatTheJournalContradicts) {
  PutRightDirectory();
  PutSnapshot("b", 4, {5, 6}, 0);  // 11 sets uid 6
  EXPECT_NE(OnlyDamage().find("its snapshot contradicts the journal: sequence 11"),
            std::string::npos);
}

TEST_F(VerifyTest, HolesInTheJournal) {
  PutRightDirectory();
  PutJournal(110, {Flip(20, "c", 2, true)});  // offset 109 is missing
  EXPECT_NE(OnlyDamage().find("partition 1 cannot be compared"), std::string::npos);
  Delete(ColumnFamily::kJournal, JournalKey(kPartition, 110));
  PutJournal(109, {Flip(21, "c", 2, true)});  // sequence 20 is missing
  EXPECT_NE(OnlyDamage().find("from sequence 19 to 21"), std::string::npos);
  PutJournal(109, {Flip(20, "c", 2, true)});
  EXPECT_TRUE(Verify().ok());
}

TEST_F(VerifyTest, TheTailBeforeTheCheckpointIsLeftOut) {
  PutRightDirectory();
  PutCheckpoint(101, 11);  // within the first batch
  PutSnapshot("b", 11, {5, 6}, 0);
  const VerifyReport report = Verify();
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.tail_events, 8u);
}

TEST_F(VerifyTest, TheCheckpointsSequencesMayBeNewerThanItsOffset) {
  PutRightDirectory();
  PutCheckpoint(100, 13);
  const VerifyReport report = Verify();
  EXPECT_TRUE(report.ok()) << (report.damaged.empty() ? "" : report.damaged[0]);
  EXPECT_EQ(report.tail_events, 9u);
  PutCheckpoint(100, 20);  // but not newer than the journal's end
  EXPECT_NE(OnlyDamage().find("ends before its checkpoint"), std::string::npos);
}

TEST_F(VerifyTest, AWipeEndsWhatWasBefore) {
  PutRightDirectory();
  JournalEvent wipe;
  wipe.kind = EventKind::kWipe;
  wipe.shard = kShard;
  wipe.sequence = 20;
  PutJournal(109, {wipe, Flip(21, "a", 99, true)});
  VerifyReport report = Verify();
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.facts, 1u);
  PutCheckpoint(110, 20, 20);
  report = Verify();
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.facts, 1u);
  EXPECT_EQ(report.tail_events, 1u);
}

TEST_F(VerifyTest, ResetsAndBulkClears) {
  PutRightDirectory();
  JournalEvent bulk = Flip(20, "a", 0, false);
  bulk.kind = EventKind::kBulkClear;
  std::string members;
  EncodeUids({1, 2}, &members);
  bulk.payload = members;
  bulk.delta = -2;
  JournalEvent reset = Flip(21, "a", 0, true);
  reset.kind = EventKind::kReset;
  reset.metric = {};
  reset.delta = 0;
  std::string payload;
  EncodeReset({{"like", 1, 0}, {"view", 0, 7}}, &payload);
  reset.payload = payload;
  PutJournal(109, {bulk, reset});
  EXPECT_TRUE(Verify().ok());
  PutRecord("a", 8, 1234, 7, 7);
  EXPECT_TRUE(Verify().ok()) << "the reset is later than the record and says the truth";
  payload.clear();
  EncodeReset({{"like", 2, 0}, {"view", 0, 7}}, &payload);
  reset.payload = payload;
  PutJournal(109, {bulk, reset});
  EXPECT_EQ(OnlyDrift().record, 2);
}

TEST_F(VerifyTest, PlainKeysAreReadAndHaveNoCounts) {
  PutCheckpoint(100, 10);
  const std::string key = EntityStoreKey(kShard, "", "greeting");
  EntityImage image;
  image.sequence = 9;
  image.plain = PlainType::kString;
  image.plain_value = "hello";
  std::string value = EncodeEntityImage(key, image);
  Put(ColumnFamily::kKv, key, value);
  VerifyReport report = Verify();
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.plain_keys, 1u);
  EXPECT_EQ(report.slots, 0u);
  value[value.size() / 2] = static_cast<char>(value[value.size() / 2] ^ 1);
  Put(ColumnFamily::kKv, key, value);
  EXPECT_NE(OnlyDamage().find("plain key 'greeting'"), std::string::npos);
}

TEST_F(VerifyTest, PiecesThatKnowMoreThanTheJournal) {
  PutRightDirectory();
  PutRecord("a", 20, 3, 7, 7);
  EXPECT_EQ(OnlyDamage(),
            "article:'a': its count record knows of sequence 20, but the journal of its shard ends "
            "at 19");
  PutRecord("a", 19, 3, 7, 7);
  EXPECT_TRUE(Verify().ok());
  PutSnapshot("a", 20, {1, 2, 1ull << 60}, 7);
  EXPECT_NE(OnlyDamage().find("its snapshot knows of sequence 20"), std::string::npos);
}

TEST_F(VerifyTest, DirectoriesThatAreNone) {
  EXPECT_FALSE(VerifyDirectory(dir_.path() + "/nothing").has_value());
  store_.reset();
  EXPECT_TRUE(VerifyDirectory(dir_.path()).has_value());
  const auto lock = LockDirectory(nullptr, dir_.path(), false);
  ASSERT_TRUE(lock.has_value());
  const auto report = VerifyDirectory(dir_.path());
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().code(), StatusCode::kLocked);
}

}  // namespace
}  // namespace tallystick
