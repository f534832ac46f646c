// Proves that the store on RocksDB and the one in memory keep the same contract of store.h on a
// healthy disk: atomic batches, ordered bounded iterators on a consistent view, dropped ranges, and
// everything still there after reopening. Faults are in rocks_store_fault_test.cc.

#include "engine/storage/rocks_store.h"
#include "tests/support/mem_store.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <map>

namespace tallystick {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

enum class Kind : uint8_t { kRocks, kMemory };

class StoreContractTest : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override { Reopen(); }

  // A clean restart: everything written is still there.
  void Reopen() {
    if (GetParam() == Kind::kMemory) {
      if (store_ == nullptr) store_ = std::make_unique<MemStore>();
      auto* memory = static_cast<MemStore*>(store_.get());
      memory->CrashTo(memory->unsynced_writes());
      return;
    }
    store_.reset();
    RocksStoreOptions options;
    options.dir = dir_ / "rocksdb";
    auto opened = OpenRocksStore(options, Log(nullptr));
    ASSERT_TRUE(opened) << opened.error().ToString();
    store_ = std::move(*opened);
  }
  void Put(ColumnFamily cf, std::string_view key, std::string_view value) {
    const auto batch = store_->NewBatch();
    batch->Put(cf, key, value);
    ASSERT_TRUE(store_->Write(batch.get()).ok());
  }
  std::string Get(ColumnFamily cf, std::string_view key) {
    std::string value;
    bool found = false;
    const Status status = store_->Get(cf, key, &value, &found);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return found ? value : "(absent)";
  }
  Pairs Scan(ColumnFamily cf, std::string_view lower, std::string_view upper) {
    Pairs pairs;
    const auto iterator = store_->NewIterator(cf, lower, upper);
    for (iterator->Seek(lower); iterator->Valid(); iterator->Next()) {
      pairs.emplace_back(iterator->key(), iterator->value());
    }
    EXPECT_TRUE(iterator->status().ok()) << iterator->status().ToString();
    return pairs;
  }

  TempDir dir_;
  std::unique_ptr<Store> store_;
};

TEST_P(StoreContractTest, AbsentKeyIsNoError) {
  std::string value = "untouched";
  bool found = true;
  ASSERT_TRUE(store_->Get(ColumnFamily::kMeta, "k", &value, &found).ok());
  EXPECT_FALSE(found);
  EXPECT_EQ(value, "untouched");
}

TEST_P(StoreContractTest, ColumnFamiliesAreApart) {
  for (size_t i = 0; i < kColumnFamilies; ++i) {
    const auto cf = static_cast<ColumnFamily>(i);
    Put(cf, "same key", ColumnFamilyName(cf));
  }
  Reopen();
  for (size_t i = 0; i < kColumnFamilies; ++i) {
    const auto cf = static_cast<ColumnFamily>(i);
    EXPECT_EQ(Get(cf, "same key"), ColumnFamilyName(cf));
  }
}

TEST_P(StoreContractTest, BatchSpansColumnFamiliesAndKeepsOrder) {
  const auto batch = store_->NewBatch();
  EXPECT_TRUE(batch->empty());
  batch->Put(ColumnFamily::kCounts, "a", "1");
  batch->Put(ColumnFamily::kSets, "a", "2");
  batch->Put(ColumnFamily::kCounts, "a", "3");
  batch->Put(ColumnFamily::kCounts, "b", "4");
  batch->Delete(ColumnFamily::kCounts, "b");
  EXPECT_FALSE(batch->empty());
  EXPECT_GT(batch->bytes(), 5u);
  EXPECT_EQ(Get(ColumnFamily::kCounts, "a"), "(absent)");
  ASSERT_TRUE(store_->Write(batch.get()).ok());
  EXPECT_EQ(Get(ColumnFamily::kCounts, "a"), "3");
  EXPECT_EQ(Get(ColumnFamily::kSets, "a"), "2");
  EXPECT_EQ(Get(ColumnFamily::kCounts, "b"), "(absent)");
  batch->Clear();
  EXPECT_TRUE(batch->empty());
  ASSERT_TRUE(store_->Write(batch.get()).ok());
}

TEST_P(StoreContractTest, KeysAndValuesAreAnyBytes) {
  const std::string zeros(3, '\0');
  const std::string high("\xff\xff", 2);
  Put(ColumnFamily::kKv, zeros, high);
  Put(ColumnFamily::kKv, high, "");
  Put(ColumnFamily::kKv, "", zeros);
  EXPECT_EQ(Get(ColumnFamily::kKv, zeros), high);
  EXPECT_EQ(Get(ColumnFamily::kKv, high), "");
  EXPECT_EQ(Scan(ColumnFamily::kKv, "", ""), (Pairs{{"", zeros}, {zeros, high}, {high, ""}}));
}

