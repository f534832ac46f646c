#include "engine/engine_impl.h"

#include "engine/base/assert.h"
#include "engine/counts/fold.h"
#include "engine/plain_string.h"
#include "engine/storage/key_codec.h"

#include <algorithm>

namespace tallystick {
namespace {

constexpr size_t kListSlice = 256;
constexpr uint64_t kHeadStartUs = 100'000;  // for those who wait for a first answer

}  // namespace

// ---- Single forms
// --------------------------------------------------------------------------------

namespace {

Result<FactOutcome> ApplySingle(Engine* engine, FactOpKind kind, const FactKey& key, uint64_t uid,
                                const WriteOptions& options) {
  if (Status s = CheckFactKey(key); !s.ok()) return Fail(std::move(s));
  const FactOp op{kind, {}, key, uid};
  FactOutcome outcome;
  if (Status s = engine->Apply({&op, 1}, {&outcome, 1}, options); !s.ok())
    return Fail(std::move(s));
  if (outcome.error != StatusCode::kOk) {
    return Fail(outcome.error,
                "the operation was refused: " + std::string(StatusCodeName(outcome.error)));
  }
  return outcome;
}

}  // namespace

Result<FactOutcome> Engine::Set(const FactKey& key, uint64_t uid, const WriteOptions& options) {
  return ApplySingle(this, FactOpKind::kSet, key, uid, options);
}
Result<FactOutcome> Engine::Clear(const FactKey& key, uint64_t uid, const WriteOptions& options) {
  return ApplySingle(this, FactOpKind::kClear, key, uid, options);
}
Result<FactOutcome> Engine::Toggle(const FactKey& key, uint64_t uid, const WriteOptions& options) {
  return ApplySingle(this, FactOpKind::kToggle, key, uid, options);
}
Result<bool> Engine::Has(const FactKey& key, uint64_t uid) {
  const auto outcome = ApplySingle(this, FactOpKind::kHas, key, uid, {});
  if (!outcome) return Failure(outcome.error());
  return outcome->after;
}

// ---- Opening and closing
// -------------------------------------------------------------------------

Result<std::unique_ptr<Engine>> Engine::Open(const Options& options) {
  return OpenEngine(options, {});
}

Result<std::unique_ptr<Engine>> OpenEngine(const Options& options, const Environment& environment) {
  Log log(options.logger);
  const uint64_t started_us = environment.clock->MonotonicUs();
  auto directory =
      OpenDirectory(options, environment.clock, environment.random, environment.file_system, log);
  if (!directory) return Failure(directory.error());
  return std::unique_ptr<Engine>(
      new EngineImpl(options, environment, std::move(log), std::move(*directory), started_us));
}

EngineImpl::EngineImpl(const Options& options, const Environment& environment, Log log,
                       OpenedDirectory directory, uint64_t opened_at_us)
    : environment_(environment),
      directory_lock_(std::move(directory.lock)),
      state_(options, environment.clock, std::move(log), std::move(directory.store),
             std::move(*directory.schema), directory.database, directory.epoch,
             std::move(directory.ids)),
      replay_(&state_, directory.checkpoints),
      loader_(&state_),
      committer_(&state_,
                 [this] { state_.read_only() ? disk_sync_.Fail() : disk_sync_.NoteJournaled(); }),
      disk_sync_(&state_, &committer_, std::move(directory.watermark), directory.watermark_serial),
      write_path_(&state_, &committer_, &loader_, &replay_,
                  [this](uint32_t partition) {
                    if (!aggregators_.empty())
                      aggregators_[partition % aggregators_.size()]->task->Wake();
                  }),
      persister_(&state_, &committer_, &loader_) {
  bool has_shards = true;
  for (uint32_t i = 0; i < state_.partitions.size(); ++i) {
    Partition& p = *state_.partitions[i];
    MutexLock persist(p.persist);
    MutexLock lock(p.consumer);
    p.next_offset = directory.journal_ends[i];
    p.checkpoint_offset = directory.checkpoints[i].offset;
    p.journaled_offset = p.next_offset;
    p.durable_offset = p.next_offset;
    p.tail_start = p.checkpoint_offset;
    if (!directory.journal_damage[i].ok()) {
      p.replay_error =
          Status::Error(StatusCode::kCorruption,
                        "partition " + std::to_string(i) + " is refused: its journal is damaged");
      p.replay.store(ReplayState::kDamaged, std::memory_order_release);
    }
    has_shards = has_shards && p.next_offset == 0;
  }
  if (has_shards) {
    // Nothing was ever written: absence is known without asking the store.
    for (uint32_t i = 0; i < state_.shards.size(); ++i) {
      if (!replay_.Ensure(state_.PartitionOf(i)).ok()) continue;
      MutexLock lock(state_.shard(i).mutex);
      state_.shard(i).index_complete = true;
      state_.shards_indexed.fetch_add(1);
    }
  }
  if (directory.loss_accepted) GoOnAfterLoss();
  opened_at_us_ = state_.clock->MonotonicUs();
  state_.counters.recovery_us = opened_at_us_ - opened_at_us;
  StartBackground();
}

EngineImpl::~EngineImpl() {
  if (const Status s = Close(); !s.ok()) state_.log.Error("close: " + s.ToString());
}

// Stored pieces may be ahead of what is left of the journal. Sequences go on beyond all of them, so
// that no new event is taken for one that a piece already includes; the checkpoint says so before
// any is written. Counts need nothing: every entity compares its record with its facts when it is
// loaded.
void EngineImpl::GoOnAfterLoss() TALLY_NO_THREAD_SAFETY_ANALYSIS {
  constexpr uint64_t kSequencesSkipped = uint64_t{1} << 32;
  for (const auto& p : state_.partitions) {
    if (!replay_.Ensure(*p).ok()) continue;  // logged, and refused on use
    MutexLock persist(p->persist);
    MutexLock lock(p->consumer);
    for (uint32_t i = 0; i < p->shard_count; ++i) {
      Shard& shard = state_.shard(p->first_shard + i);
      MutexLock shard_lock(shard.mutex);
      shard.sequence += kSequencesSkipped;
      p->consumed_sequence[i] = shard.sequence;
      shard.journaled_sequence = shard.sequence;
      shard.durable_sequence = shard.sequence;
    }
    p->checkpoint_stale = true;
  }
  if (const Status s = PersistAll(); !s.ok()) {
    state_.EnterReadOnly("going on after an accepted loss failed (" + std::string(s.message()) +
                         ")");
  }
}

void EngineImpl::StartBackground() {
  disk_sync_.Start(environment_.executor);
  uint32_t threads = state_.options.aggregator_threads;
  if (threads == 0) threads = std::max(1u, Executor::Cores() / 2);
  threads = std::min<uint32_t>(threads, static_cast<uint32_t>(state_.partitions.size()));
  for (uint32_t i = 0; i < threads; ++i) {
    auto aggregator = std::make_unique<Aggregator>();
    for (uint32_t p = i; p < state_.partitions.size(); p += threads)
      aggregator->partitions.push_back(p);
    aggregator->flushed_at_us = state_.clock->MonotonicUs();
    aggregators_.push_back(std::move(aggregator));
  }
  for (uint32_t i = 0; i < threads; ++i) {
    aggregators_[i]->task = environment_.executor->Start("tally-agg-" + std::to_string(i),
                                                         [this, i] { return RunAggregator(i); });
  }
  checkpointed_at_us_ = trimmed_at_us_ = advanced_at_us_ = state_.clock->MonotonicUs();
  maintenance_ = environment_.executor->Start("tally-maint", [this] { return RunMaintenance(); });
  if (state_.options.warm_up) {
    warm_up_ = environment_.executor->Start("tally-warm", [this] { return RunWarmUp(); });
  }
}

void EngineImpl::StopBackground() {
  warm_up_.reset();
  maintenance_.reset();
  for (auto& aggregator : aggregators_) aggregator->task.reset();
  disk_sync_.Stop();
}

Status EngineImpl::Close() {
  if (closed_.exchange(true)) return Status();
  StopBackground();
  aggregators_.clear();
  if (state_.read_only()) {
    disk_sync_.Fail();
    return state_.ReadOnlyError();
  }
  while (state_.store->Tend()) continue;
  Status status = PersistAll();
  if (status.ok()) status = disk_sync_.Sync();
  if (status.ok()) status = state_.store->Flush();
  if (status.ok()) status = disk_sync_.Sync();
  return status;
}

// ---- Background
// ----------------------------------------------------------------------------------

uint64_t EngineImpl::RunAggregator(uint32_t index) {
  constexpr size_t kRecordsPerSlice = 1024;
  // Gathers a batch for writers that do not wait for the journal, and leaves their own commit to
  // those that do: two that drain the same rings make two small records of one.
  constexpr uint64_t kLingerUs = 5000;
  Aggregator& self = *aggregators_[index];
  const uint64_t now = state_.clock->MonotonicUs();
  bool busy = false;
  std::vector<uint32_t> with_events;
  bool threshold = false;
  for (const uint32_t i : self.partitions) {
    Partition& p = *state_.partitions[i];
    if (p.ring.SizeApprox() > 0) with_events.push_back(i);
    threshold = threshold || p.events_since_flush.load(std::memory_order_relaxed) >=
                                 state_.options.flush_threshold_events;
  }
  if (!with_events.empty()) {
    busy = true;
    if (self.commit_at_us == 0) self.commit_at_us = now + kLingerUs;
    if (now >= self.commit_at_us) {
      static_cast<void>(committer_.Commit(with_events));
      self.commit_at_us = now + kLingerUs;
    }
  }
  const uint64_t window_us = uint64_t{state_.options.flush_interval_ms} * 1000;
  if (self.backlog || threshold || now - self.flushed_at_us >= window_us) {
    if (!self.backlog) self.flushed_at_us = now;
    self.backlog = false;
    for (const uint32_t i : self.partitions) {
      state_.partitions[i]->events_since_flush.store(0, std::memory_order_relaxed);
      const auto left = persister_.FlushRecords(*state_.partitions[i], kRecordsPerSlice);
      self.backlog = self.backlog || (left && *left > 0);
    }
  }
  if (self.backlog) return 0;
  if (busy) return kLingerUs;
  self.commit_at_us = 0;
  for (const uint32_t i : self.partitions) state_.partitions[i]->idle.store(true);
  for (const uint32_t i : self.partitions) {
    // A push between the look above and the flag: its writer did not see the flag.
    if (state_.partitions[i]->ring.SizeApprox() > 0) return kLingerUs;
  }
  const uint64_t since = state_.clock->MonotonicUs() - self.flushed_at_us;
  return since >= window_us ? kLingerUs : window_us - since;
}

uint64_t EngineImpl::RunMaintenance() {
  constexpr uint64_t kRestUs = 100'000;
  constexpr uint64_t kTrimPeriodUs = 30'000'000;
  constexpr uint64_t kAdvancePeriodUs = 30'000'000;
  constexpr size_t kExpiredPerShard = 64;
  if (state_.read_only()) return kRestUs;
  const uint64_t now = state_.clock->MonotonicUs();
  if (now < opened_at_us_ + kHeadStartUs) return kHeadStartUs;
  if (state_.store->Tend()) return 0;
  for (uint32_t i = 0; i < state_.shards.size(); ++i) write_path_.ExpireDue(i, kExpiredPerShard);
  const bool due =
      now - checkpointed_at_us_ >= uint64_t{state_.options.checkpoint_interval_ms} * 1000;
  const uint64_t tail_max = state_.options.journal_tail_bytes_max / state_.partitions.size();
  std::vector<Partition*> partitions;
  bool long_tail = false;
  for (const auto& p : state_.partitions) {
    const bool too_long = p->bytes_since_snapshot.load(std::memory_order_relaxed) >= tail_max;
    long_tail = long_tail || too_long;
    if (due || too_long) partitions.push_back(p.get());
  }
  if (!partitions.empty()) {
    // A short tail is not worth a flush each time; after a quiet while it goes too.
    const bool advance = long_tail || now - advanced_at_us_ >= kAdvancePeriodUs;
    const Status s = persister_.Checkpoint(partitions, advance);
    if (!s.ok() && !state_.read_only()) {
      state_.log.Warn("a checkpoint will be tried again: " + s.ToString());
    }
    if (advance) advanced_at_us_ = now;
  }
  if (due) checkpointed_at_us_ = now;
  if (now - trimmed_at_us_ >= kTrimPeriodUs) {
    trimmed_at_us_ = now;
    for (const auto& p : state_.partitions) {
      if (const Status s = persister_.TrimJournal(*p); !s.ok()) {
        state_.log.Warn("the journal could not be trimmed: " + s.ToString());
      }
    }
  }
  return kRestUs;
}

// First every partition's tail, then every shard's index, then the content, in slices.
uint64_t EngineImpl::RunWarmUp() {
  constexpr uint64_t kDoneUs = 3'600'000'000;
  constexpr uint64_t kRetryUs = 1'000'000;
  constexpr size_t kEntitiesPerSlice = 256;
  if (state_.clock->MonotonicUs() < opened_at_us_ + kHeadStartUs) return kHeadStartUs;
  for (const auto& p : state_.partitions) {
    if (p->replay.load() != ReplayState::kPending) continue;
    static_cast<void>(replay_.Ensure(*p));  // damage is logged there and refused on use
    return 0;
  }
  // Ids come before content: every command that names one needs them.
  for (; warm_up_ids_ < state_.ids->all().size(); ++warm_up_ids_) {
    constexpr size_t kIdsPerSlice = 4096;
    const auto more = state_.ids->all()[warm_up_ids_]->LoadSlice(kIdsPerSlice);
    if (!more && more.error().code() != StatusCode::kCorruption) return kRetryUs;
    if (more && *more) return 0;
    if (!more) state_.log.Error(more.error().ToString() + "; its ids are looked up one by one");
  }
  const auto shards = static_cast<uint32_t>(state_.shards.size());
  if (warm_up_shard_ >= 2 * shards) return kDoneUs;
  const uint32_t index = warm_up_shard_ % shards;
  Shard& shard = state_.shard(index);
  if (warm_up_shard_ < shards) {
    static_cast<void>(replay_.IndexShard(index));
    ++warm_up_shard_;
    return 0;
  }
  MutexLock lock(shard.mutex);
  std::vector<Entity*> slice;
  const bool more = shard.table.Walk(&warm_up_cursor_, kEntitiesPerSlice, &slice);
  for (Entity* entity : slice) ++Activity::Of(*entity).holds;
  Status failed;
  for (Entity* entity : slice) {
    if (failed.ok() && entity->residency() == Residency::kOnDisk)
      failed = loader_.EnsureResident(shard, entity);
    if (failed.code() == StatusCode::kCorruption) failed = Status();  // logged; the rest goes on
    --entity->activity()->holds;
    Settle(state_, shard, entity);
  }
  if (!failed.ok()) return kRetryUs;
  if (!more) {
    ++warm_up_shard_;
    warm_up_cursor_ = 0;
    shards_warm_.fetch_add(1);
  }
  return 0;
}

// ---- Waiting
// -------------------------------------------------------------------------------------

WaitFor EngineImpl::Resolve(WaitFor wait) const {
  if (wait != WaitFor::kDefault) return wait;
  return state_.durability == Durability::kAlways ? WaitFor::kDisk : WaitFor::kJournal;
}

Status EngineImpl::Finish(const WriteOptions& options, const Ticket& own, Ticket* callers) {
  if (callers != nullptr) {
    for (const Ticket::Entry& entry : own.entries()) callers->Add(entry.shard, entry.sequence);
  }
  return own.empty() ? Status() : Wait(own, options.wait);
}

Status EngineImpl::Wait(const Ticket& ticket, WaitFor wait) {
  wait = Resolve(wait);
  if (wait == WaitFor::kMemory || ticket.empty()) return Status();
  if (wait == WaitFor::kDisk) return disk_sync_.WaitDurable(ticket);
  if (Status s = disk_sync_.WaitForLag(); !s.ok()) return s;
  return committer_.CommitTicket(ticket);
}

void EngineImpl::OnReady(const Ticket& ticket, WaitFor wait,
                         std::function<void(const Status&)> done) {
  if (Resolve(wait) == WaitFor::kDisk) return disk_sync_.OnDurable(ticket, std::move(done));
  done(Wait(ticket, wait));
}

void EngineImpl::SetDurability(Durability durability) {
  state_.durability = durability;
  disk_sync_.WakeTask();
}

// ---- Everything
// ----------------------------------------------------------------------------------

Status EngineImpl::ListEntity(Shard& shard, Entity* entity, bool with_chunks,
                              std::vector<Listed>* out) {
  if (Status s = loader_.EnsureResident(shard, entity); !s.ok()) return s;
  const EtypeInfo& etype = state_.catalog.etype(entity->etype());
  if (etype.id == kPlainEtype) {
    if (!entity->plain() || !LivePlain(*entity->plain(), write_path_.NowMs())) return Status();
    Listed listed;
    listed.eid = entity->eid().view();
    listed.plain = entity->plain()->type;
    if (listed.plain == PlainType::kSet) listed.metric = kPlainSetMetric;
    if (listed.plain == PlainType::kBits) listed.metric = kPlainBitsMetric;
    for (const MetricSet& set : entity->sets()) listed.cardinality += set.set.cardinality();
    if (entity->plain()->has_texts()) listed.cardinality += entity->plain()->texts->cardinality();
    out->push_back(std::move(listed));
    return Status();
  }
  for (const MetricSet& set : entity->sets()) {
    if (set.set.empty()) continue;
    Listed listed;
    listed.etype = etype.name;
    listed.eid = entity->eid().view();
    listed.metric = state_.catalog.metric(set.metric);
    listed.labels = set.labels();
    listed.cardinality = set.set.cardinality();
    if (with_chunks) set.set.ChunksWithMembers(&listed.chunks);
    out->push_back(std::move(listed));
  }
  return Status();
}

Result<uint64_t> EngineImpl::List(uint64_t cursor, size_t hint, const ListFilter& filter,
                                  std::vector<Listed>* out) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  if (filter.eid && !filter.etype)
    return Fail(StatusCode::kInvalidArgument, "an eid filter needs an etype");
  if (filter.eid) {
    const EntityKey key{*filter.etype, *filter.eid};
    if (!CheckEntityKey(key).ok()) return 0;  // no such entity can exist
    Status listed;
    const Status status =
        write_path_.WithEntity(key, false, 0, [&](WritePath::Located& at) -> WritePath::Need {
          at.shard.mutex.AssumeHeld();
          if (at.entity != nullptr)
            listed = ListEntity(at.shard, at.entity, filter.with_chunks, out);
          return WritePath::Need::Done();
        });
    if (!status.ok()) return Fail(status);
    if (!listed.ok()) return Fail(listed);
    return 0;
  }
  const size_t before = out->size();
  uint64_t shard_index = cursor >> FactTable::kCursorBits;
  uint64_t hash_cursor = cursor << (64 - FactTable::kCursorBits);
  while (shard_index < state_.shards.size()) {
    if (Status s = replay_.IndexShard(static_cast<uint32_t>(shard_index)); !s.ok())
      return Fail(std::move(s));
    Shard& shard = state_.shard(static_cast<uint32_t>(shard_index));
    std::vector<Entity*> slice;
    bool more = false;
    {
      MutexLock lock(shard.mutex);
      more =
          shard.table.Walk(&hash_cursor, std::min(std::max<size_t>(hint, 1), kListSlice), &slice);
      for (Entity* entity : slice) ++Activity::Of(*entity).holds;
      Status status;
      for (Entity* entity : slice) {
        const bool wanted =
            !filter.etype || state_.catalog.etype(entity->etype()).name == *filter.etype;
        if (status.ok() && wanted) status = ListEntity(shard, entity, filter.with_chunks, out);
        --entity->activity()->holds;
        Settle(state_, shard, entity);
      }
      if (!status.ok()) return Fail(std::move(status));
    }
    if (!more) {
      ++shard_index;
      hash_cursor = 0;
    }
    if (out->size() - before >= hint && shard_index < state_.shards.size()) {
      return (shard_index << FactTable::kCursorBits) |
             (hash_cursor >> (64 - FactTable::kCursorBits));
    }
  }
  return 0;
}

