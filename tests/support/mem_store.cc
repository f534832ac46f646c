#include "tests/support/mem_store.h"

#include "engine/base/assert.h"

#include <algorithm>

namespace tallystick {

class MemBatch final : public StoreBatch {
 public:
  void Put(ColumnFamily cf, std::string_view key, std::string_view value) override {
    changes.push_back({cf, std::string(key), std::string(value)});
    bytes_ += key.size() + value.size();
  }
  void Delete(ColumnFamily cf, std::string_view key) override {
    changes.push_back({cf, std::string(key), std::nullopt});
    bytes_ += key.size();
  }
  void Clear() override {
    changes.clear();
    bytes_ = 0;
  }
  size_t bytes() const override { return bytes_; }
  bool empty() const override { return changes.empty(); }

  std::vector<MemStore::Change> changes;

 private:
  size_t bytes_ = 0;
};

namespace {

class MemIterator final : public StoreIterator {
 public:
  using Map = std::map<std::string, std::string, std::less<>>;

  MemIterator(std::shared_ptr<const Map> map, std::string_view lower, std::string_view upper)
      : map_(std::move(map)),
        begin_(map_->lower_bound(lower)),
        end_(upper.empty() ? map_->end() : map_->lower_bound(upper)),
        at_(end_) {
    if (!upper.empty() && upper <= lower) begin_ = end_;
  }

  void Seek(std::string_view key) override {
    at_ = map_->lower_bound(key);
    if (Before(at_, begin_)) at_ = begin_;
    if (!Before(at_, end_)) at_ = end_;
  }
  void SeekForPrev(std::string_view key) override {
    auto past = map_->upper_bound(key);
    if (!Before(past, end_)) past = end_;
    at_ = Before(begin_, past) ? std::prev(past) : end_;
  }
  void Next() override {
    TALLY_ASSERT(Valid());
    ++at_;
  }
  void Prev() override {
    TALLY_ASSERT(Valid());
    at_ = at_ == begin_ ? end_ : std::prev(at_);
  }
  bool Valid() const override { return at_ != end_; }
  std::string_view key() const override {
    TALLY_ASSERT(Valid());
    return at_->first;
  }
  std::string_view value() const override {
    TALLY_ASSERT(Valid());
    return at_->second;
  }
  Status status() const override { return Status(); }

 private:
  // Whether `a` is at a smaller key than `b`.
  bool Before(Map::const_iterator a, Map::const_iterator b) const {
    if (a == map_->end()) return false;
    return b == map_->end() || a->first < b->first;
  }

