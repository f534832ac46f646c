// Proves what is particular to the store on RocksDB: statistics, the lock, and clear refusals when
// it cannot be opened. The common contract is in store_contract_test.cc.

#include "engine/storage/rocks_store.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

namespace tallystick {
namespace {

class KeepingLogger final : public Logger {
 public:
  void Write(LogLevel, std::string_view message) override { text.append(message); }
  std::string text;
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
  EXPECT_NE(logger->text.find("opened around damaged files"), std::string::npos) << logger->text;
  EXPECT_NE(logger->text.find(".sst"), std::string::npos) << logger->text;
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
