#include "engine/committer.h"

#include "engine/base/assert.h"
#include "engine/base/fault_point.h"
#include "engine/counts/fold.h"
#include "engine/storage/key_codec.h"

#include <algorithm>

namespace tallystick {
namespace {

constexpr size_t kPopMax = 1024;
constexpr uint64_t kRoomPollUs = 2000;

// Locks consumers in ascending order, so that leaders with overlapping partitions cannot deadlock.
class ConsumerLocks {
 public:
  ConsumerLocks(EngineState& state,
                std::span<const uint32_t> partitions) TALLY_NO_THREAD_SAFETY_ANALYSIS
      : state_(state),
        partitions_(partitions) {
    for (const uint32_t p : partitions_) state_.partitions[p]->consumer.Lock();
  }
  ~ConsumerLocks() TALLY_NO_THREAD_SAFETY_ANALYSIS {
    for (const uint32_t p : partitions_) state_.partitions[p]->consumer.Unlock();
  }
  ConsumerLocks(const ConsumerLocks&) = delete;
  ConsumerLocks& operator=(const ConsumerLocks&) = delete;

 private:
  EngineState& state_;
  const std::span<const uint32_t> partitions_;
};

}  // namespace

Committer::Committer(EngineState* state, std::function<void()> on_journaled)
    : state_(state), on_journaled_(std::move(on_journaled)) {}

void Committer::Drain(Partition& p) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  TALLY_ASSERT(p.drained.empty() && p.ordered.empty());
  for (;;) {
    const size_t before = p.drained.size();
    p.drained.resize(before + kPopMax);
    const size_t popped = p.ring.Pop(p.drained.data() + before, kPopMax);
    p.drained.resize(before + popped);
    if (popped == 0) break;
  }
  if (p.drained.empty()) return;
  // Stable counting sort by shard: the codec wants each shard's events together, the fold too.
  std::vector<uint32_t> ends(p.shard_count + 1, 0);
  for (const Event& event : p.drained) ++ends[event.shard - p.first_shard + 1];
  for (uint32_t i = 1; i <= p.shard_count; ++i) ends[i] += ends[i - 1];
  p.ordered.resize(p.drained.size());
  for (const Event& event : p.drained) p.ordered[ends[event.shard - p.first_shard]++] = event;
  p.drained.clear();
}

