// Numbers as they arrive on the wire: one strict parser for all of them.
//
// The accepted form is Redis's string2ll: "0", or an optional minus and a digit 1-9 followed by
// digits. Blanks, "+1", "01", "-0" and "" are refused, so a number has exactly one spelling and a
// parsed value can stand for the bytes that named it. Pure; no allocation; O(length).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tallystick::server {

// A canonical signed 64-bit decimal, or nullopt.
std::optional<int64_t> ParseInt64(std::string_view text);

// A canonical unsigned 64-bit decimal (a uid, a chunk number), or nullopt.
std::optional<uint64_t> ParseUint64(std::string_view text);

// ASCII letters compared without case, as Redis compares command and option names.
bool EqualsIgnoreCase(std::string_view a, std::string_view b);

}  // namespace tallystick::server
