// Counting set bits, with the best instructions that this processor has: chosen once at run time,
// because the library is built for plain x86-64.
//
// Pure, thread-safe. Measured for 4 KiB (see docs/design/0001-fact-set-forms.md).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tallystick {

enum class PopcountKind : uint8_t { kScalar, kPopcnt, kAvx2, kAvx512 };

// Set bits in words[0 .. count), by the fastest kind.
uint64_t Popcount(const uint64_t* words, size_t count);

// For tests and benchmarks: each kind by name. PopcountWith must not be asked for a kind that is
// not supported here.
bool PopcountSupported(PopcountKind kind);
uint64_t PopcountWith(PopcountKind kind, const uint64_t* words, size_t count);

}  // namespace tallystick
