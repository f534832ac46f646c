// MemStore: a Store in memory for simulations. Same meaning as the one on RocksDB: atomic batches
// in one total order, iterators on a consistent view, a failed write stops all later changes. Its
// crash is exact: CrashTo says how many of the writes since the last SyncWal survive.
//
// Thread-safe. A write clones a column family that an iterator still looks at: O(its size).
#pragma once

#include "engine/base/mutex.h"
#include "engine/storage/store.h"

#include <array>
#include <map>
#include <optional>
#include <vector>

namespace tallystick {

class MemStore final : public Store {
 public:
  MemStore() = default;

  Status Get(ColumnFamily cf, std::string_view key, std::string* value, bool* found) override;
  std::unique_ptr<StoreBatch> NewBatch() override;
  Status Write(StoreBatch* batch) override;
  Status WriteUnlogged(StoreBatch* batch) override;
  Status SyncWal() override;
  std::unique_ptr<StoreIterator> NewIterator(ColumnFamily cf, std::string_view lower,
                                             std::string_view upper) override;
  std::unique_ptr<StoreIterator> NewMemtableIterator(ColumnFamily cf, std::string_view lower,
                                                     std::string_view upper) override {
    return NewIterator(cf, lower, upper);
  }
  Status DropRange(ColumnFamily cf, std::string_view lower, std::string_view upper) override;
  Status Flush() override;
  bool Tend() override { return false; }
  Status FlushFamily(
      ColumnFamily cf) override;  // also makes durable what is logged, as RocksDB does
  uint64_t ApproximateBytes(ColumnFamily cf, std::string_view lower,
                            std::string_view upper) override;
  StoreStats GetStats() override;

  // Logged writes that a power loss may take.
  size_t unsynced_writes() const;
  // The store as it is found after a crash: what was synced or flushed and the first `kept` logged
  // writes after that. All of them after the death of the process alone. Clears injected failures,
  // as opening again does.
  void CrashTo(size_t kept);
  // The nth Write from now (1 is the next) and everything after it fails, until CrashTo.
  void FailWrite(uint64_t nth);
  // The nth SyncWal from now, likewise.
  void FailSync(uint64_t nth);

 private:
  friend class MemBatch;

  using Map = std::map<std::string, std::string, std::less<>>;
  using Maps = std::array<std::shared_ptr<Map>, kColumnFamilies>;
  struct Change {
    ColumnFamily cf;
    std::string key;
    std::optional<std::string> value;  // none: deleted
  };

  static Maps EmptyMaps();
  static void Apply(const std::vector<Change>& changes, Maps* maps);
  Status Commit(const std::vector<Change>& changes, bool logged);
  Status Sync() TALLY_REQUIRES(mutex_);

  mutable Mutex mutex_;
  Maps maps_ TALLY_GUARDED_BY(mutex_) = EmptyMaps();
  Maps durable_ TALLY_GUARDED_BY(mutex_) = EmptyMaps();
  std::vector<std::vector<Change>> unsynced_ TALLY_GUARDED_BY(mutex_);
  uint64_t writes_to_failure_ TALLY_GUARDED_BY(mutex_) = 0;  // 0: none
  uint64_t syncs_to_failure_ TALLY_GUARDED_BY(mutex_) = 0;
  bool failed_ TALLY_GUARDED_BY(mutex_) = false;
};

}  // namespace tallystick
