#include "engine/recovery/entity_loader.h"

#include "engine/base/assert.h"
#include "engine/counts/fold.h"
#include "engine/facts/entity_image.h"
#include "engine/recovery/journal_reader.h"
#include "engine/recovery/replay.h"
#include "engine/recovery/tail.h"
#include "engine/storage/key_codec.h"

#include <algorithm>
#include <optional>

namespace tallystick {

struct EntityLoader::Pieces {
  FactState facts;
  bool image_found = false;
  uint64_t image_sequence = 0;
  std::optional<CountRecord> record;
  Status image_status;  // kCorruption: the stored image is damaged
  bool record_damaged = false;
  bool rebuilt = false;  // facts came from the whole journal
  bool heal_record = false;
  uint64_t last_sequence = 0;
};

std::string EntityLoader::Describe(const Entity& entity) const {
  const std::string& etype = state_->catalog.etype(entity.etype()).name;
  return etype.empty() ? "key " + Escaped(entity.eid())
                       : "entity " + etype + ":" + Escaped(entity.eid());
}

void Settle(const EngineState& state, Shard& shard, Entity* entity) {
  if (entity->residency() != Residency::kResident) return;
  if (const Activity* activity = entity->activity()) {
    if (!activity->clean() || activity->bucket.is_open()) return;
    // In mode always, readers of its last change wait until that is durable.
    const std::atomic<uint64_t>& reached =
        state.durability == Durability::kAlways ? shard.durable_sequence : shard.journaled_sequence;
    if (activity->last_sequence > reached.load(std::memory_order_relaxed)) return;
    if (activity->tail == nullptr) Activity::Drop(*entity);
  }
  if (!entity->Blank()) return;
  const PlainState* plain = entity->plain();
  if (plain != nullptr && !plain->orphan_chunks.empty()) return;
  TALLY_DCHECK(plain == nullptr || plain->expire_at_ms == 0);
  shard.table.Erase(entity);
}

Status EntityLoader::Ensure(Shard& shard, const EtypeInfo& etype, uint64_t hash, const Eid& eid) {
  for (;;) {
    Entity* entity = shard.table.Find(hash, etype.id, eid);
    if (entity == nullptr) {
      if (shard.index_complete) return Status();
      entity = shard.table.Insert(OnDiskEntity(state_->ShardOf(hash), etype, hash, eid));
    }
    if (entity->residency() == Residency::kResident) return Status();
    if (entity->residency() == Residency::kLoading) {
      shard.loaded.Wait(shard.mutex);
      continue;  // it may have been erased
    }
    return EnsureResident(shard, entity);
  }
}

Status EntityLoader::EnsureResident(Shard& shard, Entity* entity) {
  while (entity->residency() == Residency::kLoading) {
    const EntityHold hold(entity);
    shard.loaded.Wait(shard.mutex);
  }
  if (entity->residency() == Residency::kResident) return Status();
  if (entity->residency() == Residency::kDamaged) {
    return Status::Error(StatusCode::kCorruption, Describe(*entity) + " is damaged on disk");
  }
  return Load(shard, entity);
}

Status EntityLoader::Load(Shard& shard, Entity* entity) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  Activity& activity = Activity::Of(*entity);
  TALLY_ASSERT(entity->residency() == Residency::kOnDisk && activity.pins == 0);
  const EtypeInfo& etype = state_->catalog.etype(entity->etype());
  entity->set_residency(Residency::kLoading);
  ++activity.holds;
  std::unique_ptr<std::string> tail = std::move(activity.tail);
  const std::vector<TailEvent> events =
      tail != nullptr ? UnpackTail(*tail) : std::vector<TailEvent>();
  Pieces pieces;
  Status status;
  for (;;) {
    const uint64_t wipe_sequence = shard.wipe_sequence;
    shard.mutex.Unlock();
    pieces = Pieces();
    status = ReadPieces(*entity, wipe_sequence, &pieces);
    if (status.ok() && pieces.image_status.ok()) {
      pieces.image_status =
          ApplyTail(*entity, events, std::max(pieces.image_sequence, wipe_sequence), &pieces);
      if (pieces.image_status.code() == StatusCode::kIoError) status = pieces.image_status;
    }
    if (status.ok() && !pieces.image_status.ok()) {
      status = HealFromJournal(*entity, std::string(pieces.image_status.message()), wipe_sequence,
                               &pieces);
    }
    if (status.ok()) {
      Reconcile(etype, events, wipe_sequence, &pieces);
      if (pieces.heal_record && !pieces.image_found && !pieces.rebuilt && pieces.record) {
        // A record without an image whose events are not in the tail: the image has vanished.
        status = HealFromJournal(*entity, "its image is missing", wipe_sequence, &pieces);
        if (status.ok()) Reconcile(etype, events, wipe_sequence, &pieces);
      }
    }
    shard.mutex.Lock();
    if (wipe_sequence == shard.wipe_sequence) break;  // else everything older was wiped meanwhile
  }
  --activity.holds;
  shard.loaded.NotifyAll();
  if (!status.ok()) {
    activity.tail = std::move(tail);
    if (status.code() != StatusCode::kCorruption) {
      entity->set_residency(Residency::kOnDisk);  // an I/O error may pass
      return status;
    }
    entity->set_residency(Residency::kDamaged);
    state_->counters.corrupt_entities.fetch_add(1, std::memory_order_relaxed);
    state_->log.Error(Describe(*entity) + " is refused: " + std::string(status.message()));
    return Status::Error(StatusCode::kCorruption, Describe(*entity) + " is damaged on disk");
  }
  entity->set_residency(Residency::kResident);
  entity->Adopt(std::move(pieces.facts));
  activity.snapshot_sequence = pieces.rebuilt ? 0 : pieces.image_sequence;
  activity.last_sequence = std::max(activity.last_sequence, pieces.last_sequence);
  entity->set_stored(pieces.image_found || pieces.record.has_value() || pieces.record_damaged);
  if (PlainState* plain = entity->plain(); plain != nullptr && plain->expire_at_ms != 0) {
    plain->indexed_expiry_ms = plain->expire_at_ms;
    shard.expiries.emplace(plain->expire_at_ms, entity);
  }
  Partition& p = state_->PartitionOf(entity->shard());
  const bool heal_record = (pieces.rebuilt || pieces.heal_record) && !etype.slots->empty();
  if (pieces.rebuilt || heal_record) {
    state_->counters.counts_healed.fetch_add(1, std::memory_order_relaxed);
    activity.record_healed = heal_record;
    activity.in_record_queue = activity.in_record_queue || heal_record;
    activity.in_snapshot_queue = activity.in_snapshot_queue || pieces.rebuilt;
    MutexLock lock(p.heal_mutex);
    p.heal_queue.push_back(HealItem{entity, heal_record, pieces.rebuilt});
  }
  if (activity.in_record_queue) {
    // The stored record lags behind: the bucket says by how much (record + pending = facts).
    OpenBucket(etype, *entity, activity.last_sequence);
    OpenAllSlots(etype, *entity);
    activity.bucket.ForEach([&](uint8_t slot, SlotSums& sums) {
      sums.recorded = pieces.record ? pieces.record->values[slot] : 0;
    });
  }
  if (entity->stored() && entity->Blank()) {
    MutexLock lock(p.tombstone_mutex);
    p.tombstones.push_back(Tombstone{entity->etype(), entity->hash(),
                                     p.journaled_offset.load(std::memory_order_acquire),
                                     std::string(entity->eid().view())});
  }
  return Status();
}

