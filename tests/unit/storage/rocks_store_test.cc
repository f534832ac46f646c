// Proves what is particular to the store on RocksDB: statistics, the lock, and clear refusals when
// it cannot be opened. The common contract is in store_contract_test.cc.

#include "engine/storage/rocks_store.h"
#include "engine/base/mutex.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace tallystick {
namespace {

class KeepingLogger final : public Logger {
 public:
  void Write(LogLevel, std::string_view message) override {
    MutexLock lock(mutex_);
    text_.append(message);
  }
  std::string text() {
    MutexLock lock(mutex_);
    return text_;
  }
  bool Contains(std::string_view words) { return text().find(words) != std::string::npos; }

 private:
  Mutex mutex_;
  std::string text_;
};

class RocksStoreTest : public testing::Test {
 protected:
  void SetUp() override { Reopen(); }

  void Reopen() {
    store_.reset();
    auto opened = OpenRocksStore(options(), Log(nullptr));
    ASSERT_TRUE(opened) << opened.error().ToString();
    store_ = std::move(*opened);
  }
  RocksStoreOptions options() const {
    RocksStoreOptions options;
    options.dir = dir_ / "rocksdb";
    return options;
  }
  void Put(ColumnFamily cf, std::string_view key, std::string_view value) {
    const auto batch = store_->NewBatch();
    batch->Put(cf, key, value);
    ASSERT_TRUE(store_->Write(batch.get()).ok());
  }

  std::set<std::filesystem::path> TableFiles() const {
    std::set<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(dir_ / "rocksdb")) {
      if (entry.path().extension() == ".sst") files.insert(entry.path());
    }
    return files;
  }

  TempDir dir_;
  std::unique_ptr<Store> store_;
};

TEST_F(RocksStoreTest, StatsFollowTheLog) {
  const uint64_t before = store_->GetStats().wal_bytes;
  Put(ColumnFamily::kJournal, "a", std::string(100'000, 'x'));
  EXPECT_GE(store_->GetStats().wal_bytes, before + 100'000);
  EXPECT_GE(store_->GetStats().memtable_bytes, 100'000u);
}

TEST_F(RocksStoreTest, SecondOpenIsLocked) {
  const auto second = OpenRocksStore(options(), Log(nullptr));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), StatusCode::kLocked) << second.error().ToString();
}

TEST_F(RocksStoreTest, MissingAndNotToBeCreated) {
  RocksStoreOptions absent = options();
  absent.dir = dir_ / "absent";
  absent.create_if_missing = false;
  const auto opened = OpenRocksStore(absent, Log(nullptr));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), StatusCode::kInvalidArgument) << opened.error().ToString();
  EXPECT_FALSE(std::filesystem::exists(absent.dir));
}

TEST_F(RocksStoreTest, MissingFileIsCorruption) {
  Put(ColumnFamily::kCounts, "a", "1");
  ASSERT_TRUE(store_->Flush().ok());
  Put(ColumnFamily::kSets, "a", "2");
  store_.reset();
  for (const auto& path : TableFiles()) std::filesystem::remove(path);
  const auto opened = OpenRocksStore(options(), Log(nullptr));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), StatusCode::kCorruption) << opened.error().ToString();
}

// Enough files for RocksDB not to open all of them with the database.
constexpr int kManyFiles = 12;

// More flushes than level 0 may hold files, and then some until `done` (compaction yields to all).
template <typename Done>
void FlushUntil(Store* store, Done done) {
  constexpr int kAtLeast = 120, kAtMost = 3000;
  for (int i = 0; i < kAtMost && !(i >= kAtLeast && done()); ++i) {
    const auto batch = store->NewBatch();
    batch->Put(ColumnFamily::kSets, "0", "x");
    batch->Put(ColumnFamily::kSets, "new", "x");  // what lies between is merged, not moved
    ASSERT_TRUE(store->Write(batch.get()).ok());
    ASSERT_TRUE(store->FlushFamily(ColumnFamily::kSets).ok());
    while (store->Tend()) continue;
  }
}

TEST_F(RocksStoreTest, CompactionWaitsUntilFilesWereLookedInto) {
  for (int i = 0; i < kManyFiles; ++i) {
    Put(ColumnFamily::kSets, "a" + std::to_string(i), "1");
    ASSERT_TRUE(store_->FlushFamily(ColumnFamily::kSets).ok());
  }
  const auto waiting = TableFiles();
  EXPECT_GE(waiting.size(), static_cast<size_t>(kManyFiles));
  Reopen();  // closes while compaction waits, and opens with it waiting
  EXPECT_EQ(TableFiles(), waiting);
  size_t most = 0;
  FlushUntil(store_.get(), [&] {
    const size_t now = TableFiles().size();
    most = std::max(most, now);
    return now < most / 2;
  });
  EXPECT_LT(TableFiles().size(), most);
  std::string value;
  bool found = false;
  ASSERT_TRUE(store_->Get(ColumnFamily::kSets, "a0", &value, &found).ok());
  EXPECT_TRUE(found);
}

