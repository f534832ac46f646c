// Up to 15 bytes of uids inside a fact set's own 16 bytes, without an allocation: n members have
// 15 / n bytes each (8 at most), so that one uid of any size, two below 2^56, three below 2^40,
// five below 2^24 ... fit.
//
// Pure functions over the two words of a FactSet. words[1] and the low 56 bits of words[0] hold the
// members, ascending, lowest first; bits 56-59 of words[0] their number; its top three bits are 0.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tallystick::inline_uids {

inline constexpr uint32_t kMembersMax = 15;

__extension__ using Uint128 = unsigned __int128;

inline uint32_t Count(const uint64_t* words) {
  return static_cast<uint32_t>(words[0] >> 56 & 0x0f);
}

// Bits of a member when there are n.
inline uint32_t WidthBits(uint32_t n) {
  return 8 * std::min<uint32_t>(8, kMembersMax / n);
}

// Whether n members, the largest of which is given, have room.
inline bool Fits(size_t n, uint64_t largest) {
  if (n == 0) return true;
  if (n > kMembersMax) return false;
  return static_cast<uint32_t>(std::bit_width(largest)) <= WidthBits(static_cast<uint32_t>(n));
}

// Writes the members to uids (room for kMembersMax); their number.
inline uint32_t Read(const uint64_t* words, uint64_t* uids) {
  const uint32_t n = Count(words);
  if (n == 0) return 0;
  const uint32_t width = WidthBits(n);
  Uint128 rest = Uint128{words[0] << 8 >> 8} << 64 | words[1];
  for (uint32_t i = 0; i < n; ++i) {
    uids[i] = static_cast<uint64_t>(rest) << (64 - width) >> (64 - width);
    rest >>= width;
  }
  return n;
}

// They must fit.
inline void Write(std::span<const uint64_t> ascending, uint64_t* words) {
  Uint128 all = 0;
  if (!ascending.empty()) {
    const uint32_t width = WidthBits(static_cast<uint32_t>(ascending.size()));
    for (size_t i = ascending.size(); i-- > 0;) all = all << width | ascending[i];
  }
  words[0] = static_cast<uint64_t>(all >> 64) | uint64_t{ascending.size()} << 56;
  words[1] = static_cast<uint64_t>(all);
}

}  // namespace tallystick::inline_uids
