// Two orders of bits in a byte. Redis numbers them from the most significant (bit 0 of a string is
// 0x80 of its first byte); machine words and our chunks from the least. We convert only where bytes
// leave or enter as Redis strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tallystick {

// Reverses the bits inside each of the eight bytes; the bytes stay where they are.
inline uint64_t ReverseBitsInBytes(uint64_t x) {
  x = ((x >> 1) & 0x5555555555555555) | ((x & 0x5555555555555555) << 1);
  x = ((x >> 2) & 0x3333333333333333) | ((x & 0x3333333333333333) << 2);
  return ((x >> 4) & 0x0f0f0f0f0f0f0f0f) | ((x & 0x0f0f0f0f0f0f0f0f) << 4);
}

// Sets bit `index` of a Redis string.
inline void SetRedisBit(char* string, uint64_t index) {
  char& byte = string[index / 8];
  byte = static_cast<char>(static_cast<uint8_t>(byte) | (0x80u >> (index % 8)));
}

inline bool TestRedisBit(const char* string, uint64_t index) {
  return (static_cast<uint8_t>(string[index / 8]) & (0x80u >> (index % 8))) != 0;
}

// ORs `bytes` bytes of a little-endian, least-significant-first bitmap into a Redis string.
inline void OrIntoRedisString(const char* bitmap, size_t bytes, char* string) {
  size_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    uint64_t from;
    uint64_t to;
    std::memcpy(&from, bitmap + i, 8);
    std::memcpy(&to, string + i, 8);
    to |= ReverseBitsInBytes(from);
    std::memcpy(string + i, &to, 8);
  }
  for (; i < bytes; ++i) {
    const auto from = static_cast<uint8_t>(ReverseBitsInBytes(static_cast<uint8_t>(bitmap[i])));
    string[i] = static_cast<char>(static_cast<uint8_t>(string[i]) | from);
  }
}

}  // namespace tallystick
