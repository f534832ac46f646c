// SparseSet: sorted 64-bit uids in blocks of up to 256, with a directory of the blocks. For uids
// that are spread too thinly for chunks: 3 to 4 bytes a member for ids below a billion, 7 to 9 for
// snowflake ids, at any size; an insert moves at most one block.
//
// Pure; the shard's lock guards it. Every operation is O(log n) and converts at most one block.
#pragma once

#include <tallystick/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/facts/block.h"
#include "engine/facts/sorted_index.h"
#include "engine/facts/tally.h"

namespace tallystick {

class SparseSet {
 public:
  SparseSet() = default;
  SparseSet(const SparseSet&) = delete;
  SparseSet& operator=(const SparseSet&) = delete;
  ~SparseSet();

  uint64_t cardinality() const { return blocks_.total().members; }
  bool empty() const { return blocks_.empty(); }
  bool Contains(uint64_t uid) const;
  // Members around one that was added, kAround places away, where its block reaches that far; else
  // the added one. Many members in one place show here without counting them.
  static constexpr uint32_t kAround = 16;
  struct Around {
    uint64_t below = 0;
    uint64_t above = 0;
  };
  // True when it was not there; then *around is filled.
  bool Add(uint64_t uid, Around* around);
  bool Add(uint64_t uid) {
    Around ignored;
    return Add(uid, &ignored);
  }
  bool Remove(uint64_t uid);  // true when it was there
  // Appends uids that are ascending and above all members. O(uids).
  void Append(std::span<const uint64_t> ascending);

  uint64_t CardinalityIn(UidRange range) const;
  std::optional<uint64_t> NextIn(UidRange range) const;
  std::optional<uint64_t> LastIn(UidRange range) const;
  // Appends at most limit members of range, ascending.
  void Collect(UidRange range, size_t limit, std::vector<uint64_t>* uids) const;
  // Removes the members in range and appends them to *removed, ascending. O(removed + log n).
  void RemoveRange(UidRange range, std::vector<uint64_t>* removed);

  // Calls visit(uid) for every member of range, ascending.
  template <typename Visit>
  void ForEachIn(UidRange range, Visit visit) const {
    Place place = LowerBound(range.first);
    while (place.at != blocks_.end()) {
      const Entry& entry = blocks_.At(place.at);
      for (uint32_t i = place.index; i < entry.count(); ++i) {
        if (entry.at(i) > range.last) return;
        visit(entry.at(i));
      }
      place = {blocks_.Next(place.at), 0};
    }
  }

  size_t MemoryBytes() const;  // heap only
  bool IsValid() const;        // O(members)

 private:
  struct Entry {
    uint64_t base = 0;    // no member of the block is below it
    uint64_t packed = 0;  // pointer (48 bits), count (16)

    Entry() = default;
    Entry(uint64_t base_uid, Block* block, uint32_t count);
    uint64_t key() const { return base; }
    Block* block() const { return reinterpret_cast<Block*>(packed << 16 >> 16); }
    uint32_t count() const { return static_cast<uint32_t>(packed >> 48); }
    uint64_t at(uint32_t index) const { return base + block()->At(index); }
    Tally tally() const { return {.members = count(), .absent = 0, .changed = 0}; }
    // Index of the first member >= uid.
    uint32_t LowerBound(uint64_t uid) const {
      return uid <= base ? 0 : block()->LowerBound(count(), uid - base);
    }
  };
  using Index = SortedIndex<Entry>;
  struct Place {
    Index::Position at;
    uint32_t index = 0;
  };

  // Where uid is or would be; not in an empty set.
  Place Locate(uint64_t uid) const;
  // The first member >= uid; at == end() when there is none.
  Place LowerBound(uint64_t uid) const;
  void InsertAt(Place place, uint64_t uid, Around* around);
  void Split(Index::Position at);
  void Rebase(Index::Position at, uint64_t uid);
  // Drops n members of one block from place on, and the block when that was all.
  void EraseAt(Place place, uint32_t n);
  void MergeIfSmall(Index::Position at);

  Index blocks_;
};

}  // namespace tallystick
