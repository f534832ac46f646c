// Mutex and condition variable that clang's -Wthread-safety understands.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#if defined(__clang__)
#define TALLY_TSA(x) __attribute__((x))
#else
#define TALLY_TSA(x)
#endif
#define TALLY_CAPABILITY(x) TALLY_TSA(capability(x))
#define TALLY_SCOPED_CAPABILITY TALLY_TSA(scoped_lockable)
#define TALLY_GUARDED_BY(x) TALLY_TSA(guarded_by(x))
#define TALLY_REQUIRES(...) TALLY_TSA(requires_capability(__VA_ARGS__))
#define TALLY_EXCLUDES(...) TALLY_TSA(locks_excluded(__VA_ARGS__))
#define TALLY_ACQUIRE(...) TALLY_TSA(acquire_capability(__VA_ARGS__))
#define TALLY_TRY_ACQUIRE(...) TALLY_TSA(try_acquire_capability(__VA_ARGS__))
#define TALLY_RELEASE(...) TALLY_TSA(release_capability(__VA_ARGS__))
#define TALLY_ASSUMES(...) TALLY_TSA(assert_capability(__VA_ARGS__))
#define TALLY_NO_THREAD_SAFETY_ANALYSIS TALLY_TSA(no_thread_safety_analysis)

namespace tallystick {

class TALLY_CAPABILITY("mutex") Mutex {
 public:
  void Lock() TALLY_ACQUIRE() { mutex_.lock(); }
  bool TryLock() TALLY_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void Unlock() TALLY_RELEASE() { mutex_.unlock(); }
  // Says to the analysis, which does not see into a lambda, that whoever calls it holds the mutex.
  void AssumeHeld() TALLY_ASSUMES() {}

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class TALLY_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) TALLY_ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() TALLY_RELEASE() {
    if (held_) mutex_.Unlock();
  }
  void Release() TALLY_RELEASE() {  // before the end of the scope
    mutex_.Unlock();
    held_ = false;
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// Waits may wake for no reason: always test the condition in a loop.
class CondVar {
 public:
  void Wait(Mutex& mutex) TALLY_REQUIRES(mutex) TALLY_NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    cond_.wait(lock);
    lock.release();
  }
  void WaitForUs(Mutex& mutex, uint64_t us) TALLY_REQUIRES(mutex) TALLY_NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    cond_.wait_for(lock, std::chrono::microseconds(us));
    lock.release();
  }
  void NotifyOne() { cond_.notify_one(); }
  void NotifyAll() { cond_.notify_all(); }

 private:
  std::condition_variable cond_;
};

}  // namespace tallystick
