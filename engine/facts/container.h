// Container: the members of one chunk in the form that suits them, in 16 bytes, with the chunk's
// number and what the snapshots know of it. The one place that chooses forms.
//
//   form     bytes               taken when                     left when
//   packed   1.1 to 1.6 a member at most 256 members            above 256
//   array    2.1 a member        at most 2,048 members          above 2,048, below 192
//   dense    4,096               above 2,048                    below 1,536
//   roaring  144 + 4 a run       half of the others or less     more than three quarters of them
//   absent   0                   known by the directory only    installed
//
// The gaps between the columns are the hysteresis: members that come and go at a threshold do not
// convert back and forth. A conversion is one chunk's work, 2 to 65 us
// (docs/design/0001-fact-set-forms.md).
//
// A plain value without a destructor, so that it packs and moves freely: whoever drops one calls
// Free() first, and no two live copies may be changed. Bits are uids within the chunk, 0 .. 32767.
#pragma once

#include <tallystick/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/facts/block.h"
#include "engine/facts/chunk_bits.h"
#include "engine/facts/tally.h"

namespace tallystick {

inline constexpr uint32_t kPackedMembersMax = Block::kMembersMax;
inline constexpr uint32_t kArrayMembersMin = 192;
inline constexpr uint32_t kArrayMembersMax = 2048;
inline constexpr uint32_t kDenseMembersMin = 1536;
// With more members no dense chunk becomes roaring: building that would take too long.
inline constexpr uint32_t kRoaringBuildMembersMax = 4096;

class Container {
 public:
  // The form is in the three highest bits of the first word, where FactSet keeps its own: 5 and 6.
  static constexpr int kFormShift = 61;
  enum class Form : uint8_t {
    kNone = 0,
    kArray = 1,
    kRoaring = 2,
    kDense = 3,
    kAbsent = 4,
    kPacked = 7,
  };

  Container() = default;
  // On disk only, as a directory says: saved, not changed. 1 <= cardinality <= kChunkBits.
  static Container Absent(uint64_t number, uint32_t cardinality);
  // In the smallest form; count is the popcount of bits, at least 1. Neither changed nor saved.
  static Container FromBits(uint64_t number, const ChunkBits& bits, uint32_t count);
  void Free();

  uint64_t number() const { return words_[0] & kNumberMask; }
  uint64_t key() const { return number(); }
  uint64_t first_uid() const { return FirstUidOf(number()); }
  uint64_t last_uid() const { return LastUidOf(number()); }
  Form form() const { return static_cast<Form>(words_[0] >> kFormShift); }
  bool absent() const { return form() == Form::kAbsent; }
  uint32_t cardinality() const { return static_cast<uint32_t>(words_[1] >> kPointerBits); }
  // Its members differ from what the last snapshot wrote.
  bool changed() const { return (words_[0] & kChangedBit) != 0; }
  // A snapshot has written this chunk: when it goes, its record must be deleted.
  bool saved() const { return (words_[0] & kSavedBit) != 0; }
  void MarkChanged() { words_[0] |= kChangedBit; }
  void MarkSaved() { words_[0] = (words_[0] | kSavedBit) & ~kChangedBit; }
  Tally tally() const {
    return {.members = cardinality(), .absent = absent() ? 1u : 0u, .changed = changed() ? 1u : 0u};
  }

  // ---- The rest needs the members: not for absent ones (asserted)
  // ----------------------------------
  bool Contains(uint32_t bit) const;
  // True when something changed, which also marks it changed. Remove may leave it without members;
  // the owner then drops it.
  bool Add(uint32_t bit);
  bool Remove(uint32_t bit);
  // Removes first..last and appends the uids to *removed, ascending; how many. O(4 KiB).
  uint32_t RemoveRange(uint32_t first, uint32_t last, std::vector<uint64_t>* removed);
  uint32_t CardinalityIn(uint32_t first, uint32_t last) const;
  std::optional<uint32_t> NextIn(uint32_t first, uint32_t last) const;
  std::optional<uint32_t> LastIn(uint32_t first, uint32_t last) const;
  // Appends at most limit uids of members >= from.
  void Collect(uint32_t from, size_t limit, std::vector<uint64_t>* uids) const;
  // ORs the members in range, which covers whole bytes of a Redis string or ends at 2^64-1, into
  // that string; its bit 0 is range.first.
  void ReadBits(UidRange range, char* out) const;
  void ToBits(ChunkBits* bits) const;
  // Appends the image of the chunk (set_image.h).
  void Encode(std::string* out) const;
  // An absent one's members: false (and unchanged) when they are not as many as the directory says.
  bool Install(const ChunkBits& bits);

  size_t MemoryBytes() const;  // heap only
  bool IsValid() const;        // O(4 KiB)

 private:
  // words_[0]: number (49 bits), runs when roaring (10), changed, saved, form (3).
  // words_[1]: pointer (48), cardinality (16).
  static constexpr int kRunsShift = 49;
  static constexpr int kPointerBits = 48;
  static constexpr uint64_t kNumberMask = (uint64_t{1} << kRunsShift) - 1;
  static constexpr uint64_t kRunsMask = uint64_t{1023} << kRunsShift;
  static constexpr uint64_t kChangedBit = uint64_t{1} << 59;
  static constexpr uint64_t kSavedBit = uint64_t{1} << 60;
  static constexpr uint64_t kPointerMask = (uint64_t{1} << kPointerBits) - 1;

  template <typename T>
  T* pointer() const {
    return reinterpret_cast<T*>(words_[1] & kPointerMask);
  }
  uint32_t runs() const { return static_cast<uint32_t>((words_[0] & kRunsMask) >> kRunsShift); }
  void RequireMembers() const;
  // Of a packed chunk or an array.
  bool is_list() const { return form() == Form::kPacked || form() == Form::kArray; }
  uint32_t LowerBound(uint32_t bit) const;
  uint32_t ValueAt(uint32_t index) const;

  void SetCardinality(uint32_t cardinality);
  void SetRuns(uint32_t runs);
  void SetForm(Form form, const void* members, uint32_t cardinality, uint32_t runs);
  void TakeForm(Form form, const ChunkBits& bits, uint32_t count, uint32_t runs);
  void Convert(Form form);
  void ReconsiderRoaring();
  void LeaveRoaringIfLarge();

  uint64_t words_[2] = {0, 0};
};
static_assert(sizeof(Container) == 16);

}  // namespace tallystick
