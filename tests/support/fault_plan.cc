#include "tests/support/fault_plan.h"

#include <algorithm>

namespace tallystick {

void FaultPlan::Clear() {
  armed_.clear();
  quota_ = std::numeric_limits<uint64_t>::max();
}

FaultError FaultPlan::Next(FaultCall call, const std::string& path) {
  ++calls_[static_cast<size_t>(call)];
  FaultError error = FaultError::kNone;
  for (Armed& armed : armed_) {
    const Fault& fault = armed.fault;
    if (fault.call != call || path.find(fault.path_contains) == std::string::npos) continue;
    ++armed.seen;
    if (armed.seen == fault.nth || (fault.forever && armed.seen > fault.nth)) error = fault.error;
  }
  if (error != FaultError::kNone) ++fired_;
  return error;
}

uint64_t FaultPlan::TakeQuota(uint64_t bytes) {
  const uint64_t fit = std::min(bytes, quota_);
  if (quota_ != std::numeric_limits<uint64_t>::max()) quota_ -= fit;
  if (fit < bytes) ++fired_;
  return fit;
}

}  // namespace tallystick
