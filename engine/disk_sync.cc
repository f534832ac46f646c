#include "engine/disk_sync.h"

#include "engine/base/assert.h"
#include "engine/base/fault_point.h"

#include <algorithm>

namespace tallystick {

DiskSync::DiskSync(EngineState* state, Committer* committer, std::unique_ptr<Watermark> watermark,
                   uint64_t watermark_serial)
    : state_(state), committer_(committer), watermark_(std::move(watermark)) {
  mark_.database_id_high = state->database.database_id_high;
  mark_.database_id_low = state->database.database_id_low;
  mark_.epoch = state->epoch;
  mark_.serial = watermark_serial;
}

void DiskSync::Start(Executor* executor) {
  task_ = executor->Start("tally-sync", [this] { return Run(); });
}

void DiskSync::Stop() {
  task_.reset();
}

void DiskSync::WakeTask() {
  if (task_ != nullptr) task_->Wake();
}

uint64_t DiskSync::Run() {
  bool wanted = false;
  {
    MutexLock lock(waiters_mutex_);
    wanted = wanted_;
  }
  const uint64_t now = state_->clock->MonotonicUs();
  const uint64_t last = last_sync_us_.load(std::memory_order_relaxed);
  const bool due = state_->durability == Durability::kEverySec && oldest_unsynced_us_ != 0 &&
                   now - last >= kPeriodUs;
  if ((wanted || due) && !state_->read_only()) static_cast<void>(Sync());
  RunCallbacks();
  {
    MutexLock lock(waiters_mutex_);
    if (wanted_ && !state_->read_only()) return 0;
  }
  const uint64_t since =
      state_->clock->MonotonicUs() - last_sync_us_.load(std::memory_order_relaxed);
  return since >= kPeriodUs ? kPeriodUs / 10 : kPeriodUs - since;
}

Status DiskSync::Sync() {
  MutexLock lock(sync_mutex_);
  {
    MutexLock waiters(waiters_mutex_);
    wanted_ = false;
  }
  // Before the offsets are read: a write that is noted later is either covered or noted anew.
  syncing_since_us_ = oldest_unsynced_us_.exchange(0);
  if (const Status committed = committer_->CommitAll(); !committed.ok()) {
    if (committed.code() == StatusCode::kReadOnly) Fail();
    return committed;
  }
  // What is read here is with the operating system already, so the fsync that follows covers it.
  std::vector<uint64_t> sequences, offsets;
  for (const auto& shard : state_->shards) {
    sequences.push_back(shard->journaled_sequence.load(std::memory_order_acquire));
  }
  for (const auto& p : state_->partitions) {
    offsets.push_back(p->journaled_offset.load(std::memory_order_acquire));
  }
  const uint64_t now = state_->clock->MonotonicUs();
  Status status = TALLY_FAULT_POINT("sync.before")
                      ? Status::Error(StatusCode::kIoError, "fault point sync.before")
                      : state_->store->SyncWal();
  static_cast<void>(TALLY_FAULT_POINT("sync.after"));
  if (status.ok()) {
    mark_.serial += 1;
    mark_.durable_offsets = offsets;
    const bool sync_mark = now - mark_synced_at_us_ >= kPeriodUs;
    status = watermark_->Write(mark_, sync_mark);
    if (sync_mark) mark_synced_at_us_ = now;
  }
  syncing_since_us_ = 0;
  last_sync_us_ = state_->clock->MonotonicUs();
  if (!status.ok()) {
    // A failed fsync may have dropped what it should have written: retrying would lie.
    state_->EnterReadOnly("an fsync of the journal failed (" + std::string(status.message()) + ")");
    Fail();
    return state_->ReadOnlyError();
  }
  state_->counters.syncs.fetch_add(1, std::memory_order_relaxed);
  for (size_t i = 0; i < sequences.size(); ++i) {
    state_->shards[i]->durable_sequence.store(sequences[i], std::memory_order_release);
  }
  for (size_t i = 0; i < offsets.size(); ++i) {
    state_->partitions[i]->durable_offset.store(offsets[i], std::memory_order_release);
  }
  {
    MutexLock waiters(waiters_mutex_);
    synced_.NotifyAll();
  }
  RunCallbacks();
  return Status();
}

bool DiskSync::Durable(const Ticket& ticket) const {
  for (const Ticket::Entry& entry : ticket.entries()) {
    if (state_->shard(entry.shard).durable_sequence.load(std::memory_order_acquire) <
        entry.sequence) {
      return false;
    }
  }
  return true;
}

Status DiskSync::WaitDurable(const Ticket& ticket) {
  if (Durable(ticket)) return Status();
  if (task_ == nullptr) return Sync();
  MutexLock lock(waiters_mutex_);
  while (!Durable(ticket)) {
    if (state_->read_only()) return state_->ReadOnlyError();
    if (!wanted_) {
      wanted_ = true;
      task_->Wake();
    }
    synced_.WaitForUs(waiters_mutex_, kPeriodUs / 10);
  }
  return Status();
}

void DiskSync::OnDurable(const Ticket& ticket, std::function<void(const Status&)> done) {
  if (Durable(ticket)) return done(Status());
  if (state_->read_only()) return done(state_->ReadOnlyError());
  {
    MutexLock lock(waiters_mutex_);
    callbacks_.push_back(Callback{ticket, std::move(done)});
    wanted_ = true;
  }
  WakeTask();
}

void DiskSync::RunCallbacks() {
  const bool failed = state_->read_only();
  std::vector<Callback> ready;
  {
    MutexLock lock(waiters_mutex_);
    const auto split =
        std::stable_partition(callbacks_.begin(), callbacks_.end(),
                              [&](const Callback& c) { return !failed && !Durable(c.ticket); });
    ready.assign(std::make_move_iterator(split), std::make_move_iterator(callbacks_.end()));
    callbacks_.erase(split, callbacks_.end());
    if (!callbacks_.empty()) wanted_ = true;
  }
  for (const Callback& c : ready) {
    c.done(Durable(c.ticket) ? Status() : state_->ReadOnlyError());
  }
}

void DiskSync::NoteJournaled() {
  uint64_t none = 0;
  if (oldest_unsynced_us_.load(std::memory_order_relaxed) == 0) {
    oldest_unsynced_us_.compare_exchange_strong(none, state_->clock->MonotonicUs());
  }
}

uint64_t DiskSync::lag_us() const {
  const uint64_t syncing = syncing_since_us_.load(std::memory_order_relaxed);
  const uint64_t oldest =
      syncing != 0 ? syncing : oldest_unsynced_us_.load(std::memory_order_relaxed);
  const uint64_t now = state_->clock->MonotonicUs();
  return oldest == 0 || oldest > now ? 0 : now - oldest;
}

Status DiskSync::WaitForLag() {
  if (state_->durability != Durability::kEverySec || lag_us() < kLagMaxUs) return Status();
  MutexLock lock(waiters_mutex_);
  while (lag_us() >= kLagMaxUs && state_->durability == Durability::kEverySec) {
    if (state_->read_only()) return state_->ReadOnlyError();
    WakeTask();
    synced_.WaitForUs(waiters_mutex_, kPeriodUs / 10);
  }
  return Status();
}

void DiskSync::Fail() {
  {
    MutexLock lock(waiters_mutex_);
    synced_.NotifyAll();
  }
  for (const auto& p : state_->partitions) {
    MutexLock lock(p->room_mutex);
    p->room.NotifyAll();
  }
  RunCallbacks();
}

}  // namespace tallystick
