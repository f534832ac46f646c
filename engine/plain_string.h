// Bits of plain strings, in Redis's order: bit 0 is the most significant bit of the first byte.
#pragma once

#include "engine/facts/entity.h"

#include <tallystick/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tallystick {

// Whether the key exists at `now_ms`: what has expired may still be in memory.
bool LivePlain(const PlainState& plain, uint64_t now_ms);

bool StringBit(std::string_view value, uint64_t bit);
// Lengthens with zero bytes when needed.
void SetStringBit(std::string* value, uint64_t bit, bool on);
// Set bits within range. O(bytes of the range).
uint64_t StringBits(std::string_view value, UidRange range);
// The first bit within range that is set (or, !on, clear; clear ones go on behind the string).
std::optional<uint64_t> FirstStringBit(std::string_view value, UidRange range, bool on);
std::optional<uint64_t> LastStringBit(std::string_view value, UidRange range);
// A bitmap as the string that Redis would hold. `bits` may be null.
std::string BitsAsString(const MetricSet* bits, uint64_t bytes);

}  // namespace tallystick
