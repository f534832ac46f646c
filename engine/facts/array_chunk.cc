#include "engine/facts/array_chunk.h"

#include <algorithm>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/facts/heap.h"

namespace tallystick::array_chunk {
namespace {

size_t BytesFor(uint32_t capacity) {
  return (size_t{capacity} + 1) * sizeof(uint16_t);
}

// Room for count and an eighth more, up to what the allocator gives for the same price.
uint32_t CapacityFor(uint32_t count) {
  const size_t room = HeapRoom(BytesFor(count + count / 8));
  return static_cast<uint32_t>(room / sizeof(uint16_t)) - 1;
}

uint16_t* Resize(uint16_t* array, uint32_t capacity) {
  array = static_cast<uint16_t*>(HeapReallocate(array, BytesFor(capacity)));
  array[0] = static_cast<uint16_t>(capacity);
  return array;
}

}  // namespace

uint16_t* New(const ChunkBits& bits, uint32_t count) {
  TALLY_ASSERT(count > 0 && count <= kChunkBits);
  uint16_t* array = Resize(nullptr, CapacityFor(count));
  uint16_t* next = array + 1;
  ForEachBit(bits.data(), 0, kChunkBits - 1,
             [&next](uint32_t bit) { *next++ = static_cast<uint16_t>(bit); });
  TALLY_ASSERT(next == array + 1 + count);
  return array;
}

void Free(uint16_t* array) {
  HeapFree(array);
}

size_t MemoryBytes(const uint16_t* array) {
  return HeapBytes(BytesFor(Capacity(array)));
}

uint32_t LowerBound(const uint16_t* array, uint32_t count, uint32_t bit) {
  const uint16_t* base = Values(array);
  uint32_t left = count;
  while (left > 1) {  // halves without a branch that depends on the data
    const uint32_t half = left / 2;
    base += base[half - 1] < bit ? half : 0;
    left -= half;
  }
  const auto index = static_cast<uint32_t>(base - Values(array));
  return left == 1 && *base < bit ? index + 1 : index;
}

bool Contains(const uint16_t* array, uint32_t count, uint32_t bit) {
  const uint32_t index = LowerBound(array, count, bit);
  return index < count && Values(array)[index] == bit;
}

uint16_t* Insert(uint16_t* array, uint32_t count, uint32_t index, uint32_t bit) {
  TALLY_DCHECK(index <= count && bit < kChunkBits);
  if (count == Capacity(array)) array = Resize(array, CapacityFor(count + 1));
  uint16_t* at = array + 1 + index;
  std::memmove(at + 1, at, (count - index) * sizeof(uint16_t));
  *at = static_cast<uint16_t>(bit);
  return array;
}

uint16_t* Erase(uint16_t* array, uint32_t count, uint32_t index) {
  TALLY_DCHECK(index < count);
  uint16_t* at = array + 1 + index;
  std::memmove(at, at + 1, (count - index - 1) * sizeof(uint16_t));
  // Gives memory back when two thirds would do; the gap to growth keeps toggling free of the
  // allocator.
  const uint32_t fitting = CapacityFor(count);
  if (fitting + fitting / 2 < Capacity(array)) array = Resize(array, fitting);
  return array;
}

uint32_t CountRuns(const uint16_t* array, uint32_t count) {
  const uint16_t* values = Values(array);
  uint32_t runs = count == 0 ? 0 : 1;
  for (uint32_t i = 1; i < count; ++i) runs += values[i] != values[i - 1] + 1 ? 1u : 0u;
  return runs;
}

void ToBits(const uint16_t* array, uint32_t count, ChunkBits* bits) {
  bits->fill(0);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t bit = Values(array)[i];
    (*bits)[bit / 64] |= uint64_t{1} << (bit % 64);
  }
}

}  // namespace tallystick::array_chunk
