// Bits of a string of 64-bit words, least significant first: load, store, and move a stretch of
// them by less than a word. Pure functions; `words` must hold every bit that is named.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/assert.h"

namespace tallystick::bit_string {

inline constexpr size_t kWordBits = 64;

// Bits [at, at + n) of the words, 0 < n <= 64, become the lowest n bits of value, whose others are
// clear.
inline void Store(uint64_t* words, size_t at, uint32_t n, uint64_t value) {
  const size_t word = at / kWordBits;
  const uint32_t shift = at % kWordBits;
  const uint64_t mask = ~uint64_t{0} >> (kWordBits - n);
  words[word] = (words[word] & ~(mask << shift)) | value << shift;
  if (shift + n > kWordBits) {
    const uint32_t done = kWordBits - shift;
    words[word + 1] = (words[word + 1] & ~(mask >> done)) | value >> done;
  }
}

// Replaces the bits of old that mask names.
inline uint64_t Merge(uint64_t old, uint64_t replacement, uint64_t mask) {
  return (old & ~mask) | (replacement & mask);
}

// Bits [from, to) move to [from + by, to + by), 0 < by < 64. Bits below from + by that were not
// moved to keep their values, and so do those from to + by on. O(words).
inline void MoveUp(uint64_t* words, size_t from, size_t to, uint32_t by) {
  TALLY_DCHECK(from <= to && by > 0 && by < kWordBits);
  if (from == to) return;
  const size_t first = (from + by) / kWordBits;
  const size_t last = (to + by - 1) / kWordBits;
  const auto moved = [words, by](size_t word) {
    return words[word] << by | (word > 0 ? words[word - 1] >> (kWordBits - by) : 0);
  };
  const uint64_t first_mask = ~uint64_t{0} << ((from + by) % kWordBits);
  uint64_t mask = ~uint64_t{0} >> (kWordBits - 1 - (to + by - 1) % kWordBits);
  if (last > first) {
    words[last] = Merge(words[last], moved(last), mask);
    mask = ~uint64_t{0};
    for (size_t word = last - 1; word > first; --word) {
      words[word] = words[word] << by | words[word - 1] >> (kWordBits - by);
    }
  }
  words[first] = Merge(words[first], moved(first), mask & first_mask);
}

// Bits [from, to) move to [from - by, to - by), 0 < by < 64, by <= from; all others keep their
// values. O(words).
inline void MoveDown(uint64_t* words, size_t from, size_t to, uint32_t by) {
  TALLY_DCHECK(from <= to && by > 0 && by < kWordBits && by <= from);
  if (from == to) return;
  const size_t first = (from - by) / kWordBits;
  const size_t last = (to - by - 1) / kWordBits;
  const size_t source_last = (to - 1) / kWordBits;
  const auto moved = [words, by, source_last](size_t word) {
    return words[word] >> by | (word < source_last ? words[word + 1] << (kWordBits - by) : 0);
  };
  const uint64_t last_mask = ~uint64_t{0} >> (kWordBits - 1 - (to - by - 1) % kWordBits);
  uint64_t mask = ~uint64_t{0} << ((from - by) % kWordBits);
  if (last > first) {
    words[first] = Merge(words[first], moved(first), mask);
    mask = ~uint64_t{0};
    for (size_t word = first + 1; word < last; ++word) {
      words[word] = words[word] >> by | words[word + 1] << (kWordBits - by);
    }
  }
  words[last] = Merge(words[last], moved(last), mask & last_mask);
}

// std::popcount is a call of a table look-up on processors of which nothing is assumed.
inline uint64_t OnesPerByteUpTo(uint64_t word) {  // byte i: ones in the bytes 0 .. i
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  return ((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101;
}
inline uint32_t CountOnes(uint64_t word) {
  return static_cast<uint32_t>(OnesPerByteUpTo(word) >> 56);
}

// Place of the one that has `rank` others below it; there must be one. After Vigna: Broadword
// Implementation of Rank/Select Queries.
inline uint32_t SelectOne(uint64_t word, uint32_t rank) {
  constexpr uint64_t kLows = 0x0101010101010101;
  constexpr uint64_t kHighs = 0x8080808080808080;
  const uint64_t ones = OnesPerByteUpTo(word);
  // A byte is passed when the ones up to its end are not more than rank.
  const uint64_t passed = (((rank * kLows | kHighs) - ones) & kHighs) >> 7;
  const auto shift = static_cast<uint32_t>(passed * kLows >> 56) * 8;
  rank -= static_cast<uint32_t>(ones << 8 >> shift & 0xff);
  // The same again with the bits of that byte, each in a byte of its own.
  const uint64_t bits = (word >> shift & 0xff) * kLows & 0x8040201008040201;
  const uint64_t each = ((bits + 0x00406070787c7e7f) & kHighs) >> 7;
  const uint64_t up_to = each * kLows;
  const uint64_t skipped = (((rank * kLows | kHighs) - up_to) & kHighs) >> 7;
  return shift + static_cast<uint32_t>(skipped * kLows >> 56);
}

}  // namespace tallystick::bit_string