Status EntityLoader::ReadPieces(const Entity& entity, uint64_t wipe_sequence, Pieces* pieces) {
  const EtypeInfo& etype = state_->catalog.etype(entity.etype());
  const std::string key = EntityStoreKey(entity.shard(), etype.name, entity.eid());
  const bool plain = etype.id == kPlainEtype;
  std::string value;
  bool found = false;
  Status status =
      state_->store->Get(plain ? ColumnFamily::kKv : ColumnFamily::kSets, key, &value, &found);
  if (status.code() == StatusCode::kCorruption) {
    pieces->image_status = status;
  } else if (!status.ok()) {
    return status;
  }
  EntityImage image;
  if (found && pieces->image_status.ok())
    pieces->image_status = DecodeEntityImage(key, value, &image);
  if (pieces->image_status.code() == StatusCode::kUnsupportedFormat) return pieces->image_status;
  if (found && pieces->image_status.ok() && image.sequence > wipe_sequence) {
    pieces->image_found = true;
    pieces->image_sequence = image.sequence;
    for (const EntityImage::Set& set : image.sets) {
      const auto metric = state_->catalog.AddMetric(set.metric);
      MetricSet loaded(metric.value_or(kNoMetric));
      if (!metric || !FactSet::DecodeHeader(set.header, &loaded.set)) {
        pieces->image_status = Status::Error(StatusCode::kCorruption, "a set's image is malformed");
        break;
      }
      loaded.set_labels(set.labels);
      pieces->facts.sets.push_back(std::move(loaded));
    }
    for (const EntityImage::CounterPart& part : image.counter_parts) {
      if (const auto name = state_->catalog.AddMetric(part.slot)) {
        pieces->facts.counters.push_back(CounterPart{*name, part.value});
      }
    }
    if (image.plain != PlainType::kNone) {
      pieces->facts.plain = std::make_unique<PlainState>();
      pieces->facts.plain->type = image.plain;
      pieces->facts.plain->expire_at_ms = image.expire_at_ms;
      pieces->facts.plain->bits_bytes = image.plain_bytes;
      pieces->facts.plain->value = std::string(image.plain_value);
      if (!image.texts.empty() && pieces->image_status.ok()) {
        pieces->image_status = ReadTexts(entity, image.texts, pieces);
        if (pieces->image_status.code() == StatusCode::kIoError) return pieces->image_status;
      }
    }
  }
  if (etype.slots->empty()) return Status();
  status = state_->store->Get(ColumnFamily::kCounts, key, &value, &found);
  if (status.code() == StatusCode::kCorruption) {
    pieces->record_damaged = true;
    return Status();
  }
  if (!status.ok() || !found) return status;
  auto record = DecodeCountRecord(key, value, static_cast<uint32_t>(etype.slots->size()));
  if (!record) {
    if (record.error().code() == StatusCode::kUnsupportedFormat) return record.error();
    state_->log.Warn(Describe(entity) + ": its count record is damaged (" +
                     std::string(record.error().message()) + "); counts are taken from facts");
    pieces->record_damaged = true;
  } else if (record->sequence > wipe_sequence) {
    pieces->record = *record;
  }
  return Status();
}

