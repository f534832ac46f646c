// The representation of a FactSet, shared by the files that implement it.
#pragma once

#include <array>
#include <cstring>
#include <span>

#include "engine/base/assert.h"
#include "engine/facts/block.h"
#include "engine/facts/container.h"
#include "engine/facts/fact_set.h"
#include "engine/facts/inline_uids.h"
#include "engine/facts/mixed_set.h"

namespace tallystick {

// kArray to kAbsent and kPacked are Container's own: such a set's two words are a Container.
enum class FactSet::Form : uint8_t {
  kInline = 0,
  kArray = 1,
  kRoaring = 2,
  kDense = 3,
  kAbsent = 4,
  kBlock = 5,
  kMixed = 6,
  kPacked = 7,
};

// The members of an inline or block set, and room for one more.
struct FactSet::SmallMembers {
  std::array<uint64_t, kSmallMembersMax + 1> uids;
  uint32_t count = 0;

  std::span<const uint64_t> all() const { return {uids.data(), count}; }
  // The members in range.
  std::span<const uint64_t> In(UidRange range) const;
};

inline FactSet::Form FactSet::form() const {
  return static_cast<Form>(words_[0] >> Container::kFormShift);
}

inline bool FactSet::is_container() const {
  return form() != Form::kInline && form() != Form::kBlock && form() != Form::kMixed;
}

inline Container FactSet::container() const {
  static_assert(sizeof(Container) == sizeof(words_));
  Container container;
  std::memcpy(static_cast<void*>(&container), words_, sizeof(words_));
  return container;
}

inline void FactSet::SetContainer(const Container& container) {
  std::memcpy(words_, &container, sizeof(words_));
}

inline MixedSet* FactSet::mixed() const {
  return reinterpret_cast<MixedSet*>(words_[1]);
}

inline void FactSet::SetMixed(MixedSet* mixed) {
  words_[0] = static_cast<uint64_t>(Form::kMixed) << Container::kFormShift;
  words_[1] = reinterpret_cast<uint64_t>(mixed);
}

inline Block* FactSet::block() const {
  return reinterpret_cast<Block*>(words_[1] << 16 >> 16);
}

inline uint32_t FactSet::block_count() const {
  return static_cast<uint32_t>(words_[1] >> 48);
}

// Only multiples of 8: the form takes the three bits.
inline uint64_t FactSet::block_base() const {
  return words_[0] << 3;
}

inline BlockPlace FactSet::FindInBlock(uint64_t uid) const {
  return uid < block_base() ? BlockPlace{} : block()->Find(block_count(), uid - block_base());
}

inline void FactSet::SetBlock(Block* block, uint32_t count, uint64_t base) {
  TALLY_ASSERT(reinterpret_cast<uint64_t>(block) >> 48 == 0 && base % 8 == 0);
  words_[0] = static_cast<uint64_t>(Form::kBlock) << Container::kFormShift | base >> 3;
  words_[1] = reinterpret_cast<uint64_t>(block) | uint64_t{count} << 48;
}

inline void FactSet::Forget() {
  words_[0] = words_[1] = 0;
}

}  // namespace tallystick
