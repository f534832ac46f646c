#include "engine/base/executor.h"

#include "engine/base/mutex.h"

#include <pthread.h>

#include <algorithm>
#include <thread>

namespace tallystick {
namespace {

class ThreadTask final : public BackgroundTask {
 public:
  ThreadTask(const std::string& name, std::function<uint64_t()> run)
      : run_(std::move(run)), thread_([this, name] { Loop(name); }) {}

  ~ThreadTask() override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    cond_.NotifyAll();
    thread_.join();
  }

  void Wake() override {
    {
      MutexLock lock(mutex_);
      if (woken_) return;
      woken_ = true;
    }
    cond_.NotifyOne();
  }

 private:
  void Loop(const std::string& name) {
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    for (;;) {
      const uint64_t rest_us = run_();
      MutexLock lock(mutex_);
      if (stopping_) return;
      if (!woken_ && rest_us > 0) cond_.WaitForUs(mutex_, rest_us);
      if (stopping_) return;
      woken_ = false;
    }
  }

  const std::function<uint64_t()> run_;
  Mutex mutex_;
  CondVar cond_;
  bool woken_ TALLY_GUARDED_BY(mutex_) = false;
  bool stopping_ TALLY_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

class ThreadExecutor final : public Executor {
 public:
  std::unique_ptr<BackgroundTask> Start(const std::string& name,
                                        std::function<uint64_t()> run) override {
    return std::make_unique<ThreadTask>(name, std::move(run));
  }
};

}  // namespace

uint32_t Executor::Cores() {
  return std::max(1u, std::thread::hardware_concurrency());
}

Executor* Executor::Threads() {
  static ThreadExecutor executor;
  return &executor;
}

}  // namespace tallystick
