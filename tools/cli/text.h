// Text for people: quoting of bytes from outside, hexadecimal, numbers with thousands separators.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tallystick {

// In double quotes; every byte outside 0x20-0x7e, quotes and backslashes as \xNN; at most 128 bytes
// of input, then "...". Safe to print whatever the bytes are.
std::string Quoted(std::string_view bytes);

// Two lower-case digits per byte.
std::string Hex(std::string_view bytes);

// 1234567 as "1,234,567".
std::string Thousands(uint64_t number);

}  // namespace tallystick
