// Random numbers, injected: seeds, database ids, nothing else.
#pragma once

#include <cstdint>

namespace tallystick {

class Random {
 public:
  virtual ~Random() = default;
  virtual uint64_t Next() = 0;

  static Random* System();  // from the operating system; never deleted; thread-safe
};

}  // namespace tallystick
