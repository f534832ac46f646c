// The array form of a chunk: its members as sorted 16-bit numbers, 2 bytes each. The first element
// holds the capacity, so that the owner needs a pointer and a count only. Grows by an eighth: a
// member costs about 2.1 bytes; an insert moves at most 4 KiB.
//
// Stateless functions; `array` is what New or a mutator returned. The owner keeps the cardinality.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/facts/chunk_bits.h"

namespace tallystick::array_chunk {

// The members of bits first to last; count is their number, at least 1.
uint16_t* New(const ChunkBits& bits, uint32_t count);
void Free(uint16_t* array);
size_t MemoryBytes(const uint16_t* array);

inline const uint16_t* Values(const uint16_t* array) {
  return array + 1;
}
inline uint32_t Capacity(const uint16_t* array) {
  return array[0];
}

// Index of the first value >= bit; count when there is none.
uint32_t LowerBound(const uint16_t* array, uint32_t count, uint32_t bit);
bool Contains(const uint16_t* array, uint32_t count, uint32_t bit);
// Both return the array, which may have moved. Insert: bit is not a member, index is its lower
// bound.
uint16_t* Insert(uint16_t* array, uint32_t count, uint32_t index, uint32_t bit);
uint16_t* Erase(uint16_t* array, uint32_t count, uint32_t index);
uint32_t CountRuns(const uint16_t* array, uint32_t count);
void ToBits(const uint16_t* array, uint32_t count, ChunkBits* bits);

}  // namespace tallystick::array_chunk
