#include "engine/recovery/verify_directory.h"

#include "engine/base/log.h"
#include "engine/counts/catalog.h"
#include "engine/recovery/verify_entity.h"
#include "engine/recovery/verify_tail.h"
#include "engine/storage/directory.h"
#include "engine/storage/key_codec.h"
#include "engine/storage/meta.h"
#include "engine/storage/rocks_store.h"

#include <algorithm>
#include <string>

namespace tallystick {
namespace {

// Walks one shard: the stored images, the stored records and the entities of the tail, merged by
// key.
class ShardWalk {
 public:
  ShardWalk(Store* store, uint32_t shard, const VerifyTail& tail, EntityVerifier* verifier)
      : shard_(shard),
        tail_(tail),
        verifier_(*verifier),
        images_(Iterate(store, ColumnFamily::kSets)),
        records_(Iterate(store, ColumnFamily::kCounts)),
        plain_(Iterate(store, ColumnFamily::kKv)),
        event_(tail.by_entity().lower_bound(ShardPrefix(shard))),
        events_end_(ShardPrefixEnd(shard).empty()
                        ? tail.by_entity().end()
                        : tail.by_entity().lower_bound(ShardPrefixEnd(shard))) {}

  // A column family that cannot be read to the shard's end ends the shard's walk as damage.
  Status Run() {
    while (Readable(*images_, "snapshots") && Readable(*records_, "count records") && Any()) {
      if (Status s = VerifySmallest(); !s.ok()) return s;
    }
    for (; Readable(*plain_, "plain keys") && plain_->Valid(); plain_->Next()) {
      StoredEntity key;
      key.image = plain_->value();
      if (Status s = VerifyKey(std::string(plain_->key()), true, &key); !s.ok()) return s;
    }
    return {};
  }

 private:
  std::unique_ptr<StoreIterator> Iterate(Store* store, ColumnFamily cf) const {
    auto it = store->NewIterator(cf, ShardPrefix(shard_), ShardPrefixEnd(shard_));
    it->Seek(ShardPrefix(shard_));
    return it;
  }

  bool Readable(const StoreIterator& it, const char* what) {
    if (it.Valid()) return true;
    const Status status = it.status();
    if (status.ok()) return true;
    verifier_.AddDamage(std::string(what) + " of shard " + std::to_string(shard_) + ": " +
                        std::string(status.message()));
    return false;
  }

  bool Any() const { return images_->Valid() || records_->Valid() || event_ != events_end_; }

  Status VerifySmallest() {
    std::string key;
    const auto take_smaller = [&](std::string_view candidate) {
      if (key.empty() || candidate < key) key = candidate;
    };
    if (images_->Valid()) take_smaller(images_->key());
    if (records_->Valid()) take_smaller(records_->key());
    if (event_ != events_end_) take_smaller(event_->first);
    StoredEntity entity;
    const bool has_image = images_->Valid() && images_->key() == key;
    const bool has_record = records_->Valid() && records_->key() == key;
    const bool has_events = event_ != events_end_ && event_->first == key;
    if (has_image) entity.image = images_->value();
    if (has_record) entity.record = records_->value();
    if (has_events) entity.events = &event_->second;
    if (Status s = VerifyKey(key, false, &entity); !s.ok()) return s;
    if (has_image) images_->Next();
    if (has_record) records_->Next();
    if (has_events) ++event_;
    return {};
  }

  Status VerifyKey(const std::string& key, bool plain, StoredEntity* entity) {
    entity->key = key;
    if (!ParseEntityStoreKey(key, &entity->shard, &entity->etype, &entity->eid) ||
        entity->shard != shard_ || entity->etype.empty() != plain) {
      verifier_.AddDamage("shard " + std::to_string(shard_) + " has the malformed key " +
                          Escaped(key));
      return {};
    }
    return verifier_.Verify(*entity, tail_);
  }

  const uint32_t shard_;
  const VerifyTail& tail_;
  EntityVerifier& verifier_;
  const std::unique_ptr<StoreIterator> images_;
  const std::unique_ptr<StoreIterator> records_;
  const std::unique_ptr<StoreIterator> plain_;
  VerifyTail::ByEntity::const_iterator event_;
  const VerifyTail::ByEntity::const_iterator events_end_;
};

Result<DatabaseRecord> ReadDatabase(Store* store) {
  std::string value;
  bool found = false;
  if (Status s = store->Get(ColumnFamily::kMeta, kDatabaseKey, &value, &found); !s.ok()) {
    return Fail(std::move(s));
  }
  if (!found) return Fail(StatusCode::kCorruption, "the directory has no database record");
  return DecodeDatabaseRecord(value);
}

}  // namespace

Result<VerifyReport> VerifyStore(Store* store, const VerifyProgress& progress) {
  const Result<DatabaseRecord> database = ReadDatabase(store);
  if (!database) return Fail(database.error());
  const Result<Schema> schema = Schema::Decode(database->schema);
  if (!schema) return Fail(schema.error());
  VerifyReport report;
  EntityVerifier verifier(store, &*schema, Catalog::TextSeed(database->placement_seed), &report);
  const uint32_t shards_per_partition = database->shards / database->partitions;
  for (uint32_t partition = 0; partition < database->partitions; ++partition) {
    const Result<VerifyTail> tail = VerifyTail::Read(store, *database, partition);
    if (!tail) {
      if (tail.error().code() != StatusCode::kCorruption) return Fail(tail.error());
      verifier.AddDamage("partition " + std::to_string(partition) +
                         " cannot be compared: " + std::string(tail.error().message()));
      continue;
    }
    report.tail_events += tail->events();
    for (uint32_t i = 0; i < shards_per_partition; ++i) {
      const uint32_t shard = partition * shards_per_partition + i;
      if (Status s = ShardWalk(store, shard, *tail, &verifier).Run(); !s.ok()) {
        return Fail(std::move(s));
      }
      if (progress) progress((shard + 1.0) / database->shards, report);
    }
  }
  return report;
}

Result<VerifyReport> VerifyDirectory(const std::string& dir, const VerifyProgress& progress) {
  const auto lock = LockDirectory(nullptr, dir, /*create=*/false);
  if (!lock) return Fail(lock.error());
  RocksStoreOptions options;
  options.dir = dir + "/rocksdb";
  options.create_if_missing = false;
  const auto store = OpenRocksStore(options, Log(nullptr));
  if (!store) return Fail(store.error());
  return VerifyStore(store->get(), progress);
}

}  // namespace tallystick
