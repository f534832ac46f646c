#include "engine/recovery/replay.h"

#include "engine/base/assert.h"
#include "engine/base/fault_point.h"
#include "engine/recovery/journal_reader.h"
#include "engine/recovery/tail.h"
#include "engine/storage/key_codec.h"

namespace tallystick {
namespace {

constexpr size_t kIndexSlice = 1024;  // names put into a table under one hold of its mutex

}  // namespace

std::unique_ptr<Entity> OnDiskEntity(uint32_t shard, const EtypeInfo& etype, uint64_t hash,
                                     const Eid& eid) {
  auto entity = std::make_unique<Entity>(hash, shard, etype.id, eid);
  entity->set_residency(Residency::kOnDisk);
  entity->set_stored(true);
  return entity;
}

Status Replay::Run(Partition& p) {
  MutexLock lock(p.consumer);
  switch (p.replay.load(std::memory_order_acquire)) {
    case ReplayState::kReady:
      return Status();
    case ReplayState::kDamaged:
      return p.replay_error;
    case ReplayState::kPending:
      break;
  }
  const uint64_t started_us = state_->clock->MonotonicUs();
  Status status = ReadTail(p);
  static_cast<void>(TALLY_FAULT_POINT("recovery.after_partition"));
  if (!status.ok()) {
    p.replay_error =
        Status::Error(StatusCode::kCorruption, "partition " + std::to_string(p.index) +
                                                   " is refused: " + std::string(status.message()));
    state_->log.Error(std::string(p.replay_error.message()));
    p.replay.store(ReplayState::kDamaged, std::memory_order_release);
    return p.replay_error;
  }
  state_->counters.recovery_us.fetch_add(state_->clock->MonotonicUs() - started_us,
                                         std::memory_order_relaxed);
  p.replay.store(ReplayState::kReady, std::memory_order_release);
  return Status();
}

Status Replay::ReadTail(Partition& p) {
  const CheckpointRecord& checkpoint = checkpoints_[p.index];
  for (uint32_t i = 0; i < p.shard_count; ++i) {
    p.consumed_sequence[i] = checkpoint.shard_sequences.empty() ? 0 : checkpoint.shard_sequences[i];
    Shard& shard = state_->shard(p.first_shard + i);
    MutexLock lock(shard.mutex);
    shard.wipe_sequence = checkpoint.wipe_sequences.empty() ? 0 : checkpoint.wipe_sequences[i];
  }
  std::vector<bool> seen(p.shard_count, false);
  uint64_t end = checkpoint.offset;
  // Without a tail the journal is not even looked at: damage in what is only retained refuses
  // nothing.
  if (end != p.next_offset) {
    const auto take = [&](const BatchHeader& header, const std::vector<JournalEvent>& events)
                          TALLY_NO_THREAD_SAFETY_ANALYSIS {
                            end = header.end_offset();
                            return TakeBatch(p, header, events, &seen);
                          };
    if (Status s = ReadJournal(state_->store.get(), p.index, checkpoint.offset, take); !s.ok())
      return s;
  }
  if (end != p.next_offset) {
    return Status::Error(StatusCode::kCorruption, "the journal ends at offset " +
                                                      std::to_string(end) + " instead of " +
                                                      std::to_string(p.next_offset));
  }
  for (uint32_t i = 0; i < p.shard_count; ++i) {
    const uint64_t floor = checkpoint.shard_sequences.empty() ? 0 : checkpoint.shard_sequences[i];
    if (p.consumed_sequence[i] < floor) {
      return Status::Error(StatusCode::kCorruption, "shard " + std::to_string(p.first_shard + i) +
                                                        " ends before its checkpoint");
    }
    Shard& shard = state_->shard(p.first_shard + i);
    MutexLock lock(shard.mutex);
    shard.sequence = p.consumed_sequence[i];
    // Opening has fsynced all that was recovered.
    shard.journaled_sequence.store(shard.sequence, std::memory_order_release);
    shard.durable_sequence.store(shard.sequence, std::memory_order_release);
  }
  return Status();
}

Status Replay::TakeBatch(Partition& p, const BatchHeader& header,
                         const std::vector<JournalEvent>& events, std::vector<bool>* seen) {
  const auto same_entity = [](const JournalEvent& a, const JournalEvent& b) {
    // A batch holds each name once, so equal names are the same bytes.
    return a.shard == b.shard && a.eid.data() == b.eid.data() && a.eid.size() == b.eid.size() &&
           a.etype == b.etype && a.kind != EventKind::kWipe && b.kind != EventKind::kWipe;
  };
  size_t run_begin = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    const JournalEvent& event = events[i];
    const uint32_t local = event.shard - p.first_shard;
    if (event.shard < p.first_shard || local >= p.shard_count) {
      return Status::Error(StatusCode::kCorruption, "a journal event of another partition's shard");
    }
    // The checkpoint's sequences may be newer than its offset; from the first event on, no gap.
    uint64_t& last = p.consumed_sequence[local];
    const bool contiguous =
        (*seen)[local] ? event.sequence == last + 1 : event.sequence <= last + 1;
    if (!contiguous) {
      return Status::Error(StatusCode::kCorruption,
                           "a gap in shard " + std::to_string(event.shard) + " before sequence " +
                               std::to_string(event.sequence));
    }
    (*seen)[local] = true;
    last = event.sequence;
    if (i + 1 < events.size() && same_entity(event, events[i + 1])) continue;
    const std::span<const JournalEvent> run(&events[run_begin], i + 1 - run_begin);
    if (Status s = AddRun(p, run, header.first_offset + run_begin); !s.ok()) return s;
    run_begin = i + 1;
  }
  state_->counters.recovered_events.fetch_add(header.events, std::memory_order_relaxed);
  return Status();
}