Status Committer::CommitLocked(std::span<const uint32_t> partitions,
                               const std::function<void(StoreBatch*)>& extra)
    TALLY_NO_THREAD_SAFETY_ANALYSIS {
  if (state_->read_only()) return state_->ReadOnlyError();
  Partition& lead = *state_->partitions[partitions[0]];
  if (lead.batch == nullptr) lead.batch = state_->store->NewBatch();
  StoreBatch* batch = lead.batch.get();
  batch->Clear();
  const uint64_t now_ms = state_->clock->WallMs();
  uint64_t batches = 0, bytes = 0;
  for (const uint32_t index : partitions) {
    Partition& p = *state_->partitions[index];
    Drain(p);
    if (p.ordered.empty()) continue;
    p.builder.Begin(index, p.next_offset, state_->epoch, now_ms);
    const Entity* named = nullptr;
    EidText eid{std::string_view()};
    for (const Event& event : p.ordered) {
      uint64_t& consumed = p.consumed_sequence[event.shard - p.first_shard];
      if (event.sequence != consumed + 1) {
        // The ring lost or reordered an event: nothing of this batch may reach the journal.
        state_->EnterReadOnly("a gap in the event ring: shard " + std::to_string(event.shard) +
                              " went from " + std::to_string(consumed) + " to " +
                              std::to_string(event.sequence));
        return state_->ReadOnlyError();
      }
      consumed = event.sequence;
      JournalEvent j;
      j.kind = event.kind;
      j.label_any = event.label_any;
      j.label_first = event.label_first;
      j.shard = event.shard;
      j.sequence = event.sequence;
      j.uid = event.uid;
      j.delta = event.delta;
      if (event.entity != nullptr) {
        if (event.entity != named) {
          named = event.entity;
          eid = named->eid();
        }
        j.etype = state_->catalog.etype(named->etype()).name;
        j.eid = eid;
        j.metric = state_->catalog.metric(event.metric);
      }
      if (event.payload != nullptr) j.payload = *event.payload;
      p.builder.Add(j, event.entity);
    }
    const std::string key = JournalKey(index, p.next_offset);
    const std::string_view value = p.builder.Finish(key);
    batch->Put(ColumnFamily::kJournal, key, value);
    ++batches;
    bytes += value.size();
    p.bytes_since_snapshot.fetch_add(value.size(), std::memory_order_relaxed);
  }
  // Every ordinal that these events use was given before they were pushed.
  IdDictionaries::Ends ids_written;
  if (batches > 0) state_->ids->AppendUnwritten(batch, &ids_written);
  if (extra) extra(batch);
  if (batch->empty()) return Status();
  Status status = TALLY_FAULT_POINT("commit.before_write")
                      ? Status::Error(StatusCode::kIoError, "fault point commit.before_write")
                      : state_->store->Write(batch);
  if (!status.ok()) {
    state_->EnterReadOnly("a journal write failed (" + std::string(status.message()) + ")");
    return state_->ReadOnlyError();
  }
  static_cast<void>(TALLY_FAULT_POINT("commit.after_write"));
  IdDictionaries::NoteWritten(ids_written);
  state_->counters.journal_batches.fetch_add(batches, std::memory_order_relaxed);
  state_->counters.journal_bytes.fetch_add(bytes, std::memory_order_relaxed);
  for (const uint32_t index : partitions) {
    Partition& p = *state_->partitions[index];
    if (p.ordered.empty()) continue;
    const uint64_t first_offset = p.next_offset;
    p.next_offset += p.ordered.size();
    state_->counters.events.fetch_add(p.ordered.size(), std::memory_order_relaxed);
    p.events_since_flush.fetch_add(p.ordered.size(), std::memory_order_relaxed);
    Fold(p, first_offset);
    p.ordered.clear();
    // Release: who sees the offset also sees what Fold did.
    p.journaled_offset.store(p.next_offset, std::memory_order_release);
    if (p.room_waiters.load() != 0) {
      MutexLock lock(p.room_mutex);
      p.room.NotifyAll();
    }
  }
  static_cast<void>(TALLY_FAULT_POINT("commit.after_fold"));
  return Status();
}

void Committer::Fold(Partition& p, uint64_t first_offset) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  const std::span<const Event> all(p.ordered);
  for (size_t begin = 0; begin < all.size();) {
    const uint32_t shard = all[begin].shard;
    size_t end = begin + 1;
    while (end < all.size() && all[end].shard == shard) ++end;
    FoldShard(p, shard, all.subspan(begin, end - begin), first_offset + begin);
    begin = end;
  }
}

void Committer::FoldShard(Partition& p, uint32_t shard_index, std::span<const Event> events,
                          uint64_t first_offset) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  Shard& shard = state_->shard(shard_index);
  MutexLock lock(shard.mutex);
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if (event.kind == EventKind::kWipe) {
      shard.table.ForEach([](Entity* e) {
        if (OpenBucketOf(*e) == nullptr) return;
        e->activity()->bucket.ForEach(
            [](uint8_t, SlotSums& s) { s.value = s.counter_part = s.recorded = 0; });
      });
      continue;
    }
    Entity& e = *event.entity;
    Activity& activity = *e.activity();
    TALLY_ASSERT(activity.pins > 0);
    --activity.pins;
    if (Bucket& bucket = activity.bucket; bucket.is_open()) {
      const EtypeInfo& etype = state_->catalog.etype(e.etype());
      FoldInput input{event.kind, event.metric, event.sequence, event.delta, {}};
      if (event.payload != nullptr) input.payload = *event.payload;
      TALLY_ASSERT(FoldIntoBucket(etype, state_->catalog, input, &bucket));
      TALLY_ASSERT(bucket.sequence() < event.sequence);
      bucket.set_sequence(event.sequence);
      if (!activity.in_record_queue) {
        activity.in_record_queue = true;
        p.record_queue.push_back(DirtyItem{&e, first_offset + i});
      }
    }
    if (!activity.in_snapshot_queue && event.sequence > activity.snapshot_sequence) {
      activity.in_snapshot_queue = true;
      p.snapshot_queue.push_back(DirtyItem{&e, first_offset + i});
    }
    delete event.payload;
  }
  // Release: a waiter that sees the sequence also sees the counts that it includes.
  shard.journaled_sequence.store(events.back().sequence, std::memory_order_release);
  shard.in_flight.fetch_sub(static_cast<uint32_t>(events.size()), std::memory_order_release);
}