  const std::shared_ptr<const Map> map_;
  Map::const_iterator begin_;
  const Map::const_iterator end_;
  Map::const_iterator at_;
};

}  // namespace

MemStore::Maps MemStore::EmptyMaps() {
  Maps maps;
  for (auto& map : maps) map = std::make_shared<Map>();
  return maps;
}

void MemStore::Apply(const std::vector<Change>& changes, Maps* maps) {
  for (const Change& change : changes) {
    std::shared_ptr<Map>& map = (*maps)[static_cast<size_t>(change.cf)];
    if (map.use_count() > 1) map = std::make_shared<Map>(*map);
    if (change.value) {
      map->insert_or_assign(change.key, *change.value);
    } else {
      map->erase(change.key);
    }
  }
}

Status MemStore::Commit(const std::vector<Change>& changes, bool logged) {
  MutexLock lock(mutex_);
  if (failed_) return Status::Error(StatusCode::kReadOnly, "writes stopped after a failure");
  if (writes_to_failure_ > 0 && --writes_to_failure_ == 0) {
    failed_ = true;
    return Status::Error(StatusCode::kIoError, "injected failure of a write");
  }
  Apply(changes, &maps_);
  if (logged) unsynced_.push_back(changes);
  return Status();
}

Status MemStore::Get(ColumnFamily cf, std::string_view key, std::string* value, bool* found) {
  MutexLock lock(mutex_);
  const Map& map = *maps_[static_cast<size_t>(cf)];
  const auto it = map.find(key);
  *found = it != map.end();
  if (*found) *value = it->second;
  return Status();
}

std::unique_ptr<StoreBatch> MemStore::NewBatch() {
  return std::make_unique<MemBatch>();
}

Status MemStore::Write(StoreBatch* batch) {
  return Commit(static_cast<MemBatch*>(batch)->changes, /*logged=*/true);
}

Status MemStore::WriteUnlogged(StoreBatch* batch) {
  return Commit(static_cast<MemBatch*>(batch)->changes, /*logged=*/false);
}

Status MemStore::SyncWal() {
  MutexLock lock(mutex_);
  return Sync();
}

Status MemStore::Sync() {
  if (failed_) return Status::Error(StatusCode::kReadOnly, "writes stopped after a failure");
  if (syncs_to_failure_ > 0 && --syncs_to_failure_ == 0) {
    failed_ = true;
    return Status::Error(StatusCode::kIoError, "injected failure of a sync");
  }
  for (const auto& changes : unsynced_) Apply(changes, &durable_);
  unsynced_.clear();
  return Status();
}

std::unique_ptr<StoreIterator> MemStore::NewIterator(ColumnFamily cf, std::string_view lower,
                                                     std::string_view upper) {
  MutexLock lock(mutex_);
  return std::make_unique<MemIterator>(maps_[static_cast<size_t>(cf)], lower, upper);
}

Status MemStore::DropRange(ColumnFamily cf, std::string_view lower, std::string_view upper) {
  std::vector<Change> changes;
  const auto iterator = NewIterator(cf, lower, upper);
  for (iterator->Seek(lower); iterator->Valid(); iterator->Next()) {
    changes.push_back({cf, std::string(iterator->key()), std::nullopt});
  }
  return Commit(changes, /*logged=*/true);
}

Status MemStore::Flush() {
  MutexLock lock(mutex_);
  Status status = Sync();
  if (!status.ok()) return status;
  for (size_t i = 0; i < kColumnFamilies; ++i) durable_[i] = std::make_shared<Map>(*maps_[i]);
  return status;
}

Status MemStore::FlushFamily(ColumnFamily cf) {
  MutexLock lock(mutex_);
  Status status = Sync();
  const auto i = static_cast<size_t>(cf);
  if (status.ok()) durable_[i] = std::make_shared<Map>(*maps_[i]);
  return status;
}

uint64_t MemStore::ApproximateBytes(ColumnFamily cf, std::string_view lower,
                                    std::string_view upper) {
  uint64_t bytes = 0;
  const auto iterator = NewIterator(cf, lower, upper);
  for (iterator->Seek(lower); iterator->Valid(); iterator->Next()) {
    bytes += iterator->key().size() + iterator->value().size();
  }
  return bytes;
}

StoreStats MemStore::GetStats() {
  MutexLock lock(mutex_);
  StoreStats stats;
  for (const auto& map : maps_) {
    for (const auto& [key, value] : *map) stats.memtable_bytes += key.size() + value.size();
  }
  for (const auto& changes : unsynced_) {
    for (const Change& change : changes) {
      stats.wal_bytes += change.key.size() + (change.value ? change.value->size() : 0);
    }
  }
  stats.write_stopped = failed_;
  return stats;
}

size_t MemStore::unsynced_writes() const {
  MutexLock lock(mutex_);
  return unsynced_.size();
}

void MemStore::CrashTo(size_t kept) {
  MutexLock lock(mutex_);
  TALLY_ASSERT(kept <= unsynced_.size());
  for (size_t i = 0; i < kept; ++i) Apply(unsynced_[i], &durable_);
  unsynced_.clear();
  for (size_t i = 0; i < kColumnFamilies; ++i) maps_[i] = std::make_shared<Map>(*durable_[i]);
  failed_ = false;
  writes_to_failure_ = syncs_to_failure_ = 0;
}

void MemStore::FailWrite(uint64_t nth) {
  MutexLock lock(mutex_);
  writes_to_failure_ = nth;
}

void MemStore::FailSync(uint64_t nth) {
  MutexLock lock(mutex_);
  syncs_to_failure_ = nth;
}

}  // namespace tallystick
