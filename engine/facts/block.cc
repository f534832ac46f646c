#include "engine/facts/block.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/facts/bit_string.h"
#include "engine/facts/chunk_bits.h"
#include "engine/facts/heap.h"

namespace tallystick {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kWordsMin = 2;
constexpr uint32_t kWordsMax = 255;  // what the header can say

// The place of the rank-th one of words ^ flip, in which `first` takes the place of the first word.
uint32_t SelectPlain(const uint64_t* words, uint64_t first, uint64_t flip, uint32_t rank) {
  uint64_t word = first;
  for (uint32_t index = 0;; word = words[++index] ^ flip) {
    const uint32_t ones = bit_string::CountOnes(word);
    if (rank < ones) return index * 64 + bit_string::SelectOne(word, rank);
    rank -= ones;
  }
}

#if defined(__x86_64__)
// The same with the processor's instructions: a quarter off each look-up.
__attribute__((target("popcnt,bmi2"))) uint32_t SelectByPdep(const uint64_t* words, uint64_t first,
                                                             uint64_t flip, uint32_t rank) {
  uint64_t word = first;
  for (uint32_t index = 0;; word = words[++index] ^ flip) {
    const auto ones = static_cast<uint32_t>(__builtin_popcountll(word));
    if (rank < ones) {
      const uint64_t only = _pdep_u64(uint64_t{1} << rank, word);
      return index * 64 + static_cast<uint32_t>(std::countr_zero(only));
    }
    rank -= ones;
  }
}

// AMD's processors before Zen 3 have the instruction, but in microcode: slower than without.
bool PdepIsFast() {
  return __builtin_cpu_supports("popcnt") != 0 && __builtin_cpu_supports("bmi2") != 0 &&
         __builtin_cpu_is("amdfam15h") == 0 && __builtin_cpu_is("amdfam17h") == 0;
}
const bool kPdepIsFast = PdepIsFast();
#endif

uint32_t Select(const uint64_t* words, uint64_t first, uint64_t flip, uint32_t rank) {
#if defined(__x86_64__)
  if (kPdepIsFast) return SelectByPdep(words, first, flip, rank);
#endif
  return SelectPlain(words, first, flip, rank);
}

void SetBit(uint64_t* words, size_t bit) {
  words[bit / 64] |= uint64_t{1} << bit % 64;
}

}  // namespace

// With one bit less in each low part the map would grow by more than the parts shrink; with one
// more it would shrink by less.
uint32_t Block::LowBitsFor(uint64_t largest, uint32_t count) {
  const auto bits = static_cast<uint32_t>(std::bit_width(largest / count));
  return bits == 0 ? 0 : std::min(bits - 1, kLowBitsMax);
}

// As many words as the allocator gives for the price of these bits.
uint32_t Block::WordsFor(size_t bits) {
  const size_t needed = std::max<size_t>(kWordsMin, (bits + 63) / 64);
  TALLY_ASSERT(needed <= kWordsMax);
  return static_cast<uint32_t>(std::min<size_t>(HeapRoom(needed * 8) / 8, kWordsMax));
}

void Block::SetHeader(uint32_t capacity, uint32_t low_bits, uint32_t map_bits) {
  TALLY_DCHECK(capacity <= kWordsMax && low_bits <= kLowBitsMax && map_bits <= kMapBitsMax);
  first_ = first_ >> kHeaderBits << kHeaderBits | capacity | low_bits << 8 | map_bits << 14;
}

Block* Block::New(std::span<const uint64_t> ascending, uint64_t base) {
  TALLY_ASSERT(!ascending.empty() && ascending.size() <= kMembersMax && ascending.front() >= base);
  const auto count = static_cast<uint32_t>(ascending.size());
  const uint64_t largest = ascending.back() - base;
  const uint32_t low_bits = LowBitsFor(largest, count);
  const auto map_bits = static_cast<uint32_t>(largest >> low_bits) + count;
  const uint32_t capacity = WordsFor(BitsFor(count, low_bits, map_bits));
  auto* block = static_cast<Block*>(HeapAllocate(size_t{capacity} * 8));
  uint64_t* words = block->words();
  std::memset(words, 0, size_t{capacity} * 8);
  block->SetHeader(capacity, low_bits, map_bits);
  size_t low_at = block->end_bit();
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t distance = ascending[i] - base;
    const uint64_t high = distance >> low_bits;
    SetBit(words, kHeaderBits + high + i);
    low_at -= low_bits;
    if (low_bits > 0) bit_string::Store(words, low_at, low_bits, distance ^ high << low_bits);
  }
  return block;
}

