#include "engine/storage/compaction_gate.h"

#include <algorithm>
#include <utility>

namespace tallystick {

CompactionGate::CompactionGate(std::unique_ptr<rocksdb::Env> target)
    : EnvWrapper(std::move(target)) {}

void CompactionGate::Open() {
  std::vector<Job> jobs;
  {
    MutexLock lock(mutex_);
    if (state_ != State::kWaiting) return;
    state_ = State::kOpen;
    jobs.swap(held_);
  }
  for (const Job& job : jobs) {
    EnvWrapper::Schedule(job.function, job.arg, Priority::LOW, job.tag, job.unschedule);
  }
}

bool CompactionGate::Close() {
  MutexLock lock(mutex_);
  return std::exchange(state_, State::kClosed) != State::kClosed;
}

bool CompactionGate::closed() const {
  MutexLock lock(mutex_);
  return state_ == State::kClosed;
}

void CompactionGate::Schedule(void (*function)(void*), void* arg, Priority priority, void* tag,
                              void (*unschedule)(void*)) {
  if (priority == Priority::LOW) {
    MutexLock lock(mutex_);
    if (state_ != State::kOpen) {
      held_.push_back({function, arg, tag, unschedule});
      return;
    }
  }
  EnvWrapper::Schedule(function, arg, priority, tag, unschedule);
}

int CompactionGate::UnSchedule(void* tag, Priority priority) {
  std::vector<Job> jobs;
  if (priority == Priority::LOW) {
    MutexLock lock(mutex_);
    const auto of_others = std::stable_partition(
        held_.begin(), held_.end(), [tag](const Job& job) { return job.tag != tag; });
    jobs.assign(of_others, held_.end());
    held_.erase(of_others, held_.end());
  }
  for (const Job& job : jobs) {
    if (job.unschedule != nullptr) job.unschedule(job.arg);
  }
  return static_cast<int>(jobs.size()) + EnvWrapper::UnSchedule(tag, priority);
}

}  // namespace tallystick
