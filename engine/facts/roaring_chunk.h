// The roaring form of a chunk: a CRoaring bitmap in run form, where few long runs make it far
// smaller than an array or bits (88 bytes for a chunk of one run, under jemalloc). The only file
// that includes CRoaring.
//
// Debian's CRoaring 0.2.66 has known faults in its (de)serialisers, range mutators, contains_range
// and copy-on-write; none of these is used. Building from values, adding, removing, looking up,
// iterating and run optimisation were tested against std::bitset. A run container never leaves that
// form by itself and grows without bound when runs are broken up, so the owner keeps the number of
// runs (Add and Remove report how it changed) and leaves this form in time.
//
// Stateless functions; `bitmap` is what New returned. The owner keeps cardinality and runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/facts/chunk_bits.h"

struct roaring_bitmap_s;

namespace tallystick::roaring_chunk {

using Bitmap = ::roaring_bitmap_s;

// O(4 KiB) for a single run, about 6 us; else O(members), about 22 us for 4,096 of them.
Bitmap* New(const ChunkBits& bits, uint32_t count);
void Free(Bitmap* bitmap);
// What forms are compared by: heap bytes of a bitmap in run form with this many runs, rounded up.
constexpr size_t BytesForRuns(uint32_t runs) {
  return 144 + 4 * size_t{runs};
}

struct Change {
  bool changed = false;
  int runs = 0;  // by how much the number of runs changed: -1, 0 or 1
};
bool Contains(const Bitmap* bitmap, uint32_t bit);
Change Add(Bitmap* bitmap, uint32_t bit);
Change Remove(Bitmap* bitmap, uint32_t bit);
void ToBits(const Bitmap* bitmap, ChunkBits* bits);
uint64_t Cardinality(const Bitmap* bitmap);
// What the allocator holds for it, by the sizes that the library asks for.
size_t MemoryBytes(const Bitmap* bitmap);

}  // namespace tallystick::roaring_chunk
