// FaultPlan: which calls to the file system are to fail. Thread-safe by its owner's lock.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tallystick {

enum class FaultCall : uint8_t { kAppend, kSync, kRead, kOpen, kRename };
enum class FaultError : uint8_t { kNone, kEio, kNoSpace };

struct Fault {
  FaultCall call = FaultCall::kAppend;
  uint64_t nth = 1;      // counts the matching calls since it was armed; the first is 1
  bool forever = false;  // that call and all later ones, else that one alone
  FaultError error = FaultError::kEio;
  std::string path_contains = "";  // empty: any path
};

class FaultPlan {
 public:
  void Arm(const Fault& fault) { armed_.push_back({fault, 0}); }
  void Clear();
  // Bytes that may still be appended before the disk is full.
  void SetQuota(uint64_t bytes) { quota_ = bytes; }

  // To be asked once for each call: what it shall fail with.
  FaultError Next(FaultCall call, const std::string& path);
  // How many of `bytes` fit; takes them from the quota.
  uint64_t TakeQuota(uint64_t bytes);

  uint64_t fired() const { return fired_; }
  uint64_t calls(FaultCall call) const { return calls_[static_cast<size_t>(call)]; }

 private:
  struct Armed {
    Fault fault;
    uint64_t seen;
  };
  std::vector<Armed> armed_;
  uint64_t quota_ = std::numeric_limits<uint64_t>::max();
  uint64_t fired_ = 0;
  uint64_t calls_[5] = {};
};

}  // namespace tallystick
