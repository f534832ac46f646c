// Background work, injected. A task is a function that the executor runs again and again, never
// twice at once; it returns how long it wants to rest. Tests run tasks by hand on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace tallystick {

class BackgroundTask {
 public:
  virtual ~BackgroundTask() =
      default;  // stops: returns when the function is not running and never will be
  // Cuts the present rest short. Any thread; cheap when the task is already awake.
  virtual void Wake() = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;
  // `run` returns microseconds to rest before the next run. `name` (at most 15 bytes) labels the
  // thread.
  virtual std::unique_ptr<BackgroundTask> Start(const std::string& name,
                                                std::function<uint64_t()> run) = 0;

  // One thread per task. Never deleted.
  static Executor* Threads();
  // Threads that can run at once; at least 1.
  static uint32_t Cores();
};

}  // namespace tallystick