void Block::Free(Block* block) {
  HeapFree(block);
}

uint32_t Block::SelectOne(uint32_t rank) const {
  return Select(words(), MapWord(0), 0, rank);
}

uint32_t Block::SelectZero(uint32_t rank) const {
  return Select(words(), ~MapWord(0), ~uint64_t{0}, rank);
}

// How many ones follow each other from bit on, at least, as far as the words go.
uint32_t Block::OnesFrom(uint32_t bit) const {
  uint32_t index = bit / 64;
  uint32_t ones = static_cast<uint32_t>(std::countr_one(MapWord(index) >> bit % 64));
  if (ones < 64 - bit % 64) return ones;
  while (++index < capacity()) {
    const auto more = static_cast<uint32_t>(std::countr_one(words()[index]));
    ones += more;
    if (more < 64) break;
  }
  return ones;
}

uint64_t Block::LowAt(uint32_t index) const {
  const uint32_t bits = low_bits();
  if (bits == 0) return 0;
  const size_t at = end_bit() - size_t{index + 1} * bits;
  const size_t byte = std::min(at / 8, size_t{capacity()} * 8 - 8);
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const char*>(words()) + byte, sizeof(word));
  return word >> (at - byte * 8) & ((uint64_t{1} << bits) - 1);
}

uint64_t Block::Last(uint32_t count) const {
  return uint64_t{map_bits() - count} << low_bits() | LowAt(count - 1);
}

BlockPlace Block::Find(uint32_t count, uint64_t distance) const {
  const uint64_t high = distance >> low_bits();
  if (high > map_bits() - count) return {count, false};
  const uint64_t low = distance ^ high << low_bits();
  // The bucket's members are the ones between two zeros.
  const auto bucket = static_cast<uint32_t>(high);
  const uint32_t bit = SelectZero(kHeaderBits - 1 + bucket) + 1;
  uint32_t index = bit - kHeaderBits - bucket;
  uint32_t left = std::min(OnesFrom(bit), count - index);
  while (left > 0) {
    const uint32_t half = left / 2;
    const uint64_t middle = LowAt(index + half);
    if (middle == low) return {index + half, true};
    if (middle < low) {
      index += half + 1;
      left -= half + 1;
    } else {
      left = half;
    }
  }
  return {index, false};
}

uint64_t Block::At(uint32_t index) const {
  const uint64_t high = SelectOne(index) - kHeaderBits - index;
  return high << low_bits() | LowAt(index);
}

void Block::Read(uint32_t index, uint32_t n, uint64_t base, uint64_t* uids) const {
  if (n == 0) return;
  const uint32_t start = SelectOne(index);
  uint32_t at = start / 64;
  uint64_t word = MapWord(at) >> start % 64 << start % 64;
  for (const uint32_t end = index + n; index < end; ++index) {
    while (word == 0) word = words()[++at];
    const uint64_t bit = at * 64 + static_cast<uint32_t>(std::countr_zero(word));
    word &= word - 1;
    *uids++ = base + ((bit - kHeaderBits - index) << low_bits() | LowAt(index));
  }
}

// Moves the low parts to the new end.
Block* Block::Resize(Block* block, uint32_t count, uint32_t words) {
  const size_t lows = (size_t{count} * block->low_bits() + 63) / 64;
  const uint32_t old_words = block->capacity();
  TALLY_ASSERT(words > old_words);
  block = static_cast<Block*>(HeapReallocate(block, size_t{words} * 8));
  uint64_t* all = block->words();
  std::memset(all + old_words, 0, size_t{words - old_words} * 8);
  std::memmove(all + words - lows, all + old_words - lows, lows * 8);
  block->SetHeader(words, block->low_bits(), block->map_bits());
  return block;
}

