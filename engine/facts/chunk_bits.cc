#include "engine/facts/chunk_bits.h"

#include "engine/base/assert.h"
#include "engine/facts/popcount.h"

namespace tallystick {
namespace {

// The bits of word `index` that lie in first..last.
uint64_t MaskOf(uint32_t index, uint32_t first, uint32_t last) {
  uint64_t mask = ~uint64_t{0};
  if (index == first / 64) mask &= ~uint64_t{0} << (first % 64);
  if (index == last / 64) mask &= ~uint64_t{0} >> (63 - last % 64);
  return mask;
}

// The first bit >= from of the words XOR flip.
uint32_t NextBit(const uint64_t* words, uint32_t from, uint64_t flip) {
  if (from >= kChunkBits) return kChunkBits;
  uint32_t index = from / 64;
  uint64_t word = (words[index] ^ flip) & (~uint64_t{0} << (from % 64));
  while (word == 0) {
    if (++index == kChunkWords) return kChunkBits;
    word = words[index] ^ flip;
  }
  return index * 64 + static_cast<uint32_t>(std::countr_zero(word));
}

}  // namespace

uint32_t CountBits(const uint64_t* words, uint32_t first, uint32_t last) {
  TALLY_ASSERT(first <= last && last < kChunkBits);
  const uint32_t head = first / 64;
  const uint32_t tail = last / 64;
  if (head == tail) {
    const uint64_t word = words[head] & MaskOf(head, first, last);
    return static_cast<uint32_t>(Popcount(&word, 1));
  }
  const uint64_t ends[2] = {words[head] & MaskOf(head, first, last),
                            words[tail] & MaskOf(tail, first, last)};
  return static_cast<uint32_t>(Popcount(ends, 2) + Popcount(words + head + 1, tail - head - 1));
}

uint32_t CountRuns(const uint64_t* words) {
  ChunkBits starts;  // a run starts at each set bit whose lower neighbour is clear
  uint64_t carry = 0;
  for (size_t i = 0; i < kChunkWords; ++i) {
    starts[i] = words[i] & ~((words[i] << 1) | carry);
    carry = words[i] >> 63;
  }
  return static_cast<uint32_t>(Popcount(starts.data(), starts.size()));
}

void SetBitRange(uint64_t* words, uint32_t first, uint32_t last) {
  TALLY_ASSERT(first <= last && last < kChunkBits);
  for (uint32_t i = first / 64; i <= last / 64; ++i) words[i] |= MaskOf(i, first, last);
}

void ClearBitRange(uint64_t* words, uint32_t first, uint32_t last) {
  TALLY_ASSERT(first <= last && last < kChunkBits);
  for (uint32_t i = first / 64; i <= last / 64; ++i) words[i] &= ~MaskOf(i, first, last);
}

uint32_t NextSetBit(const uint64_t* words, uint32_t from) {
  return NextBit(words, from, 0);
}

uint32_t NextClearBit(const uint64_t* words, uint32_t from) {
  return NextBit(words, from, ~uint64_t{0});
}

std::optional<uint32_t> LastSetBit(const uint64_t* words, uint32_t first, uint32_t last) {
  TALLY_ASSERT(first <= last && last < kChunkBits);
  for (uint32_t i = last / 64 + 1; i-- > first / 64;) {
    const uint64_t word = words[i] & MaskOf(i, first, last);
    if (word != 0) return i * 64 + 63 - static_cast<uint32_t>(std::countl_zero(word));
  }
  return std::nullopt;
}

}  // namespace tallystick
