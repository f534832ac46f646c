// The arithmetic of bit fields: pure, so that sets and strings share it.
#pragma once

#include <tallystick/algebra.h>

#include <cstdint>
#include <functional>
#include <optional>

namespace tallystick {

// Runs one operation on bits that `get` reads; the answer as BITFIELD gives it (nullopt: overflow
// with kFail). `put` is called for each bit of a value that is written, changed or not.
std::optional<int64_t> RunBitFieldOp(const BitFieldOp& op,
                                     const std::function<bool(uint64_t bit)>& get,
                                     const std::function<void(uint64_t bit, bool on)>& put);

}  // namespace tallystick
