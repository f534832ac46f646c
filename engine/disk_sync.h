// DiskSync: fsync of the journal, the durable watermark, and those who wait for either.
//
// One background task syncs: every second in everysec, whenever somebody waits for the disk in
// always. While one fsync runs, the next group gathers. I/O threads never fsync: they leave a
// callback.
#pragma once

#include "engine/base/executor.h"
#include "engine/base/mutex.h"
#include "engine/committer.h"
#include "engine/storage/watermark.h"

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace tallystick {

class DiskSync {
 public:
  DiskSync(EngineState* state, Committer* committer, std::unique_ptr<Watermark> watermark,
           uint64_t watermark_serial);

  void Start(Executor* executor);
  void Stop();  // ends the task; later waits are served by Sync calls of the caller

  // Commits and fsyncs everything that was pushed before the call.
  Status Sync();
  Status WaitDurable(const Ticket& ticket);
  bool Durable(const Ticket& ticket) const;
  // See Engine::OnReady, for WaitFor::kDisk.
  void OnDurable(const Ticket& ticket, std::function<void(const Status&)> done);
  // After a commit: notes when the oldest unsynced write happened.
  void NoteJournaled();
  // In everysec: waits while fsync is more than kLagMaxUs behind (the promise's hard stop).
  Status WaitForLag();
  uint64_t lag_us() const;
  // Wakes everybody after the engine became read-only.
  void Fail();
  void WakeTask();

 private:
  static constexpr uint64_t kPeriodUs = 1'000'000;
  static constexpr uint64_t kLagMaxUs = 2'000'000;

  struct Callback {
    Ticket ticket;
    std::function<void(const Status&)> done;
  };

  uint64_t Run();
  void RunCallbacks();

  EngineState* const state_;
  Committer* const committer_;
  std::unique_ptr<BackgroundTask> task_;

  Mutex sync_mutex_;  // one fsync at a time; guards the watermark
  std::unique_ptr<Watermark> watermark_ TALLY_GUARDED_BY(sync_mutex_);
  WatermarkState mark_ TALLY_GUARDED_BY(sync_mutex_);
  uint64_t mark_synced_at_us_ TALLY_GUARDED_BY(sync_mutex_) = 0;

  std::atomic<uint64_t> oldest_unsynced_us_{
      0};  // 0: all is synced, but for what a running sync covers
  std::atomic<uint64_t> syncing_since_us_{
      0};  // age of the oldest write that the running sync covers
  std::atomic<uint64_t> last_sync_us_{0};

  Mutex waiters_mutex_;
  CondVar synced_;
  std::vector<Callback> callbacks_ TALLY_GUARDED_BY(waiters_mutex_);
  bool wanted_ TALLY_GUARDED_BY(waiters_mutex_) = false;
};

}  // namespace tallystick
