// Store: an ordered, atomic, crash-consistent key-value store with column families. RocksDB behind
// it in the product (rocks_store.h), a map in simulations. Statuses are ours; RocksDB's end here.
//
// Thread-safety: all calls from any thread. Writes are in one total order; what survives a crash is
// a prefix of it, never less than what SyncWal had returned for.
#pragma once

#include <tallystick/result.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tallystick {

enum class ColumnFamily : uint8_t {
  kMeta = 0,
  kSets = 1,
  kSnapshots = 2,
  kCounts = 3,
  kJournal = 4,
  kKv = 5,
  kIds = 6,
  kTokens = 7,
};
inline constexpr size_t kColumnFamilies = 8;
std::string_view ColumnFamilyName(ColumnFamily cf);

// Changes that become visible and survive together. Not thread-safe.
class StoreBatch {
 public:
  virtual ~StoreBatch() = default;
  virtual void Put(ColumnFamily cf, std::string_view key, std::string_view value) = 0;
  virtual void Delete(ColumnFamily cf, std::string_view key) = 0;
  virtual void Clear() = 0;
  virtual size_t bytes() const = 0;
  virtual bool empty() const = 0;
};

// A consistent view at its creation. Not thread-safe. Views are valid until the next move.
class StoreIterator {
 public:
  virtual ~StoreIterator() = default;
  virtual void Seek(std::string_view key) = 0;         // first >= key
  virtual void SeekForPrev(std::string_view key) = 0;  // last <= key
  virtual void Next() = 0;
  virtual void Prev() = 0;
  virtual bool Valid() const = 0;  // false at the end and after an error: check status()
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
  virtual Status status() const = 0;
};

struct StoreStats {
  uint64_t wal_bytes = 0;
  uint64_t sst_bytes = 0;
  uint64_t memtable_bytes = 0;
  uint64_t block_cache_bytes = 0;
  bool write_stopped = false;  // after a failure, or by RocksDB while compaction catches up
};

class Store {
 public:
  virtual ~Store() = default;

  // *found says whether the key exists. kCorruption: the block that would hold it is damaged.
  virtual Status Get(ColumnFamily cf, std::string_view key, std::string* value, bool* found) = 0;
  virtual std::unique_ptr<StoreBatch> NewBatch() = 0;
  // Handed to the operating system when it returns (survives the process, not power loss). The
  // batch must come from this store's NewBatch and is left as it is. On an error the batch may or
  // may not be there after the next opening (never half of it), and every later change (Write,
  // SyncWal, DropRange, Flush) is refused with kReadOnly until then; reads go on.
  virtual Status Write(StoreBatch* batch) = 0;
  // Visible at once and in order with other writes, but survives the process only once FlushFamily
  // or Flush has returned: for what can be computed anew from something that was written with
  // Write.
  virtual Status WriteUnlogged(StoreBatch* batch) = 0;
  // Everything written (not unlogged) before the call survives power loss when it returns OK. Runs
  // beside writers. Never call it again after an error: what was written is then durable or not,
  // unknown which.
  virtual Status SyncWal() = 0;
  // `lower` included, `upper` excluded (empty: open end). Keeps the bounds, and disk space from
  // being reclaimed; must be gone before the store is.
  virtual std::unique_ptr<StoreIterator> NewIterator(ColumnFamily cf, std::string_view lower,
                                                     std::string_view upper) = 0;
  // The same over what was written since the last flush and has not been deleted since; reads no
  // file. May show more than that.
  virtual std::unique_ptr<StoreIterator> NewMemtableIterator(ColumnFamily cf,
                                                             std::string_view lower,
                                                             std::string_view upper) = 0;
  // Drops [lower, upper) by deleting whole files where possible and keys otherwise; not atomic:
  // until it has returned OK, older values of keys in the range may show. For ranges that readers
  // already ignore (trimmed journal, wiped shards). O(keys that are not in whole files).
  virtual Status DropRange(ColumnFamily cf, std::string_view lower, std::string_view upper) = 0;
  // Memtables to files: what was written before the call, unlogged or not, survives power loss.
  virtual Status Flush() = 0;
  virtual Status FlushFamily(ColumnFamily cf) = 0;
  // Bytes on disk of [lower, upper), memtables included; an estimate.
  virtual uint64_t ApproximateBytes(ColumnFamily cf, std::string_view lower,
                                    std::string_view upper) = 0;
  // Work that opening and damage leave for later, a piece of bounded length per call; call it now
  // and then, and from a thread that does not write before it has returned false: compaction waits
  // for that, and writers for compaction when there are many files. True while there is more at
  // once. One thread at a time, beside all other calls.
  virtual bool Tend() = 0;
  // Lists one directory, no other I/O.
  virtual StoreStats GetStats() = 0;
};

}  // namespace tallystick
