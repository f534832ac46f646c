#include "engine/facts/dense_chunk.h"

#include <cstring>

#include "engine/facts/heap.h"

namespace tallystick::dense_chunk {

uint64_t* New(const ChunkBits& bits) {
  auto* words = static_cast<uint64_t*>(HeapAllocate(sizeof(ChunkBits)));
  std::memcpy(words, bits.data(), sizeof(ChunkBits));
  return words;
}

void Free(uint64_t* words) {
  HeapFree(words);
}

size_t MemoryBytes() {
  return HeapBytes(sizeof(ChunkBits));
}

}  // namespace tallystick::dense_chunk