Status EntityLoader::ReadTexts(const Entity& entity, std::string_view header, Pieces* pieces) {
  auto texts = std::make_unique<TextSet>(state_->catalog.text_seed());
  if (!TextSet::DecodeHeader(header, state_->catalog.text_seed(), texts.get())) {
    return Status::Error(StatusCode::kCorruption, "the directory of its texts is malformed");
  }
  std::string value;
  for (const uint64_t page : texts->PagesToInstall()) {
    std::string_view image;
    uint64_t sequence = 0;
    if (Status s = ReadChunk(entity, kTextMetric, page, &value, &image, &sequence); !s.ok())
      return s;
    if (!texts->InstallPage(page, image)) {
      return Status::Error(StatusCode::kCorruption,
                           "page " + std::to_string(page) + " of its texts is malformed");
    }
  }
  pieces->facts.plain->texts = std::move(texts);
  return Status();
}

Status EntityLoader::ApplyTail(const Entity& entity, const std::vector<TailEvent>& tail,
                               uint64_t after, Pieces* pieces) {
  const EtypeInfo& etype = state_->catalog.etype(entity.etype());
  const auto fetch = [&](MetricSet& set, uint64_t chunk) -> Status {
    std::string value;
    std::string_view image;
    uint64_t sequence = 0;
    if (Status s = ReadChunk(entity, set.metric, chunk, &value, &image, &sequence); !s.ok())
      return s;
    if (!set.set.InstallChunk(chunk, image)) {
      return Status::Error(StatusCode::kCorruption,
                           "chunk " + std::to_string(chunk) + " is malformed");
    }
    return Status();
  };
  pieces->last_sequence = std::max(pieces->last_sequence, after);
  if (!tail.empty()) pieces->last_sequence = std::max(pieces->last_sequence, tail.back().sequence);
  return tallystick::ApplyTail(state_->catalog, etype, tail, after, fetch, &pieces->facts);
}

