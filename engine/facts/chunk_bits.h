// Work on the 32,768 bits of one chunk, least significant first: member b is bit b % 64 of word
// b / 64. Used by the dense container and, as a scratch form, by conversions and images.
//
// Pure functions over kChunkWords words. Ranges first..last include both ends.
#pragma once

#include <tallystick/types.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tallystick {

inline constexpr size_t kChunkWords = kChunkBits / 64;
using ChunkBits = std::array<uint64_t, kChunkWords>;

inline uint64_t ChunkOf(uint64_t uid) {
  return uid / kChunkBits;
}
inline uint32_t BitOf(uint64_t uid) {
  return static_cast<uint32_t>(uid % kChunkBits);
}
inline uint64_t FirstUidOf(uint64_t chunk) {
  return chunk * kChunkBits;
}
inline uint64_t LastUidOf(uint64_t chunk) {
  return chunk * kChunkBits + (kChunkBits - 1);
}
inline constexpr uint64_t kChunkNumberMax = UINT64_MAX / kChunkBits;

inline bool TestBit(const uint64_t* words, uint32_t bit) {
  return ((words[bit / 64] >> (bit % 64)) & 1) != 0;
}

uint32_t CountBits(const uint64_t* words, uint32_t first, uint32_t last);
// Maximal groups of neighbouring members.
uint32_t CountRuns(const uint64_t* words);
void SetBitRange(uint64_t* words, uint32_t first, uint32_t last);
void ClearBitRange(uint64_t* words, uint32_t first, uint32_t last);
// The first set bit >= from (which may be kChunkBits), or kChunkBits when there is none.
uint32_t NextSetBit(const uint64_t* words, uint32_t from);
uint32_t NextClearBit(const uint64_t* words, uint32_t from);
std::optional<uint32_t> LastSetBit(const uint64_t* words, uint32_t first, uint32_t last);

// Calls visit(bit) for each set bit in first..last, ascending.
template <typename Visit>
void ForEachBit(const uint64_t* words, uint32_t first, uint32_t last, Visit visit) {
  for (uint32_t i = first / 64; i <= last / 64; ++i) {
    uint64_t word = words[i];
    if (i == first / 64) word &= ~uint64_t{0} << (first % 64);
    if (i == last / 64) word &= ~uint64_t{0} >> (63 - last % 64);
    for (; word != 0; word &= word - 1) {
      visit(i * 64 + static_cast<uint32_t>(std::countr_zero(word)));
    }
  }
}

// Calls visit(first, last) for each run, ascending.
template <typename Visit>
void ForEachRun(const uint64_t* words, Visit visit) {
  uint32_t first = NextSetBit(words, 0);
  while (first < kChunkBits) {
    const uint32_t end = NextClearBit(words, first);
    visit(first, end - 1);
    first = NextSetBit(words, end);
  }
}

}  // namespace tallystick
