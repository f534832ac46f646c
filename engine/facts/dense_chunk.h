// The dense form of a chunk: 4 KiB of bits on the heap, least significant first. 4,096 bytes plus a
// word of the allocator, whatever the number of members; a look-up touches one cache line.
//
// Stateless functions; `words` is what New returned. The owner keeps the cardinality.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/facts/chunk_bits.h"

namespace tallystick::dense_chunk {

uint64_t* New(const ChunkBits& bits);
void Free(uint64_t* words);
size_t MemoryBytes();

inline bool Contains(const uint64_t* words, uint32_t bit) {
  return TestBit(words, bit);
}

// True when the bit was clear.
inline bool Add(uint64_t* words, uint32_t bit) {
  const uint64_t mask = uint64_t{1} << (bit % 64);
  uint64_t& word = words[bit / 64];
  const bool added = (word & mask) == 0;
  word |= mask;
  return added;
}

// True when the bit was set.
inline bool Remove(uint64_t* words, uint32_t bit) {
  const uint64_t mask = uint64_t{1} << (bit % 64);
  uint64_t& word = words[bit / 64];
  const bool removed = (word & mask) != 0;
  word &= ~mask;
  return removed;
}

}  // namespace tallystick::dense_chunk
