// A block of sorted uids: the piece that sparse sets are made of. Each uid is kept as its distance
// from the block's base, in about 2 bits more than the logarithm of the mean gap: 1.5 bytes for a
// million ids below a billion, 6 for snowflake ids.
//
// Elias-Fano coding (Elias: Efficient Storage and Retrieval by Content and Address of Static
// Files), made mutable. The lowest bits of each distance lie side by side in an array; the rest,
// its high part, is unary: bit high + i of a bit map is set
// for the i-th member. A look-up finds
// its bucket by counting the zeros before it, at most 12 words, then compares low parts, one or two
// unless the ids cluster. The bit map grows up from the start of the memory, the array grows down
// from its end, so that they share the spare room; an insert moves the bits behind its place.
//
// Stateless functions; the owner keeps base and count beside the pointer. Mutators return the
// block, which may have moved. Distances are uid - base; the caller sees to it that uid >= base.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tallystick {

struct BlockPlace {
  uint32_t index = 0;  // of the first distance >= the one sought; the count when there is none
  bool found = false;  // that one is equal
};

class Block {
 public:
  // Members of a block at most; its owner splits it before. An insert moves at most 2 KiB.
  static constexpr uint32_t kMembersMax = 256;

  // ascending must not be empty, and its first element not below base.
  static Block* New(std::span<const uint64_t> ascending, uint64_t base);
  static void Free(Block* block);

  BlockPlace Find(uint32_t count, uint64_t distance) const;
  // The distance of one member. O(12 words); Read is for many.
  uint64_t At(uint32_t index) const;
  // uids[0 .. n) = base + distance of the members index, index + 1 ...
  void Read(uint32_t index, uint32_t n, uint64_t base, uint64_t* uids) const;

  // distance is not a member and index is its place; count < kMembersMax.
  static Block* Insert(Block* block, uint32_t count, uint32_t index, uint64_t distance);
  // Drops the member of that index and distance, of more than one.
  static Block* Erase(Block* block, uint32_t count, uint32_t index, uint64_t distance);
  // Drops the members index .. index + n - 1; at least one stays. O(count).
  static Block* EraseMany(Block* block, uint32_t count, uint32_t index, uint32_t n);

  size_t MemoryBytes() const;
  bool IsValid(uint32_t count) const;

 private:
  // The first bits hold the sizes, the bit map follows.
  static constexpr uint32_t kHeaderBits = 24;
  static constexpr uint32_t kLowBitsMax = 57;    // so that any can be loaded as eight bytes
  static constexpr uint32_t kMapBitsMax = 1023;  // 767 is the most that New makes

  static uint32_t LowBitsFor(uint64_t largest, uint32_t count);
  static size_t BitsFor(uint32_t count, uint32_t low_bits, uint64_t map_bits) {
    return kHeaderBits + map_bits + size_t{count} * low_bits;
  }
  static uint32_t WordsFor(size_t bits);
  static Block* Resize(Block* block, uint32_t count, uint32_t words);

  const uint64_t* words() const { return &first_; }
  uint64_t* words() { return &first_; }
  uint32_t capacity() const { return first_ & 0xff; }
  uint32_t low_bits() const { return first_ >> 8 & 0x3f; }
  uint32_t map_bits() const { return first_ >> 14 & 0x3ff; }
  size_t end_bit() const { return size_t{capacity()} * 64; }
  void SetHeader(uint32_t capacity, uint32_t low_bits, uint32_t map_bits);

  // A word with bits of the map, without the header's.
  uint64_t MapWord(uint32_t index) const {
    return index == 0 ? first_ >> kHeaderBits << kHeaderBits : words()[index];
  }
  // Where in the words the one, or zero, with that many others before it is; the header's bits
  // count as zeros.
  uint32_t SelectOne(uint32_t rank) const;
  uint32_t SelectZero(uint32_t rank) const;
  uint32_t OnesFrom(uint32_t bit) const;
  uint64_t LowAt(uint32_t index) const;
  uint64_t Last(uint32_t count) const;

  // capacity in words (8 bits), bits of a low part (6), bits of the map (10), then as told above.
  uint64_t first_;
};
static_assert(sizeof(Block) == 8);

}  // namespace tallystick
