#include "engine/base/random.h"

#include "engine/base/assert.h"

#include <sys/random.h>

namespace tallystick {
namespace {

class SystemRandom final : public Random {
 public:
  uint64_t Next() override {
    uint64_t value = 0;
    TALLY_ASSERT(getrandom(&value, sizeof value, 0) == static_cast<ssize_t>(sizeof value));
    return value;
  }
};

}  // namespace

Random* Random::System() {
  static SystemRandom random;
  return &random;
}

}  // namespace tallystick
