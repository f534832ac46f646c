#include "engine/storage/rocks_store.h"

#include "engine/base/assert.h"
#include "engine/storage/rocks_db.h"
#include "engine/storage/rocks_options.h"
#include "engine/storage/rocks_status.h"

#include <rocksdb/convenience.h>
#include <rocksdb/iterator.h>
#include <rocksdb/write_batch.h>

#include <atomic>

namespace tallystick {
namespace {

constexpr size_t kProtectionBytes = 8;
constexpr size_t kDropKeysPerBatch = 1000;

rocksdb::Slice ToSlice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}
std::string_view ToView(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

std::string FamilyContext(std::string_view what, ColumnFamily cf) {
  std::string context(what);
  context += " column family ";
  context += ColumnFamilyName(cf);
  return context;
}

class RocksBatch final : public StoreBatch {
 public:
  explicit RocksBatch(const RocksDb* db)
      : db_(db),
        batch_(/*reserved_bytes=*/0, /*max_bytes=*/0, kProtectionBytes,
               /*default_cf_ts_sz=*/0) {}

  void Put(ColumnFamily cf, std::string_view key, std::string_view value) override {
    Keep(batch_.Put(db_->handle(cf), ToSlice(key), ToSlice(value)));
  }
  void Delete(ColumnFamily cf, std::string_view key) override {
    Keep(batch_.Delete(db_->handle(cf), ToSlice(key)));
  }
  void Clear() override {
    batch_.Clear();
    first_error_ = rocksdb::Status();
  }
  size_t bytes() const override { return batch_.GetDataSize(); }
  bool empty() const override { return batch_.Count() == 0; }

  rocksdb::WriteBatch* batch() { return &batch_; }
  const rocksdb::Status& first_error() const { return first_error_; }

 private:
  void Keep(const rocksdb::Status& status) {  // a key or value beyond 4 GiB
    if (!status.ok() && first_error_.ok()) first_error_ = status;
  }

  const RocksDb* const db_;
  rocksdb::WriteBatch batch_;
  rocksdb::Status first_error_;
};

class RocksIterator final : public StoreIterator {
 public:
  RocksIterator(RocksDb* db, ColumnFamily cf, std::string_view lower, std::string_view upper,
                rocksdb::ReadTier tier, std::atomic<int>* live)
      : cf_(cf),
        lower_(lower),
        upper_(upper),
        lower_slice_(lower_),
        upper_slice_(upper_),
        live_(live) {
    rocksdb::ReadOptions options;
    if (!lower_.empty()) options.iterate_lower_bound = &lower_slice_;
    if (!upper_.empty()) options.iterate_upper_bound = &upper_slice_;
    options.fill_cache = cf != ColumnFamily::kJournal;  // read once, in order
    options.read_tier = tier;
    iterator_.reset(db->db()->NewIterator(options, db->handle(cf)));
    live_->fetch_add(1, std::memory_order_relaxed);  // only read when the store ends
  }
  ~RocksIterator() override {
    iterator_.reset();
    live_->fetch_sub(1, std::memory_order_relaxed);
  }
  RocksIterator(const RocksIterator&) = delete;
  RocksIterator& operator=(const RocksIterator&) = delete;

  void Seek(std::string_view key) override { iterator_->Seek(ToSlice(key)); }
  void SeekForPrev(std::string_view key) override { iterator_->SeekForPrev(ToSlice(key)); }
  void Next() override {
    TALLY_ASSERT(Valid());
    iterator_->Next();
  }
  void Prev() override {
    TALLY_ASSERT(Valid());
    iterator_->Prev();
  }
  bool Valid() const override { return iterator_->Valid(); }
  std::string_view key() const override {
    TALLY_ASSERT(Valid());
    return ToView(iterator_->key());
  }
  std::string_view value() const override {
    TALLY_ASSERT(Valid());
    return ToView(iterator_->value());
  }
  Status status() const override {
    return TranslateStatus(iterator_->status(), FamilyContext("scan of", cf_));
  }

 private:
  const ColumnFamily cf_;
  const std::string lower_, upper_;
  const rocksdb::Slice lower_slice_, upper_slice_;  // RocksDB keeps pointers to them
  std::atomic<int>* const live_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

class RocksStore final : public Store {
 public:
  explicit RocksStore(std::unique_ptr<RocksDb> db) : db_(std::move(db)) {}
  ~RocksStore() override {
    // RocksDB would stop the process with less to say.
    TALLY_ASSERT(live_iterators_.load() == 0);
  }
  RocksStore(const RocksStore&) = delete;
  RocksStore& operator=(const RocksStore&) = delete;

  Status Get(ColumnFamily cf, std::string_view key, std::string* value, bool* found) override {
    rocksdb::PinnableSlice pinned;
    const rocksdb::Status status =
        db_->db()->Get(rocksdb::ReadOptions(), db_->handle(cf), ToSlice(key), &pinned);
    *found = status.ok();
    if (status.ok()) {
      value->assign(pinned.data(), pinned.size());
      return Status();
    }
    if (status.IsNotFound()) return Status();
    return TranslateStatus(status, FamilyContext("read of", cf));
  }

  std::unique_ptr<StoreBatch> NewBatch() override {
    return std::make_unique<RocksBatch>(db_.get());
  }

  Status Write(StoreBatch* batch) override {
    return WriteWith(write_options_, batch, "write of the WAL");
  }

  Status WriteUnlogged(StoreBatch* batch) override {
    rocksdb::WriteOptions options = write_options_;
    options.disableWAL = true;
    return WriteWith(options, batch, "write of a memtable");
  }

  Status FlushFamily(ColumnFamily cf) override {
    if (db_->gate().closed()) return db_->gate().Check();
    return Guarded(db_->db()->Flush(rocksdb::FlushOptions(), db_->handle(cf)),
                   FamilyContext("flush of", cf));
  }

  Status WriteWith(const rocksdb::WriteOptions& options, StoreBatch* batch, std::string_view what) {
    auto* rocks_batch = static_cast<RocksBatch*>(batch);
    if (!rocks_batch->first_error().ok()) {
      return TranslateStatus(rocks_batch->first_error(), "batch");
    }
    if (db_->gate().closed()) return db_->gate().Check();
    if (rocks_batch->empty()) return Status();
    return Guarded(db_->db()->Write(options, rocks_batch->batch()), what);
  }

  Status SyncWal() override {
    if (db_->gate().closed()) return db_->gate().Check();
    return Guarded(db_->fs()->SyncWal(), "fsync of the WAL");
  }

  std::unique_ptr<StoreIterator> NewIterator(ColumnFamily cf, std::string_view lower,
                                             std::string_view upper) override {
    return std::make_unique<RocksIterator>(db_.get(), cf, lower, upper, rocksdb::kReadAllTier,
                                           &live_iterators_);
  }

  std::unique_ptr<StoreIterator> NewMemtableIterator(ColumnFamily cf, std::string_view lower,
                                                     std::string_view upper) override {
    return std::make_unique<RocksIterator>(db_.get(), cf, lower, upper, rocksdb::kMemtableTier,
                                           &live_iterators_);
  }

  Status DropRange(ColumnFamily cf, std::string_view lower, std::string_view upper) override {
    if (db_->gate().closed()) return db_->gate().Check();
    TALLY_ASSERT(upper.empty() || lower <= upper);
    const rocksdb::Slice begin = ToSlice(lower), end = ToSlice(upper);
    Status status = Guarded(
        rocksdb::DeleteFilesInRange(db_->db(), db_->handle(cf), lower.empty() ? nullptr : &begin,
                                    upper.empty() ? nullptr : &end, /*include_end=*/false),
        FamilyContext("deletion of files of", cf));
    return status.ok() ? DeleteKeys(cf, lower, upper) : status;
  }

  Status Flush() override {
    if (db_->gate().closed()) return db_->gate().Check();
    const std::vector<rocksdb::ColumnFamilyHandle*> all(db_->handles().begin(),
                                                        db_->handles().end());
    return Guarded(db_->db()->Flush(rocksdb::FlushOptions(), all), "flush of memtables");
  }

  uint64_t ApproximateBytes(ColumnFamily cf, std::string_view lower,
                            std::string_view upper) override {
    const rocksdb::Range range(ToSlice(lower), ToSlice(upper));
    rocksdb::SizeApproximationOptions options;
    options.include_memtables = true;
    uint64_t bytes = 0;
    const rocksdb::Status status =
        db_->db()->GetApproximateSizes(options, db_->handle(cf), &range, 1, &bytes);
    return status.ok() ? bytes : 0;
  }

  bool Tend() override { return db_->Tend(); }

  StoreStats GetStats() override {
    StoreStats stats;
    stats.wal_bytes = WalBytes();
    stats.sst_bytes = Property(rocksdb::DB::Properties::kLiveSstFilesSize);
    stats.memtable_bytes = Property(rocksdb::DB::Properties::kCurSizeAllMemTables);
    stats.block_cache_bytes = db_->cache().GetUsage();
    uint64_t stopped = 0;
    db_->db()->GetIntProperty(rocksdb::DB::Properties::kIsWriteStopped, &stopped);
    stats.write_stopped = stopped != 0 || db_->gate().closed();
    return stats;
  }

 private:
  // Every status of a call that changes the disk passes here: the first failure is the last call.
  Status Guarded(const rocksdb::Status& status, std::string_view what) {
    if (status.ok()) return Status();
    Status ours = TranslateStatus(status, std::string(what) + " in " + db_->dir());
    db_->gate().Close(ours);
    return ours;
  }

  Status DeleteKeys(ColumnFamily cf, std::string_view lower, std::string_view upper) {
    const auto iterator = NewIterator(cf, lower, upper);
    const auto batch = NewBatch();
    size_t keys = 0;
    for (iterator->Seek(lower); iterator->Valid(); iterator->Next()) {
      batch->Delete(cf, iterator->key());
      if (++keys % kDropKeysPerBatch != 0) continue;
      Status status = Write(batch.get());
      if (!status.ok()) return status;
      batch->Clear();
    }
    Status status = iterator->status();
    return status.ok() ? Write(batch.get()) : status;
  }

  uint64_t Property(const std::string& name) {
    uint64_t sum = 0;
    for (rocksdb::ColumnFamilyHandle* handle : db_->handles()) {
      uint64_t value = 0;
      if (db_->db()->GetIntProperty(handle, name, &value)) sum += value;
    }
    return sum;
  }

  uint64_t WalBytes() {
    const rocksdb::IOOptions io;
    std::vector<std::string> names;
    if (!db_->fs()->GetChildren(db_->dir(), io, &names, nullptr).ok()) return 0;
    uint64_t sum = 0;
    for (const std::string& name : names) {
      uint64_t bytes = 0;
      if (WalFileSystem::IsWalName(name) &&
          db_->fs()->GetFileSize(db_->dir() + "/" + name, io, &bytes, nullptr).ok()) {
        sum += bytes;
      }
    }
    return sum;
  }

  const std::unique_ptr<RocksDb> db_;
  const rocksdb::WriteOptions write_options_ = MakeWriteOptions();
  std::atomic<int> live_iterators_{0};
};

}  // namespace

Result<std::unique_ptr<Store>> OpenRocksStore(const RocksStoreOptions& options, const Log& log) {
  Result<std::unique_ptr<RocksDb>> db = RocksDb::Open(options, log);
  if (!db) return Fail(db.error());
  return std::make_unique<RocksStore>(std::move(*db));
}

}  // namespace tallystick
