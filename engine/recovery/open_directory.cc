#include "engine/recovery/open_directory.h"

#include "engine/base/names.h"
#include "engine/recovery/journal_reader.h"
#include "engine/storage/rocks_store.h"

#include <algorithm>
#include <bit>

namespace tallystick {
namespace {

constexpr uint32_t kShardsDefault = 256;
constexpr uint32_t kShardsMax = 4096;
constexpr uint32_t kPartitionsDefault = 16;

Failure Invalid(std::string message) {
  return Fail(StatusCode::kInvalidArgument, std::move(message));
}

Status CheckOptions(const Options& o) {
  const auto bad = [](std::string message) {
    return Status::Error(StatusCode::kInvalidArgument, std::move(message));
  };
  if (o.dir.empty()) return bad("dir is empty");
  if (o.shards != 0 && (o.shards > kShardsMax || !std::has_single_bit(o.shards))) {
    return bad("shards must be a power of two, 1 to 4096");
  }
  if (o.partitions != 0 && (o.partitions > (o.shards == 0 ? kShardsDefault : o.shards) ||
                            !std::has_single_bit(o.partitions))) {
    return bad("partitions must be a power of two, 1 to the number of shards");
  }
  // Two places at least: an expired key that is written anew makes two events.
  if (o.ring_events_per_shard < 2 || o.ring_events_per_shard > 32768) {
    return bad("ring_events_per_shard must be 2 to 32768");
  }
  if (o.busy_timeout_ms < 0 || o.busy_timeout_ms > 3'600'000)
    return bad("busy_timeout_ms must be 0 to 3600000");
  if (o.flush_interval_ms < 1 || o.flush_interval_ms > 3'600'000) {
    return bad("flush_interval_ms must be 1 to 3600000");
  }
  if (o.flush_threshold_events < 1) return bad("flush_threshold_events must be at least 1");
  if (o.checkpoint_interval_ms < 1 || o.checkpoint_interval_ms > 3'600'000) {
    return bad("checkpoint_interval_ms must be 1 to 3600000");
  }
  for (size_t i = 0; i < o.ids.size(); ++i) {
    const IdNamespaceSpec& spec = o.ids[i];
    if ((spec.etype != "*" && !IsName(spec.etype)) || !IsName(spec.name)) {
      return bad("entity types and namespaces of ids are 1 to 64 of A-Z a-z 0-9 _ -");
    }
    for (size_t j = 0; j < i; ++j) {
      if (o.ids[j].etype == spec.etype) {
        return bad("entity type " + spec.etype + " has two namespaces of ids");
      }
    }
  }
  if (o.aggregator_threads > 1024) return bad("aggregator_threads must be at most 1024");
  return Status();
}

std::vector<IdNamespaceSpec> InOrder(std::vector<IdNamespaceSpec> specs) {
  std::sort(specs.begin(), specs.end(),
            [](const IdNamespaceSpec& a, const IdNamespaceSpec& b) { return a.etype < b.etype; });
  return specs;
}

Status OpenIds(const Options& options, OpenedDirectory* d) {
  std::string value;
  bool found = false;
  std::vector<IdNamespaceSpec> specs;
  if (Status s = d->store->Get(ColumnFamily::kMeta, kIdNamespacesKey, &value, &found); !s.ok())
    return s;
  if (found) {
    auto decoded = DecodeIdNamespaces(value);
    if (!decoded) return decoded.error();
    specs = std::move(*decoded);
  }
  if (!options.ids.empty() && InOrder(options.ids) != specs) {
    return Status::Error(
        StatusCode::kInvalidArgument,
        "which entity types have ids in a dictionary is fixed at creation and the directory has "
        "others: use the configuration that it was created with, or a new directory");
  }
  d->ids = std::make_unique<IdDictionaries>();
  return d->ids->Open(specs, d->database.placement_seed, d->store.get());
}

// A directory that holds nothing yet. The watermark comes first: it then says that the rest is new.
Status Create(const Options& options, Clock* clock, Random* random, OpenedDirectory* d) {
  auto schema = Schema::Make(options.schema.types.empty() ? SchemaSpec::Default() : options.schema);
  if (!schema) return schema.error();
  d->database.database_id_high = random->Next();
  d->database.database_id_low = random->Next();
  d->database.created_ms = clock->WallMs();
  d->database.shards = options.shards == 0 ? kShardsDefault : options.shards;
  d->database.partitions = options.partitions == 0
                               ? std::min(kPartitionsDefault, d->database.shards)
                               : options.partitions;
  d->database.placement_seed = random->Next();
  d->database.schema = schema->Encode();
  d->schema = std::make_unique<Schema>(std::move(*schema));
  WatermarkState mark;
  mark.database_id_high = d->database.database_id_high;
  mark.database_id_low = d->database.database_id_low;
  mark.serial = ++d->watermark_serial;
  mark.durable_offsets.assign(d->database.partitions, 0);
  if (Status s = d->watermark->Write(mark, true); !s.ok()) return s;
  const auto batch = d->store->NewBatch();
  batch->Put(ColumnFamily::kMeta, kDatabaseKey, EncodeDatabaseRecord(d->database));
  if (!options.ids.empty()) {
    batch->Put(ColumnFamily::kMeta, kIdNamespacesKey, EncodeIdNamespaces(InOrder(options.ids)));
  }
  return d->store->Write(batch.get());
}

Status CheckAgainst(const Options& options, const OpenedDirectory& d) {
  const auto differs = [](const std::string& what, uint32_t has, uint32_t asked) {
    return Status::Error(StatusCode::kInvalidArgument,
                         what + " is fixed at creation: the directory has " + std::to_string(has) +
                             ", " + std::to_string(asked) + " was asked for");
  };
  if (options.shards != 0 && options.shards != d.database.shards) {
    return differs("the number of shards", d.database.shards, options.shards);
  }
  if (options.partitions != 0 && options.partitions != d.database.partitions) {
    return differs("the number of partitions", d.database.partitions, options.partitions);
  }
  if (!options.schema.types.empty()) {
    auto asked = Schema::Make(options.schema);
    if (!asked) return asked.error();
    if (asked->Encode() != d.database.schema) {
      return Status::Error(
          StatusCode::kInvalidArgument,
          "the schema is fixed at creation and the directory has another one: use the "
          "configuration that it was created with, or a new directory");
    }
  }
  return Status();
}

std::string PartitionOffsets(uint32_t partition, uint64_t has, uint64_t durable) {
  return "partition " + std::to_string(partition) + " of the journal ends at offset " +
         std::to_string(has) + " but was durable to offset " + std::to_string(durable);
}

// What vanished since it was durable; OK when nothing did.
Status CheckWatermark(bool found, const WatermarkState& mark, const OpenedDirectory& d) {
  const auto loss = [](const std::string& what) {
    return Status::Error(
        StatusCode::kDataLoss,
        what + "; restore the missing files, or open with accept-loss to go on without");
  };
  if (!found)
    return loss("the file WATERMARK, which says how much journal was durable, is missing");
  if (mark.database_id_high != d.database.database_id_high ||
      mark.database_id_low != d.database.database_id_low) {
    return loss("the file WATERMARK belongs to another database");
  }
  if (mark.epoch > d.epoch) {
    return loss("the store is older than WATERMARK (opening " + std::to_string(d.epoch) + " of " +
                std::to_string(mark.epoch) + "): old files were put back");
  }
  for (uint32_t i = 0; i < d.database.partitions; ++i) {
    const uint64_t durable = i < mark.durable_offsets.size() ? mark.durable_offsets[i] : 0;
    if (d.journal_ends[i] < durable) return loss(PartitionOffsets(i, d.journal_ends[i], durable));
  }
  return Status();
}

Status ReadMeta(OpenedDirectory* d) {
  std::string value;
  bool found = false;
  if (Status s = d->store->Get(ColumnFamily::kMeta, kEpochKey, &value, &found); !s.ok()) return s;
  if (found) {
    const auto epoch = DecodeEpochRecord(value);
    if (!epoch) return epoch.error();
    d->epoch = *epoch;
  }
  for (uint32_t i = 0; i < d->database.partitions; ++i) {
    CheckpointRecord checkpoint;
    checkpoint.partition = i;
    if (Status s = d->store->Get(ColumnFamily::kMeta, CheckpointKey(i), &value, &found); !s.ok())
      return s;
    if (found) {
      auto decoded = DecodeCheckpointRecord(i, value);
      if (!decoded) return decoded.error();
      checkpoint = std::move(*decoded);
    }
    d->checkpoints.push_back(std::move(checkpoint));
    const auto end = JournalEnd(d->store.get(), i);
    const bool damaged = !end && end.error().code() == StatusCode::kCorruption;
    if (!end && !damaged) return end.error();
    d->journal_ends.push_back(damaged ? 0 : *end);
    d->journal_damage.push_back(damaged ? end.error() : Status());
  }
  return Status();
}

}  // namespace

Result<OpenedDirectory> OpenDirectory(const Options& options, Clock* clock, Random* random,
                                      std::shared_ptr<rocksdb::FileSystem> fs, const Log& log) {
  if (Status s = CheckOptions(options); !s.ok()) return Fail(std::move(s));
  OpenedDirectory d;
  auto lock = LockDirectory(fs, options.dir, options.create_if_missing);
  if (!lock) return Failure(lock.error());
  d.lock = std::move(*lock);
  bool mark_found = false;
  WatermarkState mark;
  auto watermark = Watermark::Open(fs, options.dir, &mark_found, &mark);
  if (!watermark) return Failure(watermark.error());
  d.watermark = std::move(*watermark);
  d.watermark_serial = mark.serial;
  RocksStoreOptions store_options;
  store_options.dir = options.dir + "/rocksdb";
  store_options.create_if_missing = options.create_if_missing;
  store_options.fs = fs;
  auto store = OpenRocksStore(store_options, log);
  if (!store) return Failure(store.error());
  d.store = std::move(*store);

  std::string value;
  bool database_found = false;
  if (Status s = d.store->Get(ColumnFamily::kMeta, kDatabaseKey, &value, &database_found);
      !s.ok()) {
    return Fail(std::move(s));
  }
  if (!database_found) {
    if (mark_found && mark.epoch > 0) {
      // Not even accept_loss can go on: everything that was fixed at creation is gone.
      return Fail(StatusCode::kDataLoss,
                  "the store is empty but WATERMARK says that it was in use: restore " +
                      store_options.dir + " or choose a new directory");
    }
    if (!options.create_if_missing) return Invalid(options.dir + " holds no database");
    if (Status s = Create(options, clock, random, &d); !s.ok()) return Fail(std::move(s));
    mark_found = true;
    mark.database_id_high = d.database.database_id_high;
    mark.database_id_low = d.database.database_id_low;
    mark.durable_offsets.assign(d.database.partitions, 0);
  } else {
    auto database = DecodeDatabaseRecord(value);
    if (!database) return Failure(database.error());
    d.database = std::move(*database);
    auto schema = Schema::Decode(d.database.schema);
    if (!schema) return Failure(schema.error());
    d.schema = std::make_unique<Schema>(std::move(*schema));
    if (Status s = CheckAgainst(options, d); !s.ok()) return Fail(std::move(s));
  }
  if (Status s = OpenIds(options, &d); !s.ok()) return Fail(std::move(s));
  if (Status s = ReadMeta(&d); !s.ok()) return Fail(std::move(s));
  for (uint32_t i = 0; i < d.database.partitions; ++i) {
    if (d.journal_damage[i].ok()) continue;
    // The checkpoint and the watermark still say where it ended. If nothing is between them,
    // nothing of it is needed to answer: only its history is gone.
    const uint64_t durable = i < mark.durable_offsets.size() ? mark.durable_offsets[i] : 0;
    d.journal_ends[i] = std::max(durable, d.checkpoints[i].offset);
    log.Error("the journal of partition " + std::to_string(i) +
              " is damaged: " + std::string(d.journal_damage[i].message()));
    if (d.checkpoints[i].offset == d.journal_ends[i]) d.journal_damage[i] = Status();
  }
  Status loss = CheckWatermark(mark_found, mark, d);
  for (uint32_t i = 0; loss.ok() && i < d.database.partitions; ++i) {
    if (d.checkpoints[i].offset > d.journal_ends[i]) {
      loss = Status::Error(StatusCode::kDataLoss,
                           PartitionOffsets(i, d.journal_ends[i], d.checkpoints[i].offset) +
                               " (its checkpoint); restore the missing files");
    }
  }
  if (!loss.ok()) {
    if (!options.accept_loss) return Fail(std::move(loss));
    log.Warn("loss accepted: " + std::string(loss.message()));
    d.loss_accepted = true;
    for (uint32_t i = 0; i < d.database.partitions; ++i) {
      d.journal_ends[i] = std::max(d.journal_ends[i], d.checkpoints[i].offset);
    }
  }
  d.epoch = std::max(d.epoch, mark.epoch) + 1;
  const auto batch = d.store->NewBatch();
  batch->Put(ColumnFamily::kMeta, kEpochKey, EncodeEpochRecord(d.epoch));
  if (Status s = d.store->Write(batch.get()); !s.ok()) return Fail(std::move(s));
  // What was recovered may be in the page cache only: from here on it is served, so it must be
  // durable.
  if (Status s = d.store->SyncWal(); !s.ok()) return Fail(std::move(s));
  mark.database_id_high = d.database.database_id_high;
  mark.database_id_low = d.database.database_id_low;
  mark.epoch = d.epoch;
  mark.serial = ++d.watermark_serial;
  mark.durable_offsets = d.journal_ends;
  if (Status s = d.watermark->Write(mark, true); !s.ok()) return Fail(std::move(s));
  return d;
}

}  // namespace tallystick
