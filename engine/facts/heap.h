// Raw memory for containers, and what it really costs. Containers use the C allocator because they
// grow in place with realloc and keep their own size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace tallystick {

// Bytes that the allocator holds for a request: glibc adds a word and rounds up to 16, at least 32.
inline size_t HeapBytes(size_t requested) {
  return std::max<size_t>(32, (requested + 8 + 15) / 16 * 16);
}

// The largest request that costs no more than this one.
inline size_t HeapRoom(size_t requested) {
  return HeapBytes(requested) - 8;
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
