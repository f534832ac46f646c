// Proves that the store in memory crashes exactly as told: what was synced stays, of later writes
// the given number, whole; and that injected failures stop it as a failed disk would. The common
// contract of stores is in unit/storage/store_contract_test.cc.

#include "tests/support/mem_store.h"

#include <gtest/gtest.h>

namespace tallystick {
namespace {

Status Put(MemStore* store, std::string_view key, std::string_view value) {
  const auto batch = store->NewBatch();
  batch->Put(ColumnFamily::kKv, key, value);
  batch->Put(ColumnFamily::kMeta, key, value);
  return store->Write(batch.get());
}

std::string Get(MemStore* store, ColumnFamily cf, std::string_view key) {
  std::string value;
  bool found = false;
  EXPECT_TRUE(store->Get(cf, key, &value, &found).ok());
  return found ? value : "(absent)";
}

TEST(MemStoreTest, CrashKeepsAPrefixOfWholeBatches) {
  for (size_t kept = 0; kept <= 3; ++kept) {
    MemStore store;
    ASSERT_TRUE(Put(&store, "a", "0").ok());
    ASSERT_TRUE(store.SyncWal().ok());
    for (const char* value : {"1", "2", "3"}) ASSERT_TRUE(Put(&store, "a", value).ok());
    EXPECT_EQ(store.unsynced_writes(), 3u);
    store.CrashTo(kept);
    EXPECT_EQ(store.unsynced_writes(), 0u);
    EXPECT_EQ(Get(&store, ColumnFamily::kKv, "a"), std::to_string(kept));
    EXPECT_EQ(Get(&store, ColumnFamily::kMeta, "a"), std::to_string(kept));
  }
}

TEST(MemStoreTest, WhatACrashKeptIsDurable) {
  MemStore store;
  ASSERT_TRUE(Put(&store, "a", "1").ok());
  store.CrashTo(1);
  ASSERT_TRUE(Put(&store, "a", "2").ok());
  store.CrashTo(0);
  EXPECT_EQ(Get(&store, ColumnFamily::kKv, "a"), "1");
}

TEST(MemStoreTest, UnloggedWritesSurviveOnlyAFlush) {
  MemStore store;
  const auto batch = store.NewBatch();
  batch->Put(ColumnFamily::kCounts, "a", "1");
  ASSERT_TRUE(store.WriteUnlogged(batch.get()).ok());
  ASSERT_TRUE(store.SyncWal().ok());
  EXPECT_EQ(Get(&store, ColumnFamily::kCounts, "a"), "1");
  store.CrashTo(0);
  EXPECT_EQ(Get(&store, ColumnFamily::kCounts, "a"), "(absent)");
  ASSERT_TRUE(store.WriteUnlogged(batch.get()).ok());
  ASSERT_TRUE(store.FlushFamily(ColumnFamily::kCounts).ok());
  store.CrashTo(0);
  EXPECT_EQ(Get(&store, ColumnFamily::kCounts, "a"), "1");
}

TEST(MemStoreTest, FailedWriteStopsAllChangesUntilReopened) {
  MemStore store;
  store.FailWrite(2);
  ASSERT_TRUE(Put(&store, "a", "1").ok());
  EXPECT_EQ(Put(&store, "a", "2").code(), StatusCode::kIoError);
  EXPECT_EQ(Put(&store, "a", "3").code(), StatusCode::kReadOnly);
  EXPECT_EQ(store.SyncWal().code(), StatusCode::kReadOnly);
  EXPECT_EQ(store.DropRange(ColumnFamily::kKv, "", "").code(), StatusCode::kReadOnly);
  EXPECT_TRUE(store.GetStats().write_stopped);
  EXPECT_EQ(Get(&store, ColumnFamily::kKv, "a"), "1");
  store.CrashTo(1);
  EXPECT_TRUE(Put(&store, "a", "4").ok());
}

TEST(MemStoreTest, FailedSyncLeavesWritesInDoubt) {
  MemStore store;
  ASSERT_TRUE(Put(&store, "a", "1").ok());
  store.FailSync(1);
  EXPECT_EQ(store.SyncWal().code(), StatusCode::kIoError);
  EXPECT_EQ(store.SyncWal().code(), StatusCode::kReadOnly);
  EXPECT_EQ(Put(&store, "a", "2").code(), StatusCode::kReadOnly);
  store.CrashTo(0);
  EXPECT_EQ(Get(&store, ColumnFamily::kKv, "a"), "(absent)");
}

}  // namespace
}  // namespace tallystick
