// The seed of a randomised test: printed, so that a failure can be replayed with
// TALLYSTICK_TEST_SEED=<seed>.
#pragma once

#include <cstdint>

namespace tallystick {

// From TALLYSTICK_TEST_SEED, else `fallback`.
uint64_t TestSeed(uint64_t fallback);

}  // namespace tallystick
