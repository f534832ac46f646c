#include "engine/facts/roaring_chunk.h"

#include <roaring/containers/containers.h>
#include <roaring/roaring.h>

#include <memory>
#include <new>
#include <type_traits>

#include "engine/base/assert.h"
#include "engine/facts/heap.h"

namespace tallystick::roaring_chunk {
namespace {

static_assert(std::is_same_v<Bitmap, roaring_bitmap_t>);

constexpr uint32_t kReadAtOnce = 1024;

// How many of the two neighbours of bit are members.
int Neighbours(const Bitmap* bitmap, uint32_t bit) {
  const bool below = bit > 0 && roaring_bitmap_contains(bitmap, bit - 1);
  const bool above = bit + 1 < kChunkBits && roaring_bitmap_contains(bitmap, bit + 1);
  return (below ? 1 : 0) + (above ? 1 : 0);
}

}  // namespace

Bitmap* New(const ChunkBits& bits, uint32_t count) {
  TALLY_ASSERT(count > 0 && count <= kChunkBits);
  const uint32_t first = NextSetBit(bits.data(), 0);
  const uint32_t last = *LastSetBit(bits.data(), 0, kChunkBits - 1);
  if (last - first + 1 == count) {  // one run: by far the most common, and no member is touched
    Bitmap* range = roaring_bitmap_from_range(first, last + 1, 1);
    if (range == nullptr) throw std::bad_alloc();
    roaring_bitmap_run_optimize(range);
    roaring_bitmap_shrink_to_fit(range);
    return range;
  }
  const auto values = std::make_unique<uint32_t[]>(count);
  uint32_t* next = values.get();
  ForEachBit(bits.data(), 0, kChunkBits - 1, [&next](uint32_t bit) { *next++ = bit; });
  TALLY_ASSERT(next == values.get() + count);
  Bitmap* bitmap = roaring_bitmap_of_ptr(count, values.get());
  if (bitmap == nullptr) throw std::bad_alloc();
  roaring_bitmap_run_optimize(bitmap);
  roaring_bitmap_shrink_to_fit(bitmap);
  return bitmap;
}

void Free(Bitmap* bitmap) {
  roaring_bitmap_free(bitmap);
}

bool Contains(const Bitmap* bitmap, uint32_t bit) {
  return roaring_bitmap_contains(bitmap, bit);
}

Change Add(Bitmap* bitmap, uint32_t bit) {
  TALLY_DCHECK(bit < kChunkBits);
  if (!roaring_bitmap_add_checked(bitmap, bit)) return {};
  return {.changed = true, .runs = 1 - Neighbours(bitmap, bit)};
}

Change Remove(Bitmap* bitmap, uint32_t bit) {
  TALLY_DCHECK(bit < kChunkBits);
  if (!roaring_bitmap_remove_checked(bitmap, bit)) return {};
  return {.changed = true, .runs = Neighbours(bitmap, bit) - 1};
}

void ToBits(const Bitmap* bitmap, ChunkBits* bits) {
  bits->fill(0);
  const uint32_t first = roaring_bitmap_minimum(bitmap);
  const uint32_t last = roaring_bitmap_maximum(bitmap);
  if (last < kChunkBits && roaring_bitmap_get_cardinality(bitmap) == last - first + 1) {
    SetBitRange(bits->data(), first, last);
    return;
  }
  roaring_uint32_iterator_t iterator;
  roaring_init_iterator(bitmap, &iterator);
  uint32_t values[kReadAtOnce];
  uint32_t read = 0;
  // Members of one word are gathered in a register: a store for each would wait for the one before.
  uint32_t index = 0;
  uint64_t word = 0;
  do {
    read = roaring_read_uint32_iterator(&iterator, values, kReadAtOnce);
    for (uint32_t i = 0; i < read; ++i) {
      if (values[i] / 64 != index) {
        TALLY_ASSERT(values[i] < kChunkBits);
        (*bits)[index] = word;
        index = values[i] / 64;
        word = 0;
      }
      word |= uint64_t{1} << (values[i] % 64);
    }
  } while (read == kReadAtOnce);
  (*bits)[index] = word;
}

size_t MemoryBytes(const Bitmap* bitmap) {
  const roaring_array_t& chunks = bitmap->high_low_container;
  constexpr size_t kPerChunk = sizeof(void*) + sizeof(uint16_t) + sizeof(uint8_t);
  size_t bytes = HeapBytes(sizeof(Bitmap)) +
                 HeapBytes(static_cast<size_t>(chunks.allocation_size) * kPerChunk);
  for (int32_t i = 0; i < chunks.size; ++i) {
    const void* chunk = chunks.containers[i];
    switch (chunks.typecodes[i]) {
      case RUN_CONTAINER_TYPE_CODE: {
        const auto* run = static_cast<const run_container_t*>(chunk);
        bytes += HeapBytes(sizeof(run_container_t)) +
                 HeapBytes(static_cast<size_t>(run->capacity) * sizeof(rle16_t));
        break;
      }
      case ARRAY_CONTAINER_TYPE_CODE: {
        const auto* array = static_cast<const array_container_t*>(chunk);
        bytes += HeapBytes(sizeof(array_container_t)) +
                 HeapBytes(static_cast<size_t>(array->capacity) * sizeof(uint16_t));
        break;
      }
      default:
        bytes += HeapBytes(sizeof(bitset_container_t)) + HeapBytes(8192);
        break;
    }
  }
  return bytes;
}

uint64_t Cardinality(const Bitmap* bitmap) {
  return roaring_bitmap_get_cardinality(bitmap);
}

}  // namespace tallystick::roaring_chunk