Status Committer::Commit(std::span<const uint32_t> partitions) {
  if (partitions.empty()) return Status();
  if (TALLY_FAULT_POINT("commit.stall")) {
    return Status::Error(StatusCode::kBusy, "fault point commit.stall");
  }
  if (state_->read_only()) return state_->ReadOnlyError();
  Status status;
  {
    ConsumerLocks locks(*state_, partitions);
    status = CommitLocked(partitions, nullptr);
  }
  on_journaled_();
  return status;
}

Status Committer::CommitTogether(std::span<const uint32_t> partitions,
                                 const std::function<bool()>& push) {
  Status status;
  {
    ConsumerLocks locks(*state_, partitions);
    if (state_->read_only()) return state_->ReadOnlyError();
    if (!push()) return Status();
    status = CommitLocked(partitions, nullptr);
  }
  on_journaled_();
  return status;
}

Status Committer::CommitAll() {
  std::vector<uint32_t> all;
  for (const auto& p : state_->partitions) {
    if (p->ring.SizeApprox() > 0 || p->shard_count > 0) all.push_back(p->index);
  }
  return Commit(all);
}

bool Committer::Journaled(const Ticket& ticket) const {
  for (const Ticket::Entry& entry : ticket.entries()) {
    if (state_->shard(entry.shard).journaled_sequence.load(std::memory_order_acquire) <
        entry.sequence) {
      return false;
    }
  }
  return true;
}

Status Committer::CommitTicket(const Ticket& ticket) {
  // A leader may be journaling just these events: looking again after the lock is Commit's drain.
  for (;;) {
    std::vector<uint32_t> partitions;
    for (const Ticket::Entry& entry : ticket.entries()) {
      const Shard& shard = state_->shard(entry.shard);
      if (shard.journaled_sequence.load(std::memory_order_acquire) >= entry.sequence) continue;
      partitions.push_back(state_->PartitionOf(entry.shard).index);
    }
    if (partitions.empty()) return Status();
    std::sort(partitions.begin(), partitions.end());
    partitions.erase(std::unique(partitions.begin(), partitions.end()), partitions.end());
    const Status status = Commit(partitions);
    if (!status.ok() && status.code() != StatusCode::kBusy) return status;
    if (status.ok()) continue;
    // Stalled (fault point): the events are in the ring and stay there; wait for whoever moves
    // them.
    Partition& p = *state_->partitions[partitions[0]];
    MutexLock lock(p.room_mutex);
    p.room_waiters.fetch_add(1);
    p.room.WaitForUs(p.room_mutex, kRoomPollUs);
    p.room_waiters.fetch_sub(1);
  }
}

Status Committer::WaitForRoom(uint32_t shard_index,
                              int32_t timeout_ms) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  Shard& shard = state_->shard(shard_index);
  Partition& p = state_->PartitionOf(shard_index);
  const uint64_t deadline =
      state_->clock->MonotonicUs() + static_cast<uint64_t>(std::max(timeout_ms, 0)) * 1000;
  for (;;) {
    if (state_->read_only()) return state_->ReadOnlyError();
    if (HasRoom(shard)) return Status();
    bool committed = false;
    if (!TALLY_FAULT_POINT("commit.stall") && p.consumer.TryLock()) {
      const uint32_t self[] = {p.index};
      const Status status = CommitLocked(self, nullptr);
      p.consumer.Unlock();
      on_journaled_();
      if (!status.ok()) return status;
      committed = true;
    }
    if (HasRoom(shard)) return Status();
    if (state_->clock->MonotonicUs() >= deadline) {
      state_->counters.busy_refusals.fetch_add(1, std::memory_order_relaxed);
      return Status::Error(StatusCode::kBusy,
                           "the event ring is full: the journal does not keep up; try again later");
    }
    if (committed) continue;
    MutexLock lock(p.room_mutex);
    p.room_waiters.fetch_add(1);
    if (!HasRoom(shard)) p.room.WaitForUs(p.room_mutex, kRoomPollUs);
    p.room_waiters.fetch_sub(1);
  }
}

}  // namespace tallystick