TEST_F(RocksStoreTest, ManyFilesAreLookedIntoWhileOpening) {
  for (int life = 0; life < 8; ++life) {
    for (int i = 0; i < 20; ++i) {
      Put(ColumnFamily::kSets, "a", "1");
      Put(ColumnFamily::kSets, "b", "1");
      ASSERT_TRUE(store_->FlushFamily(ColumnFamily::kSets).ok());  // would wait for ever
    }
    Reopen();
  }
  SUCCEED();
}

TEST_F(RocksStoreTest, FileFoundDamagedAfterOpeningStopsNoWriter) {
  for (int i = 0; i < kManyFiles; ++i) {
    Put(ColumnFamily::kSets, "a" + std::to_string(i), "1");
    ASSERT_TRUE(store_->FlushFamily(ColumnFamily::kSets).ok());
  }
  const auto files = TableFiles();
  store_.reset();
  auto oldest = files.begin();
  std::filesystem::resize_file(*oldest, 100);  // no footer any more
  const auto logger = std::make_shared<KeepingLogger>();
  auto opened = OpenRocksStore(options(), Log(logger));
  ASSERT_TRUE(opened) << opened.error().ToString();
  store_ = std::move(*opened);
  FlushUntil(store_.get(), [] { return true; });
  EXPECT_TRUE(logger->Contains(oldest->filename().string())) << logger->text();
  std::string value;
  bool found = false;
  EXPECT_EQ(store_->Get(ColumnFamily::kSets, "a0", &value, &found).code(), StatusCode::kCorruption);
  ASSERT_TRUE(store_->Get(ColumnFamily::kSets, "a11", &value, &found).ok());
  EXPECT_TRUE(found);
}

TEST_F(RocksStoreTest, DamagedBlockThatCompactionMeetsStopsNoWriter) {
  Put(ColumnFamily::kSets, "a", std::string(1000, 'x'));
  Put(ColumnFamily::kSets, "b", std::string(1000, 'x'));
  ASSERT_TRUE(store_->FlushFamily(ColumnFamily::kSets).ok());
  const auto files = TableFiles();
  store_.reset();
  std::fstream file(*files.rbegin(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(10);  // in the first block, which is looked at by nobody who does not ask for it
  file.put('!');
  file.close();
  const auto logger = std::make_shared<KeepingLogger>();
  auto opened = OpenRocksStore(options(), Log(logger));
  ASSERT_TRUE(opened) << opened.error().ToString();
  store_ = std::move(*opened);
  const auto told = [&] { return logger->Contains("nothing is compacted any more"); };
  FlushUntil(store_.get(), told);
  EXPECT_TRUE(told());
  FlushUntil(store_.get(), [] { return true; });
  std::string value;
  bool found = false;
  EXPECT_EQ(store_->Get(ColumnFamily::kSets, "a", &value, &found).code(), StatusCode::kCorruption);
  ASSERT_TRUE(store_->Get(ColumnFamily::kSets, "new", &value, &found).ok());
  EXPECT_TRUE(found);
}

TEST_F(RocksStoreTest, DamagedTableFileIsServedAround) {
  Put(ColumnFamily::kCounts, "a", "1");
  ASSERT_TRUE(store_->Flush().ok());
  const auto whole = TableFiles();
  Put(ColumnFamily::kSets, "a", "2");
  ASSERT_TRUE(store_->Flush().ok());
  store_.reset();
  for (const auto& path : TableFiles()) {
    if (!whole.contains(path)) std::filesystem::resize_file(path, 100);  // no footer any more
  }
  const auto logger = std::make_shared<KeepingLogger>();
  auto opened = OpenRocksStore(options(), Log(logger));
  ASSERT_TRUE(opened) << opened.error().ToString();
  store_ = std::move(*opened);
  EXPECT_TRUE(logger->Contains("opened around damaged files")) << logger->text();
  EXPECT_TRUE(logger->Contains(".sst")) << logger->text();
  std::string value;
  bool found = false;
  ASSERT_TRUE(store_->Get(ColumnFamily::kCounts, "a", &value, &found).ok());
  EXPECT_TRUE(found);
  EXPECT_EQ(value, "1");
  EXPECT_EQ(store_->Get(ColumnFamily::kSets, "a", &value, &found).code(), StatusCode::kCorruption);
  const auto it = store_->NewIterator(ColumnFamily::kSets, "", "");
  it->Seek("");
  EXPECT_FALSE(it->Valid());
  EXPECT_EQ(it->status().code(), StatusCode::kCorruption);
  Put(ColumnFamily::kSets, "b", "3");
  ASSERT_TRUE(store_->Flush().ok());
  ASSERT_TRUE(store_->Get(ColumnFamily::kSets, "b", &value, &found).ok());
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace tallystick
