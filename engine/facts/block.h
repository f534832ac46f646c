// A block of sorted uids: the piece that sparse sets are made of. Each uid is kept as its distance
// from the block's base, all in the same number of bytes (1 to 8, as few as the largest needs), so
// that uids below 16 million cost 3 bytes and a look-up is a binary search without decoding.
// Frame-of-reference coding, as in Goldstein, Ramakrishnan, Shaft: Compressing Relations and
// Indexes.
//
// Stateless functions; the owner keeps base and count beside the pointer. Mutators return the
// block, which may have moved. Distances are uid - base; the caller sees to it that uid >= base.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tallystick {

class Block {
 public:
  // Members of a block at most; its owner splits it before. An insert moves at most 2 KiB.
  static constexpr uint32_t kMembersMax = 256;

  // ascending must not be empty, and its first element not below base.
  static Block* New(std::span<const uint64_t> ascending, uint64_t base);
  static void Free(Block* block);

  uint64_t At(uint32_t index) const {
    uint64_t value;
    std::memcpy(&value, bytes() + size_t{index} * width_, sizeof(value));
    return value & mask();
  }
  // Index of the first distance >= distance; count when there is none.
  uint32_t LowerBound(uint32_t count, uint64_t distance) const;
  // uids[0 .. count) = base + distance of the members index, index + 1 ...
  void Read(uint32_t index, uint32_t count, uint64_t base, uint64_t* uids) const;

  // distance is not a member and index is its lower bound; count < kMembersMax.
  static Block* Insert(Block* block, uint32_t count, uint32_t index, uint64_t distance);
  // Drops the members index .. index + n - 1; at least one stays.
  static Block* Erase(Block* block, uint32_t count, uint32_t index, uint32_t n);

  uint32_t capacity() const { return capacity_; }
  size_t MemoryBytes() const;
  bool IsValid(uint32_t count) const;

 private:
  static Block* Allocate(uint32_t count, uint8_t width, uint32_t spare);
  const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
  char* bytes() { return reinterpret_cast<char*>(this + 1); }
  uint64_t mask() const { return ~uint64_t{0} >> (64 - 8 * width_); }
  void Store(uint32_t index, uint64_t distance);

  uint16_t capacity_;  // members
  uint8_t width_;      // bytes of a distance
  uint8_t unused_;
  // capacity_ * width_ bytes follow, little-endian, and 8 - width_ more, so that any member can be
  // loaded as eight bytes.
};
static_assert(sizeof(Block) == 4);

}  // namespace tallystick
