// Time, injected. Windows and timeouts use the monotonic clock, stamps and expiry the wall clock.
#pragma once

#include <cstdint>

namespace tallystick {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual uint64_t MonotonicUs() const = 0;
  virtual uint64_t WallMs() const = 0;  // since 1970, UTC

  static Clock* Real();  // never deleted
};

}  // namespace tallystick