Status EngineImpl::Wipe() TALLY_NO_THREAD_SAFETY_ANALYSIS {
  std::vector<uint32_t> all;
  for (const auto& p : state_.partitions) {
    if (Status s = replay_.Ensure(*p); !s.ok()) return s;
    all.push_back(p->index);
  }
  for (const auto& p : state_.partitions) p->persist.Lock();
  for (const auto& p : state_.partitions) p->consumer.Lock();
  for (const auto& shard : state_.shards) shard->mutex.Lock();
  Status status = state_.read_only() ? state_.ReadOnlyError() : Status();
  if (status.ok()) {
    for (const auto& p : state_.partitions) {
      // Everything dirty is moot; what is still in flight becomes dirty again when it is folded.
      for (const DirtyItem& item : p->record_queue) {
        Activity::Of(*item.entity).in_record_queue = false;
      }
      for (const DirtyItem& item : p->snapshot_queue) {
        Activity::Of(*item.entity).in_snapshot_queue = false;
      }
      p->record_queue.clear();
      p->snapshot_queue.clear();
      p->damaged_offset = UINT64_MAX;
      MutexLock heal(p->heal_mutex);
      for (const HealItem& item : p->heal_queue) {
        Activity& activity = Activity::Of(*item.entity);
        activity.in_record_queue = activity.in_snapshot_queue = false;
      }
      p->heal_queue.clear();
      MutexLock tombstones(p->tombstone_mutex);
      p->tombstones.clear();
    }
    for (uint32_t i = 0; i < state_.shards.size(); ++i) write_path_.WipeShard(i);
    for (const auto& dictionary : state_.ids->all()) dictionary->Wipe();
  }
  for (const auto& shard : state_.shards) shard->mutex.Unlock();
  if (status.ok()) {
    for (const auto& p : state_.partitions) p->checkpoint_stale = true;
    // One batch for all partitions: after a crash everything is there or nothing is.
    status = committer_.CommitLocked(all, [this](StoreBatch* batch) {
      for (const auto& dictionary : state_.ids->all()) dictionary->AppendGeneration(batch);
    });
  }
  for (const auto& p : state_.partitions) p->consumer.Unlock();
  for (const auto& p : state_.partitions) p->persist.Unlock();
  if (!status.ok()) return status;
  disk_sync_.NoteJournaled();
  if (Status s = disk_sync_.Sync(); !s.ok()) return s;
  // Everything is gone, durably. What the store still holds of it is never read again; damage there
  // only means that its space is not given back yet.
  Status cleaned = PersistAll();
  for (uint32_t i = 0; cleaned.ok() && i < state_.shards.size(); ++i) {
    cleaned = persister_.CleanWiped(i);
  }
  for (const auto& dictionary : state_.ids->all()) {
    if (cleaned.ok()) cleaned = dictionary->CleanUp();
  }
  if (!cleaned.ok()) {
    state_.log.Warn("what was wiped still takes space on disk: " + cleaned.ToString());
  }
  return Status();
}