TEST_P(StoreContractTest, IteratorKeepsToItsBounds) {
  for (const char* key : {"a", "b", "c", "d"}) Put(ColumnFamily::kSets, key, key);
  EXPECT_EQ(Scan(ColumnFamily::kSets, "b", "d"), (Pairs{{"b", "b"}, {"c", "c"}}));
  EXPECT_EQ(Scan(ColumnFamily::kSets, "b", ""), (Pairs{{"b", "b"}, {"c", "c"}, {"d", "d"}}));
  EXPECT_EQ(Scan(ColumnFamily::kSets, "", "b"), (Pairs{{"a", "a"}}));
  EXPECT_EQ(Scan(ColumnFamily::kSets, "bb", "c"), Pairs{});

  const auto iterator = store_->NewIterator(ColumnFamily::kSets, "b", "d");
  iterator->Seek("a");  // before the lower bound
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->key(), "b");
  iterator->Prev();
  EXPECT_FALSE(iterator->Valid());
  iterator->SeekForPrev("zzz");  // behind the upper bound
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->key(), "c");
  iterator->SeekForPrev("bx");
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->key(), "b");
  iterator->SeekForPrev("a");
  EXPECT_FALSE(iterator->Valid());
  iterator->Seek("d");
  EXPECT_FALSE(iterator->Valid());
  EXPECT_TRUE(iterator->status().ok());
}

TEST_P(StoreContractTest, MemtableIteratorShowsWhatWasWrittenSinceTheLastFlush) {
  Put(ColumnFamily::kJournal, "a", "old");
  Put(ColumnFamily::kJournal, "b", "old");
  ASSERT_TRUE(store_->Flush().ok());
  for (const char* key : {"c", "d", "e"}) Put(ColumnFamily::kJournal, key, "new");
  const auto batch = store_->NewBatch();
  batch->Delete(ColumnFamily::kJournal, "d");
  ASSERT_TRUE(store_->Write(batch.get()).ok());
  const auto iterator = store_->NewMemtableIterator(ColumnFamily::kJournal, "", "e");
  iterator->SeekForPrev("e");
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->key(), "c");
  EXPECT_EQ(iterator->value(), "new");
  iterator->Prev();
  // Nothing older, or all of it: never a part that lacks the newest.
  if (iterator->Valid()) {
    EXPECT_EQ(iterator->key(), "b");
  }
  EXPECT_TRUE(iterator->status().ok());
}

TEST_P(StoreContractTest, IteratorSeesTheStoreAsItWas) {
  Put(ColumnFamily::kSets, "a", "old");
  const auto iterator = store_->NewIterator(ColumnFamily::kSets, "", "");
  Put(ColumnFamily::kSets, "a", "new");
  Put(ColumnFamily::kSets, "b", "new");
  ASSERT_TRUE(store_->Flush().ok());
  iterator->Seek("");
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->value(), "old");
  iterator->Next();
  EXPECT_FALSE(iterator->Valid());
}

TEST_P(StoreContractTest, DropRangeTakesHalfOpenRangesFromMemoryAndFiles) {
  std::map<std::string, std::string> model;
  for (int i = 0; i < 3500; ++i) {  // more than one slice of deletions
    char key[8];
    std::snprintf(key, sizeof key, "%05d", i);
    Put(ColumnFamily::kJournal, key, "v");
    model[key] = "v";
    if (i == 2000) {
      ASSERT_TRUE(store_->Flush().ok());
    }
  }
  ASSERT_TRUE(store_->DropRange(ColumnFamily::kJournal, "00010", "03000").ok());
  model.erase(model.lower_bound("00010"), model.lower_bound("03000"));
  EXPECT_EQ(Scan(ColumnFamily::kJournal, "", ""), Pairs(model.begin(), model.end()));
  ASSERT_TRUE(store_->DropRange(ColumnFamily::kJournal, "03400", "").ok());
  model.erase(model.lower_bound("03400"), model.end());
  Reopen();
  EXPECT_EQ(Scan(ColumnFamily::kJournal, "", ""), Pairs(model.begin(), model.end()));
  ASSERT_TRUE(store_->DropRange(ColumnFamily::kJournal, "", "").ok());
  EXPECT_EQ(Scan(ColumnFamily::kJournal, "", ""), Pairs{});
  ASSERT_TRUE(store_->DropRange(ColumnFamily::kJournal, "", "").ok());
}

TEST_P(StoreContractTest, SyncAndFlushKeepEverything) {
  Put(ColumnFamily::kCounts, "a", "1");
  ASSERT_TRUE(store_->SyncWal().ok());
  ASSERT_TRUE(store_->SyncWal().ok());  // nothing new to sync
  Put(ColumnFamily::kCounts, "b", "2");
  ASSERT_TRUE(store_->Flush().ok());
  ASSERT_TRUE(store_->SyncWal().ok());
  EXPECT_FALSE(store_->GetStats().write_stopped);
  Reopen();
  EXPECT_EQ(Scan(ColumnFamily::kCounts, "", ""), (Pairs{{"a", "1"}, {"b", "2"}}));
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreContractTest, testing::Values(Kind::kRocks, Kind::kMemory),
                         [](const auto& instance) {
                           return instance.param == Kind::kRocks ? "Rocks" : "Memory";
                         });

}  // namespace
}  // namespace tallystick
