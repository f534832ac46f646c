#include "engine/facts/block.h"

#include <algorithm>
#include <bit>

#include "engine/base/assert.h"
#include "engine/facts/heap.h"

namespace tallystick {
namespace {

uint8_t WidthFor(uint64_t largest) {
  return static_cast<uint8_t>(std::max<uint64_t>(1, (std::bit_width(largest) + 7) / 8));
}

size_t BytesFor(uint32_t capacity, uint8_t width) {
  return sizeof(Block) + size_t{capacity} * width + (8u - width);
}

// As many members as the allocator gives for the price of `count`.
uint32_t CapacityFor(uint32_t count, uint8_t width) {
  const size_t room = HeapRoom(BytesFor(count, width)) - BytesFor(0, width);
  return static_cast<uint32_t>(std::min<size_t>(room / width, Block::kMembersMax));
}

}  // namespace

Block* Block::Allocate(uint32_t count, uint8_t width, uint32_t spare) {
  TALLY_ASSERT(count > 0 && count <= kMembersMax && width >= 1 && width <= 8);
  const uint32_t capacity = CapacityFor(std::min(count + spare, kMembersMax), width);
  auto* block = static_cast<Block*>(HeapAllocate(BytesFor(capacity, width)));
  block->capacity_ = static_cast<uint16_t>(capacity);
  block->width_ = width;
  block->unused_ = 0;
  // What is loaded beyond a member is masked away, but must have a value.
  std::memset(block->bytes(), 0, BytesFor(capacity, width) - sizeof(Block));
  return block;
}

Block* Block::New(std::span<const uint64_t> ascending, uint64_t base) {
  TALLY_ASSERT(!ascending.empty() && ascending.front() >= base);
  const auto count = static_cast<uint32_t>(ascending.size());
  Block* block = Allocate(count, WidthFor(ascending.back() - base), 0);
  for (uint32_t i = 0; i < count; ++i) block->Store(i, ascending[i] - base);
  return block;
}

void Block::Free(Block* block) {
  HeapFree(block);
}

void Block::Store(uint32_t index, uint64_t distance) {
  char* at = bytes() + size_t{index} * width_;
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  word = (word & ~mask()) | distance;
  std::memcpy(at, &word, sizeof(word));
}

uint32_t Block::LowerBound(uint32_t count, uint64_t distance) const {
  uint32_t base = 0;
  uint32_t left = count;
  while (left > 1) {  // halves without a branch that depends on the data
    const uint32_t half = left / 2;
    base += At(base + half - 1) < distance ? half : 0;
    left -= half;
  }
  return left == 1 && At(base) < distance ? base + 1 : base;
}

void Block::Read(uint32_t index, uint32_t count, uint64_t base, uint64_t* uids) const {
  for (uint32_t i = 0; i < count; ++i) uids[i] = base + At(index + i);
}

Block* Block::Insert(Block* block, uint32_t count, uint32_t index, uint64_t distance) {
  TALLY_ASSERT(count < kMembersMax && index <= count);
  const uint8_t width = std::max(block->width_, WidthFor(distance));
  if (width != block->width_ || count == block->capacity_) {
    Block* grown = Allocate(count + 1, width, count / 8);
    for (uint32_t i = 0; i < index; ++i) grown->Store(i, block->At(i));
    for (uint32_t i = index; i < count; ++i) grown->Store(i + 1, block->At(i));
    grown->Store(index, distance);
    Free(block);
    return grown;
  }
  char* at = block->bytes() + size_t{index} * width;
  std::memmove(at + width, at, size_t{count - index} * width);
  block->Store(index, distance);
  return block;
}

Block* Block::Erase(Block* block, uint32_t count, uint32_t index, uint32_t n) {
  TALLY_ASSERT(n > 0 && n < count && index + n <= count);
  const uint32_t left = count - n;
  char* at = block->bytes() + size_t{index} * block->width_;
  std::memmove(at, at + size_t{n} * block->width_, size_t{left - index} * block->width_);
  // Gives memory back when two thirds would do; the gap to growth keeps toggling free of the
  // allocator.
  const uint8_t width = WidthFor(block->At(left - 1));
  const uint32_t fitting = CapacityFor(left + left / 8, width);
  if (3 * BytesFor(fitting, width) > 2 * BytesFor(block->capacity_, block->width_)) return block;
  Block* shrunk = Allocate(left, width, left / 8);
  for (uint32_t i = 0; i < left; ++i) shrunk->Store(i, block->At(i));
  Free(block);
  return shrunk;
}

size_t Block::MemoryBytes() const {
  return HeapBytes(BytesFor(capacity_, width_));
}

bool Block::IsValid(uint32_t count) const {
  if (count == 0 || count > capacity_ || capacity_ > kMembersMax) return false;
  if (width_ < 1 || width_ > 8) return false;
  for (uint32_t i = 1; i < count; ++i) {
    if (At(i - 1) >= At(i)) return false;
  }
  return true;
}

}  // namespace tallystick