void EntityLoader::Reconcile(const EtypeInfo& etype, const std::vector<TailEvent>& tail,
                             uint64_t wipe_sequence, Pieces* pieces) {
  if (etype.slots->empty()) return;
  SlotSums folded[kSlotsMax], facts[kSlotsMax];
  uint64_t after = wipe_sequence;
  if (pieces->record) {
    after = std::max(after, pieces->record->sequence);
    pieces->last_sequence = std::max(pieces->last_sequence, pieces->record->sequence);
    for (uint32_t i = 0; i < pieces->record->slots; ++i) {
      folded[i].value = pieces->record->values[i];
      folded[i].counter_part = pieces->record->counter_parts[i];
    }
  }
  bool equal = true;
  for (const TailEvent& event : tail) {
    if (event.sequence <= after) continue;
    const FoldInput input{event.kind, event.metric, event.sequence, event.delta,
                          event.payload_view()};
    equal = FoldInto(etype, state_->catalog, input, folded) && equal;
  }
  Entity borrowed(0, 0, etype.id, Eid("0"));
  borrowed.Adopt(std::move(pieces->facts));
  SumsFromFacts(etype, borrowed, facts);
  pieces->facts = borrowed.Release();
  for (size_t i = 0; i < etype.slots->size(); ++i) {
    equal = equal && folded[i].value == facts[i].value &&
            folded[i].counter_part == facts[i].counter_part;
  }
  pieces->heal_record = !equal || pieces->record_damaged;
}

Status EntityLoader::HealFromJournal(const Entity& entity, const std::string& what,
                                     uint64_t wipe_sequence, Pieces* pieces) {
  const EtypeInfo& etype = state_->catalog.etype(entity.etype());
  const uint32_t partition = state_->PartitionOf(entity.shard()).index;
  const EidText eid = entity.eid();
  const Status damaged = Status::Error(StatusCode::kCorruption, what);
  const auto begin = JournalBegin(state_->store.get(), partition);
  if (!begin || !*begin || **begin != 0)
    return damaged;  // it was trimmed: history has a beginning no more
  std::vector<TailEvent> history;
  const Status read =
      ReadJournal(state_->store.get(), partition, 0,
                  [&](const BatchHeader&, const std::vector<JournalEvent>& events) -> Status {
                    for (const JournalEvent& event : events) {
                      if (event.eid != eid.view() || event.etype != etype.name) continue;
                      Status s = AppendTail(&state_->catalog, {&event, 1}, &history);
                      if (!s.ok()) return s;
                    }
                    return Status();
                  });
  if (!read.ok()) return damaged;
  pieces->facts = FactState();
  pieces->image_sequence = 0;
  const Status applied = ApplyTail(entity, history, wipe_sequence, pieces);
  if (!applied.ok()) return damaged;
  pieces->rebuilt = true;
  pieces->image_status = Status();
  state_->log.Warn(Describe(entity) + " was rebuilt from the journal: " + what);
  return Status();
}

Status EntityLoader::ReadChunk(const Entity& entity, uint8_t metric, uint64_t chunk,
                               std::string* value, std::string_view* image, uint64_t* sequence) {
  const EtypeInfo& etype = state_->catalog.etype(entity.etype());
  const std::string key = ChunkStoreKey(entity.shard(), etype.name, entity.eid(),
                                        state_->catalog.metric(metric), chunk);
  bool found = false;
  if (Status s = state_->store->Get(ColumnFamily::kSnapshots, key, value, &found); !s.ok())
    return s;
  if (!found) {
    return Status::Error(StatusCode::kCorruption, "chunk " + std::to_string(chunk) + " is missing");
  }
  return OpenChunkRecord(key, *value, sequence, image);
}

Status EntityLoader::EnsureChunk(Shard& shard, Entity* entity, uint8_t metric,
                                 uint64_t chunk) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  TALLY_ASSERT(entity->residency() == Residency::kResident);
  const EntityHold hold(entity);
  const uint64_t wipe_sequence = shard.wipe_sequence;
  shard.mutex.Unlock();
  std::string value;
  std::string_view image;
  uint64_t sequence = 0;
  Status status = ReadChunk(*entity, metric, chunk, &value, &image, &sequence);
  shard.mutex.Lock();
  MetricSet* set = entity->FindSet(metric);
  // Another thread may have brought it, or removed the set, meanwhile: the caller looks again.
  if (set == nullptr || !set->set.IsAbsent(chunk) || wipe_sequence != shard.wipe_sequence)
    return Status();
  if (status.ok() && !set->set.InstallChunk(chunk, image)) {
    status =
        Status::Error(StatusCode::kCorruption, "chunk " + std::to_string(chunk) + " is malformed");
  }
  if (status.ok()) return status;
  state_->log.Error(Describe(*entity) + ": " + std::string(status.message()));
  return Status::Error(status.code(), Describe(*entity) + ": " + std::string(status.message()));
}

}  // namespace tallystick
