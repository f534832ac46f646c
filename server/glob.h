// Glob patterns of KEYS, SCAN MATCH and CONFIG GET, with the meaning of Redis's stringmatch.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tallystick::server {

// Longer patterns are refused by the commands that take one.
inline constexpr size_t kPatternBytesMax = 512;

// * any bytes, ? one byte, [abc] [a-z] [^a] classes, \x the byte x itself. An unclosed class ends
// with the pattern; a trailing backslash stands for itself. Iterative: remembers only the last
// star, so the work is at most pattern x text, never exponential. Pure.
bool GlobMatch(std::string_view pattern, std::string_view text, bool ignore_case = false);

// The bytes that every match of the pattern begins with (escapes removed).
std::string GlobLiteralPrefix(std::string_view pattern);

// Whether the pattern has no special byte at all, so that it matches exactly one text.
bool GlobIsLiteral(std::string_view pattern);

}  // namespace tallystick::server
