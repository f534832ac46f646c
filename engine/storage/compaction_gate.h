// CompactionGate: an Env that keeps compaction waiting until it is let go. A compaction that meets
// a damaged file is an error of the whole database, so none runs before the files were looked at,
// and none any more once one is known to be damaged: reads and writes go on without.
//
// Holds back what is scheduled at Env::Priority::LOW, which is compaction when the pool of HIGH has
// threads of its own. Thread-safe; must outlive the database.
#pragma once

#include "engine/base/mutex.h"

#include <rocksdb/env.h>

#include <memory>
#include <vector>

namespace tallystick {

class CompactionGate final : public rocksdb::EnvWrapper {
 public:
  explicit CompactionGate(std::unique_ptr<rocksdb::Env> target);

  static const char* kClassName() { return "CompactionGate"; }
  const char* Name() const override { return kClassName(); }

  void Open() TALLY_EXCLUDES(mutex_);
  // For good; true for the call that did it.
  bool Close() TALLY_EXCLUDES(mutex_);
  bool closed() const TALLY_EXCLUDES(mutex_);

  void Schedule(void (*function)(void*), void* arg, Priority priority, void* tag,
                void (*unschedule)(void*)) override TALLY_EXCLUDES(mutex_);
  int UnSchedule(void* tag, Priority priority) override TALLY_EXCLUDES(mutex_);

 private:
  struct Job {
    void (*function)(void*);
    void* arg;
    void* tag;
    void (*unschedule)(void*);
  };
  enum class State { kWaiting, kOpen, kClosed };

  mutable Mutex mutex_;
  State state_ TALLY_GUARDED_BY(mutex_) = State::kWaiting;
  std::vector<Job> held_ TALLY_GUARDED_BY(mutex_);
};

}  // namespace tallystick
