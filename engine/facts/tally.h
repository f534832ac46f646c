// What the directory of a fact set adds up over its entries.
#pragma once

#include <cstdint>

namespace tallystick {

struct Tally {
  uint64_t members = 0;
  uint32_t absent = 0;   // chunks that are on disk only
  uint32_t changed = 0;  // chunks that the next snapshot must write

  Tally& operator+=(const Tally& other) {
    members += other.members;
    absent += other.absent;
    changed += other.changed;
    return *this;
  }
  Tally& operator-=(const Tally& other) {
    members -= other.members;
    absent -= other.absent;
    changed -= other.changed;
    return *this;
  }
  friend bool operator==(const Tally&, const Tally&) = default;
};

}  // namespace tallystick
