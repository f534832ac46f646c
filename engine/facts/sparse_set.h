// SparseSet: sorted 64-bit uids in blocks of up to 256, with a directory of the blocks. For uids
// that are spread too thinly for chunks: 1.2 to 2 bytes a member for ids below a billion, 6 to 7
// for snowflake ids; an insert moves at most one block.
//
// Pure; the shard's lock guards it. Every operation is O(log n) and converts at most one block.
#pragma once

#include <tallystick/types.h>

#include <array>
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
  // True when it was not there; then *block_count is the number of members of its block.
  bool Add(uint64_t uid, uint32_t* block_count);
  bool Add(uint64_t uid) {
    uint32_t ignored = 0;
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
    BlockUids uids;
    while (place.at != blocks_.end()) {
      const uint32_t n = blocks_.At(place.at).ReadFrom(place.index, &uids);
      for (uint32_t i = 0; i < n; ++i) {
        if (uids[i] > range.last) return;
        visit(uids[i]);
      }
      place = {blocks_.Next(place.at), 0};
    }
  }

  size_t MemoryBytes() const;  // heap only
  bool IsValid() const;        // O(members)

 private:
  using BlockUids = std::array<uint64_t, Block::kMembersMax>;
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
    BlockPlace Find(uint64_t uid) const {
      return uid < base ? BlockPlace{} : block()->Find(count(), uid - base);
    }
    // The members from index on; how many.
    uint32_t ReadFrom(uint32_t index, BlockUids* uids) const {
      block()->Read(index, count() - index, base, uids->data());
      return count() - index;
    }
  };
  using Index = SortedIndex<Entry>;
  struct Place {
    Index::Position at;
    uint32_t index = 0;
    bool found = false;
  };

  // Where uid is or would be; not in an empty set.
  Place Locate(uint64_t uid) const;
  // The first member >= uid; at == end() when there is none.
  Place LowerBound(uint64_t uid) const;
  void Split(Index::Position at);
  void Rebase(Index::Position at, uint64_t uid);
  // Drops n members of one block from place on, of which uid is the first, and the block when that
  // was all.
  void EraseAt(Place place, uint32_t n, uint64_t uid);
  void MergeIfSmall(Index::Position at);

  Index blocks_;
};

}  // namespace tallystick