Block* Block::Insert(Block* block, uint32_t count, uint32_t index, uint64_t distance) {
  TALLY_ASSERT(count < kMembersMax && index <= count);
  const uint32_t low_bits = block->low_bits();
  const uint32_t map_bits = block->map_bits();
  const uint64_t high = distance >> low_bits;
  const uint64_t new_map_bits = std::max<uint64_t>(high, map_bits - count) + count + 1;
  // The sum wraps around for distances near 2^64.
  const bool map_fits = high <= kMapBitsMax && new_map_bits <= kMapBitsMax;
  if (!map_fits || BitsFor(count + 1, low_bits, new_map_bits) > block->end_bit()) {
    const uint64_t largest = std::max(distance, block->Last(count));
    if (map_fits && LowBitsFor(largest, count + 1) == low_bits) {
      const size_t bits = BitsFor(count + 1, low_bits, new_map_bits);
      block = Resize(block, count, WordsFor(bits + bits / 32));
    } else {
      std::array<uint64_t, kMembersMax> distances;
      block->Read(0, index, 0, distances.data());
      distances[index] = distance;
      block->Read(index, count - index, 0, distances.data() + index + 1);
      Free(block);
      return New({distances.data(), count + 1}, 0);
    }
  }
  uint64_t* words = block->words();
  const auto bit = static_cast<uint32_t>(kHeaderBits + high + index);
  const uint32_t map_end = kHeaderBits + map_bits;
  if (bit < map_end) {
    bit_string::MoveUp(words, bit, map_end, 1);
  } else if (bit > map_end) {
    ClearBitRange(words, map_end, bit - 1);
  }
  SetBit(words, bit);
  if (low_bits > 0) {
    const size_t end = block->end_bit();
    bit_string::MoveDown(words, end - size_t{count} * low_bits, end - size_t{index} * low_bits,
                         low_bits);
    bit_string::Store(words, end - size_t{index + 1} * low_bits, low_bits,
                      distance ^ high << low_bits);
  }
  block->SetHeader(block->capacity(), low_bits, static_cast<uint32_t>(new_map_bits));
  return block;
}

Block* Block::Erase(Block* block, uint32_t count, uint32_t index, uint64_t distance) {
  TALLY_ASSERT(count > 1 && index < count);
  TALLY_DCHECK(block->At(index) == distance);
  const uint32_t left = count - 1;
  const uint32_t low_bits = block->low_bits();
  uint32_t map_bits = block->map_bits();
  uint64_t* words = block->words();
  if (index == left) {
    map_bits = block->SelectOne(left - 1) + 1 - kHeaderBits;
  } else {
    const size_t bit = kHeaderBits + (distance >> low_bits) + index;
    bit_string::MoveDown(words, bit + 1, kHeaderBits + map_bits, 1);
    --map_bits;
  }
  if (low_bits > 0) {
    const size_t end = block->end_bit();
    bit_string::MoveUp(words, end - size_t{count} * low_bits, end - size_t{index + 1} * low_bits,
                       low_bits);
  }
  block->SetHeader(block->capacity(), low_bits, map_bits);
  // Gives memory back when two thirds would do; the gap to growth keeps toggling free of the
  // allocator.
  const uint64_t largest = block->Last(left);
  const uint32_t best = index == left ? LowBitsFor(largest, left) : low_bits;
  const size_t bits = BitsFor(left, best, (largest >> best) + left);
  if (3 * bits > 2 * block->end_bit()) return block;
  if (3 * WordsFor(bits) > 2 * block->capacity()) return block;
  std::array<uint64_t, kMembersMax> distances;
  block->Read(0, left, 0, distances.data());
  Free(block);
  return New({distances.data(), left}, 0);
}

Block* Block::EraseMany(Block* block, uint32_t count, uint32_t index, uint32_t n) {
  TALLY_ASSERT(n > 0 && n < count && index + n <= count);
  const uint32_t left = count - n;
  std::array<uint64_t, kMembersMax> distances;
  block->Read(0, index, 0, distances.data());
  block->Read(index + n, left - index, 0, distances.data() + index);
  Free(block);
  return New({distances.data(), left}, 0);
}

size_t Block::MemoryBytes() const {
  return HeapBytes(size_t{capacity()} * 8);
}

bool Block::IsValid(uint32_t count) const {
  if (count == 0 || count > kMembersMax || low_bits() > kLowBitsMax) return false;
  if (map_bits() < count || BitsFor(count, low_bits(), map_bits()) > end_bit()) return false;
  uint32_t ones = 0;
  for (uint32_t bit = kHeaderBits; bit < kHeaderBits + map_bits(); ++bit) {
    ones += TestBit(words(), bit) ? 1u : 0u;
  }
  if (ones != count || !TestBit(words(), kHeaderBits + map_bits() - 1)) return false;
  std::array<uint64_t, kMembersMax> distances;
  Read(0, count, 0, distances.data());
  const auto end = distances.begin() + count;
  return std::adjacent_find(distances.begin(), end, std::greater_equal<>()) == end;
}

}  // namespace tallystick