Status EngineImpl::PersistAll() {
  constexpr size_t kSlice = 1024;
  for (const auto& p : state_.partitions) {
    if (p->replay.load(std::memory_order_acquire) != ReplayState::kReady) continue;
    const uint32_t self[] = {p->index};
    if (Status s = committer_.Commit(self); !s.ok()) return s;
    for (;;) {
      const auto left = persister_.FlushRecords(*p, kSlice);
      if (!left) return left.error();
      if (*left == 0) break;
    }
  }
  std::vector<Partition*> all;
  for (const auto& p : state_.partitions) all.push_back(p.get());
  return persister_.Checkpoint(all, true);
}

Status EngineImpl::Checkpoint() {
  for (const auto& p : state_.partitions) {
    if (Status s = replay_.Ensure(*p); !s.ok()) return s;
  }
  if (Status s = PersistAll(); !s.ok()) return s;
  return disk_sync_.Sync();
}

Stats EngineImpl::GetStats() const TALLY_NO_THREAD_SAFETY_ANALYSIS {
  // Walking the tables costs O(entities): done at most for a twentieth of the time.
  constexpr uint64_t kShare = 20;
  MutexLock lock(stats_mutex_);
  const uint64_t now = state_.clock->MonotonicUs();
  if (stats_at_us_ == 0 || now - stats_at_us_ >= stats_cost_us_ * kShare) {
    Stats walked;
    for (const auto& shard : state_.shards) {
      MutexLock shard_lock(shard->mutex);
      walked.memory_bytes += sizeof(Shard) + shard->table.MemoryBytes();
      shard->table.ForEach([&](Entity* e) {
        if (e->residency() != Residency::kResident) return;
        ++walked.entities;
        walked.memory_bytes += e->MemoryBytes();
        if (e->activity() != nullptr) walked.memory_bytes += sizeof(Activity);
        if (e->plain() != nullptr && e->plain()->type != PlainType::kNone) ++walked.plain_keys;
        for (const MetricSet& set : e->sets()) {
          if (set.set.empty() || e->etype() == kPlainEtype) continue;
          ++walked.fact_sets;
          walked.facts += set.set.cardinality();
        }
      });
    }
    stats_ = walked;
    stats_at_us_ = now;
    stats_cost_us_ = state_.clock->MonotonicUs() - now;
  }
  Stats stats = stats_;
  for (const auto& dictionary : state_.ids->all()) {
    stats.ids += dictionary->size();
    stats.ids_memory_bytes += dictionary->MemoryBytes();
  }
  stats.memory_bytes += stats.ids_memory_bytes;
  const EngineCounters& c = state_.counters;
  stats.shards = static_cast<uint32_t>(state_.shards.size());
  stats.partitions = static_cast<uint32_t>(state_.partitions.size());
  stats.index_complete = state_.shards_indexed.load() == stats.shards;
  stats.shards_loaded = shards_warm_.load();
  stats.recovery_done = true;
  for (const auto& shard : state_.shards) stats.events_in_flight += shard->in_flight.load();
  for (const auto& p : state_.partitions) {
    const bool ready = p->replay.load(std::memory_order_acquire) == ReplayState::kReady;
    stats.recovery_done = stats.recovery_done && ready;
    stats.journal_tail_events += p->journaled_offset.load() - p->tail_start.load();
    MutexLock consumer(p->consumer);
    stats.dirty_entities += std::max(p->record_queue.size(), p->snapshot_queue.size());
  }
  stats.events = c.events;
  stats.busy_refusals = c.busy_refusals;
  stats.journal_batches = c.journal_batches;
  stats.journal_bytes = c.journal_bytes;
  stats.records_written = c.records_written;
  stats.snapshots_written = c.snapshots_written;
  stats.counts_saturated = c.counts_saturated;
  stats.counts_healed = c.counts_healed;
  stats.corrupt_entities = c.corrupt_entities;
  stats.syncs = c.syncs;
  stats.recovered_events = c.recovered_events;
  stats.recovery_us = c.recovery_us;
  stats.durability_lag_ms = disk_sync_.lag_us() / 1000;
  stats.read_only = state_.read_only();
  if (stats.read_only) stats.read_only_reason = const_cast<EngineState&>(state_).read_only_reason();
  return stats;
}

}  // namespace tallystick
