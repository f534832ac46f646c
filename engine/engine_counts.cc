// EngineImpl: counts, their proof and their rebuild.
#include "engine/counts/fold.h"
#include "engine/engine_impl.h"
#include "engine/storage/key_codec.h"

#include <algorithm>

namespace tallystick {

Counts EngineImpl::CountsOf(const WritePath::Located& at) const {
  Counts counts;
  counts.slots = static_cast<uint32_t>(at.etype.slots->size());
  if (at.entity == nullptr) return counts;
  counts.values = RecordOf(at.etype, *at.entity, 0).values;
  Activity* activity = at.entity->activity();
  // What is in flight is sure to be folded: a reader sees its own writes in counts as in facts.
  if (activity != nullptr) {
    activity->bucket.ForEach(
        [&](uint8_t slot, SlotSums& sums) { counts.values[slot] += sums.in_flight; });
  }
  counts.sequence = LastSequence(*at.entity);
  const bool healed = activity != nullptr && activity->record_healed;
  const bool known = !at.entity->Blank() || OpenBucketOf(*at.entity) != nullptr;
  if (known) counts.source = healed ? CountSource::kFacts : CountSource::kRecord;
  return counts;
}

Result<Counts> EngineImpl::GetCounts(const EntityKey& entity, Ticket* ticket) {
  if (Status s = CheckEntityKey(entity); !s.ok()) return Fail(std::move(s));
  Counts counts;
  const Status status =
      write_path_.WithEntity(entity, false, 0, [&](WritePath::Located& at) -> WritePath::Need {
        counts = CountsOf(at);
        write_path_.NoteRead(at, ticket);
        return WritePath::Need::Done();
      });
  if (!status.ok()) return Fail(status);
  return counts;
}

Status EngineImpl::GetCounts(std::span<const EntityKey> entities, std::vector<Counts>* out,
                             Ticket* ticket) {
  out->clear();
  out->reserve(entities.size());
  for (const EntityKey& entity : entities) {
    auto counts = GetCounts(entity, ticket);
    if (!counts) return counts.error();
    out->push_back(*counts);
  }
  return Status();
}

Result<std::string> EngineImpl::GetRecord(const EntityKey& entity, Ticket* ticket) {
  const auto counts = GetCounts(entity, ticket);
  if (!counts) return Failure(counts.error());
  uint32_t clamped = 0;
  return EncodeSdsImage(Slots(entity.etype), counts->values, &clamped);
}

Result<int64_t> EngineImpl::AddToCounter(const EntityKey& entity, std::string_view slot,
                                         int64_t delta, const WriteOptions& options,
                                         Ticket* ticket) {
  Ticket own;
  auto value = write_path_.AddToCounter(entity, slot, delta, options.busy_timeout_ms, &own);
  if (!value) return value;
  if (Status s = Finish(options, own, ticket); !s.ok()) return Fail(std::move(s));
  return value;
}

const std::vector<SlotSpec>& EngineImpl::Slots(std::string_view etype) const {
  return state_.catalog.schema().Slots(etype);
}

Status EngineImpl::Sync(std::span<const EntityKey> entities, int32_t timeout_ms) {
  const uint64_t deadline =
      timeout_ms < 0 ? UINT64_MAX
                     : state_.clock->MonotonicUs() + static_cast<uint64_t>(timeout_ms) * 1000;
  std::vector<uint32_t> partitions;
  for (const EntityKey& key : entities) {
    if (Status s = CheckEntityKey(key); !s.ok()) return s;
    const EtypeInfo* etype = state_.catalog.AddEtype(key.etype);
    if (etype == nullptr)
      return Status::Error(StatusCode::kInvalidArgument, "too many entity types");
    partitions.push_back(
        state_.PartitionOf(state_.ShardOf(Catalog::HashEntity(*etype, key.eid))).index);
  }
  if (entities.empty()) {
    for (const auto& p : state_.partitions) partitions.push_back(p->index);
  }
  std::sort(partitions.begin(), partitions.end());
  partitions.erase(std::unique(partitions.begin(), partitions.end()), partitions.end());
  constexpr size_t kSlice = 1024;
  for (const uint32_t i : partitions) {
    Partition& p = *state_.partitions[i];
    if (Status s = replay_.Ensure(p); !s.ok()) return s;
    const uint32_t self[] = {i};
    if (Status s = committer_.Commit(self); !s.ok()) return s;
    size_t left = 0;
    {
      MutexLock lock(p.consumer);
      left = p.record_queue.size();  // what comes later is not waited for
    }
    while (left > 0) {
      if (state_.clock->MonotonicUs() >= deadline) {
        return Status::Error(StatusCode::kTimedOut, "the counts are not written yet");
      }
      const auto after = persister_.FlushRecords(p, std::min(left, kSlice));
      if (!after) return after.error();
      left -= std::min(left, kSlice);
    }
    // A flush that another thread began holds this lock until it is written.
    MutexLock persist(p.persist);
  }
  return state_.read_only() ? state_.ReadOnlyError() : Status();
}

Result<Verification> EngineImpl::Verify(const EntityKey& entity) {
  if (Status s = CheckEntityKey(entity); !s.ok()) return Fail(std::move(s));
  const EtypeInfo* etype = state_.catalog.AddEtype(entity.etype);
  if (etype == nullptr) return Fail(StatusCode::kInvalidArgument, "too many entity types");
  const uint32_t shard = state_.ShardOf(Catalog::HashEntity(*etype, entity.eid));
  Verification proof;
  Status damaged;
  // Holds records still: record and pending are then of one moment.
  MutexLock persist(state_.PartitionOf(shard).persist);
  const std::string key = EntityStoreKey(shard, entity.etype, entity.eid);
  std::string value;
  bool found = false;
  CountRecord record;
  if (Status s = state_.store->Get(ColumnFamily::kCounts, key, &value, &found); !s.ok())
    return Fail(std::move(s));
  if (found) {
    auto decoded = DecodeCountRecord(key, value, static_cast<uint32_t>(etype->slots->size()));
    if (!decoded) return Failure(decoded.error());
    record = *decoded;
  }
  const Status status =
      write_path_.WithEntity(entity, false, 0, [&](WritePath::Located& at) -> WritePath::Need {
        at.shard.mutex.AssumeHeld();
        if (at.entity != nullptr) {
          for (const MetricSet& set : at.entity->sets()) {
            if (const auto absent = set.set.FirstAbsent({})) {
              return WritePath::Need::Chunk(set.metric, *absent);
            }
          }
        }
        if (found && record.sequence <= at.shard.wipe_sequence) record = CountRecord();
        proof = Verification();
        proof.record_sequence = record.sequence;
        proof.sequence = at.shard.sequence;
        for (size_t i = 0; i < at.etype.slots->size(); ++i) {
          const SlotSpec& spec = (*at.etype.slots)[i];
          VerifiedSlot slot;
          slot.name = spec.name;
          slot.record = record.values[i];
          if (at.entity != nullptr) {
            const Bucket* bucket = OpenBucketOf(*at.entity);
            const SlotSums* sums =
                bucket != nullptr ? bucket->Find(static_cast<uint8_t>(i)) : nullptr;
            if (sums != nullptr) slot.pending = sums->value - sums->recorded + sums->in_flight;
            slot.counter_part = at.entity->CounterValue(at.etype.name_of_slot[i]);
            const MetricSet* set =
                spec.has_facts ? at.entity->FindSet(at.etype.metric_of_slot[i]) : nullptr;
            if (set != nullptr) {
              if (!set->set.IsValid())
                damaged = Status::Error(StatusCode::kCorruption, "a set is damaged");
              slot.facts = static_cast<int64_t>(set->set.cardinality());
            }
          }
          proof.ok = proof.ok && slot.ok();
          proof.slots.push_back(std::move(slot));
        }
        return WritePath::Need::Done();
      });
  if (!status.ok()) return Fail(status);
  if (!damaged.ok()) return Fail(damaged);
  return proof;
}

Result<RebuildOutcome> EngineImpl::Rebuild(const EntityKey& entity, const WriteOptions& options) {
  Ticket own;
  RebuildOutcome outcome;
  if (Status s = write_path_.Rebuild(entity, options.busy_timeout_ms, &own, &outcome.before);
      !s.ok()) {
    return Fail(std::move(s));
  }
  // At least until it is folded: the answer is the count after it.
  WriteOptions wait = options;
  if (Resolve(wait.wait) == WaitFor::kMemory) wait.wait = WaitFor::kJournal;
  if (Status s = Finish(wait, own, nullptr); !s.ok()) return Fail(std::move(s));
  auto after = GetCounts(entity, nullptr);
  if (!after) return Failure(after.error());
  outcome.after = *after;
  outcome.before.slots = outcome.after.slots;
  return outcome;
}

}  // namespace tallystick
