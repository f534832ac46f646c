// Proves what is particular to the store on RocksDB: statistics, the lock, and clear refusals when
// it cannot be opened. The common contract is in store_contract_test.cc.

#include "engine/storage/rocks_store.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace tallystick {
namespace {

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
  for (const auto& entry : std::filesystem::directory_iterator(dir_ / "rocksdb")) {
    if (entry.path().extension() == ".sst") std::filesystem::remove(entry.path());
  }
  const auto opened = OpenRocksStore(options(), Log(nullptr));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), StatusCode::kCorruption) << opened.error().ToString();
}

}  // namespace
}  // namespace tallystick