Result<Entity*> Replay::EntityOf(Shard& shard, const JournalEvent& event) {
  if (!event.etype.empty() && !Catalog::ValidName(event.etype)) {
    return Fail(StatusCode::kCorruption, "the journal names an impossible entity type");
  }
  const EtypeInfo* etype = state_->catalog.AddEtype(event.etype);
  if (etype == nullptr) return Fail(StatusCode::kCorruption, "too many entity types");
  const uint64_t hash = Catalog::HashEntity(*etype, event.eid);
  if (state_->ShardOf(hash) != event.shard) {
    return Fail(StatusCode::kCorruption, "a journal event lies in the wrong shard");
  }
  const Eid eid(event.eid);
  Entity* entity = shard.table.Find(hash, etype->id, eid);
  if (entity == nullptr) {
    entity = shard.table.Insert(OnDiskEntity(event.shard, *etype, hash, eid));
  }
  TALLY_ASSERT(entity->residency() == Residency::kOnDisk);
  return entity;
}

Status Replay::AddRun(Partition& p, std::span<const JournalEvent> run, uint64_t first_offset) {
  const JournalEvent& first = run.front();
  Shard& shard = state_->shard(first.shard);
  MutexLock lock(shard.mutex);
  if (first.kind == EventKind::kWipe) {
    shard.wipe_sequence = first.sequence;
    shard.table.ForEach([](Entity* e) {
      if (Activity* activity = e->activity()) activity->tail = nullptr;
    });
    return Status();
  }
  const auto found = EntityOf(shard, first);
  if (!found) return found.error();
  Entity* entity = *found;
  Activity& activity = Activity::Of(*entity);
  static thread_local std::vector<TailEvent> tail;  // keeps its memory from run to run
  tail.clear();
  if (Status s = AppendTail(&state_->catalog, run, &tail); !s.ok()) return s;
  const uint64_t packed_up_to = activity.tail == nullptr ? 0 : activity.last_sequence;
  if (activity.tail == nullptr) activity.tail = std::make_unique<std::string>();
  PackTail(tail, packed_up_to, activity.tail.get());
  activity.last_sequence = run.back().sequence;
  if (!activity.in_record_queue && !state_->catalog.etype(entity->etype()).slots->empty()) {
    activity.in_record_queue = true;
    p.record_queue.push_back(DirtyItem{entity, first_offset});
  }
  if (!activity.in_snapshot_queue) {
    activity.in_snapshot_queue = true;
    p.snapshot_queue.push_back(DirtyItem{entity, first_offset});
  }
  return Status();
}

Status Replay::AddNames(uint32_t shard_index, const std::vector<std::string>& keys) {
  Shard& shard = state_->shard(shard_index);
  MutexLock lock(shard.mutex);
  for (const std::string& key : keys) {
    uint32_t key_shard = 0;
    std::string_view etype_name, eid;
    if (!ParseEntityStoreKey(key, &key_shard, &etype_name, &eid)) {
      return Status::Error(StatusCode::kCorruption, "a stored key is malformed");
    }
    const EtypeInfo* etype = state_->catalog.AddEtype(etype_name);
    if (etype == nullptr) return Status::Error(StatusCode::kCorruption, "too many entity types");
    const uint64_t hash = Catalog::HashEntity(*etype, eid);
    const Eid parsed(eid);
    if (shard.table.Find(hash, etype->id, parsed) != nullptr) continue;
    shard.table.Insert(OnDiskEntity(shard_index, *etype, hash, parsed));
  }
  return Status();
}

Status Replay::IndexShard(uint32_t shard_index) {
  Shard& shard = state_->shard(shard_index);
  {
    MutexLock lock(shard.mutex);
    if (shard.index_complete) return Status();
  }
  if (Status s = Ensure(state_->PartitionOf(shard_index)); !s.ok()) return s;
  const std::string lower = ShardPrefix(shard_index), upper = ShardPrefixEnd(shard_index);
  for (const ColumnFamily cf : {ColumnFamily::kSets, ColumnFamily::kKv, ColumnFamily::kCounts}) {
    const auto it = state_->store->NewIterator(cf, lower, upper);
    it->Seek(lower);
    std::vector<std::string> keys;
    while (it->Valid()) {
      keys.clear();
      for (; keys.size() < kIndexSlice && it->Valid(); it->Next()) keys.emplace_back(it->key());
      if (Status s = AddNames(shard_index, keys); !s.ok()) return s;
    }
    if (Status s = it->status(); !s.ok()) {
      if (!damage_logged_.exchange(true)) {
        state_->log.Error("the index of shard " + std::to_string(shard_index) +
                          " and perhaps others cannot be read: " + std::string(s.message()));
      }
      // Records only add names whose image is missing; those are looked up one by one.
      if (cf == ColumnFamily::kCounts) continue;
      return s;
    }
  }
  MutexLock lock(shard.mutex);
  if (!shard.index_complete) {
    shard.index_complete = true;
    state_->shards_indexed.fetch_add(1);
  }
  return Status();
}

}  // namespace tallystick
