#include "tests/support/test_seed.h"

#include <cstdio>
#include <cstdlib>

namespace tallystick {

uint64_t TestSeed(uint64_t fallback) {
  const char* given = std::getenv("TALLYSTICK_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : fallback;
  std::printf("[     seed ] TALLYSTICK_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace tallystick
