// WriteGate: after the first failed write or fsync nothing more is written until the store is
// opened again. What a failed call left on disk is unknown, and a retried fsync can report success
// for pages that the kernel has already dropped (Rebello et al., "Can Applications Recover from
// fsync Failures?", USENIX ATC 2020).
//
// Thread-safety: all calls from any thread. The open gate costs one load.
#pragma once

#include "engine/base/mutex.h"

#include <tallystick/status.h>

#include <atomic>
#include <string>

namespace tallystick {

class WriteGate {
 public:
  bool closed() const { return closed_.load(std::memory_order_acquire); }

  // OK while open; afterwards kReadOnly with the first cause.
  Status Check() const {
    if (!closed()) return Status();
    MutexLock lock(mutex_);
    return Status::Error(StatusCode::kReadOnly,
                         "writes stopped after an earlier failure: " + cause_);
  }

  // The first cause stays. Returns true when this call closed the gate.
  bool Close(const Status& cause) {
    MutexLock lock(mutex_);
    if (!cause_.empty()) return false;
    cause_ = cause.ToString();
    closed_.store(true, std::memory_order_release);  // after cause_: Check reads it when closed
    return true;
  }

 private:
  mutable Mutex mutex_;
  std::string cause_ TALLY_GUARDED_BY(mutex_);
  std::atomic<bool> closed_{false};
};

}  // namespace tallystick
