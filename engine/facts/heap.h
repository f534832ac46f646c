// Raw memory for containers, and what it really costs. Containers use the C allocator because they
// grow in place with realloc and keep their own size.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace tallystick {

// Whether malloc is jemalloc's; weak, so null when it is not linked.
extern "C" size_t nallocx(size_t size, int flags) __attribute__((weak));
inline bool HeapIsJemalloc() {
  return nallocx != nullptr;
}

// Bytes that the allocator holds for a request. glibc adds a word and rounds up to 16, at least 32.
// jemalloc (5, with pages of 4 KiB) rounds up: to 8, to multiples of 16 as far as 128, then to four
// sizes in each doubling.
inline size_t HeapBytes(size_t requested) {
  if (!HeapIsJemalloc()) return std::max<size_t>(32, (requested + 8 + 15) / 16 * 16);
  if (requested <= 8) return 8;
  const size_t step = requested <= 128 ? 16 : size_t{1} << (std::bit_width(requested - 1) - 3);
  return (requested + step - 1) / step * step;
}

// The largest request that costs no more than this one.
inline size_t HeapRoom(size_t requested) {
  return HeapBytes(requested) - (HeapIsJemalloc() ? 0 : 8);
}

inline void* HeapAllocate(size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

inline void* HeapReallocate(void* memory, size_t bytes) {
  void* moved = std::realloc(memory, bytes);
  if (moved == nullptr) throw std::bad_alloc();
  return moved;
}

inline void HeapFree(void* memory) {
  std::free(memory);
}

}  // namespace tallystick
