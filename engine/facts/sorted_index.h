// SortedIndex: a sorted list of 16-byte entries in leaves of up to 126 (2 KiB), with totals per
// leaf. The directory of a large fact set: of its sparse blocks and of its chunks.
//
// A flat array would move hundreds of kilobytes per insert in a set of ten million members, and a
// balanced tree would add 40 bytes an entry. Here an insert moves at most one leaf (2 KiB), now and
// then the list of leaves (16 bytes per ~90 entries); an entry costs 16 to 24 bytes. Sums over
// ranges add whole leaves.
//
// Entry: a trivially copyable value with `uint64_t key() const` and `Tally tally() const`. Keys are
// unique. Values are taken and given back whole (At, Put), which keeps the totals right. Positions
// are valid until the next Insert or Erase. The index does not own what entries point to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/assert.h"
#include "engine/facts/heap.h"
#include "engine/facts/tally.h"

namespace tallystick {

template <typename Entry>
class SortedIndex {
  static_assert(std::is_trivially_copyable_v<Entry>);

 public:
  static constexpr uint32_t kLeafEntriesMax = 126;  // 2 KiB with the leaf's own 32 bytes

  struct Position {
    size_t leaf = 0;
    uint32_t slot = 0;
    friend bool operator==(const Position&, const Position&) = default;
  };

  SortedIndex() = default;
  SortedIndex(const SortedIndex&) = delete;
  SortedIndex& operator=(const SortedIndex&) = delete;
  ~SortedIndex() {
    for (const Top& top : tops_) HeapFree(top.leaf);
  }

  bool empty() const { return tops_.empty(); }
  const Tally& total() const { return total_; }

  Position begin() const { return {}; }
  Position end() const { return {tops_.size(), 0}; }
  const Entry& At(Position at) const {
    TALLY_DCHECK(at.leaf < tops_.size() && at.slot < tops_[at.leaf].leaf->size);
    return tops_[at.leaf].leaf->entries()[at.slot];
  }
  Position Next(Position at) const {
    return at.slot + 1 < tops_[at.leaf].leaf->size ? Position{at.leaf, at.slot + 1}
                                                   : Position{at.leaf + 1, 0};
  }
  Position Previous(Position at) const {  // not of begin()
    TALLY_DCHECK(at != begin());
    return at.slot > 0 ? Position{at.leaf, at.slot - 1}
                       : Position{at.leaf - 1, tops_[at.leaf - 1].leaf->size - 1};
  }

  // The first entry whose key is >= key, or end().
  Position LowerBound(uint64_t key) const {
    const size_t leaf = LeafFor(key);
    if (leaf == tops_.size()) return end();
    const uint32_t slot = SlotFor(*tops_[leaf].leaf, key);
    return slot < tops_[leaf].leaf->size ? Position{leaf, slot} : Position{leaf + 1, 0};
  }
  // The last entry whose key is <= key, or end().
  Position Floor(uint64_t key) const {
    const Position at = LowerBound(key);
    if (at != end() && At(at).key() == key) return at;
    return at == begin() ? end() : Previous(at);
  }
  // The entry of that key, or end().
  Position Find(uint64_t key) const {
    const Position at = LowerBound(key);
    return at != end() && At(at).key() == key ? at : end();
  }

  // Replaces the entry at a position by one that sorts at the same place.
  void Put(Position at, const Entry& entry) {
    Leaf* leaf = tops_[at.leaf].leaf;
    Entry& old = leaf->entries()[at.slot];
    Account(leaf, old.tally(), entry.tally());
    old = entry;
    if (at.slot == 0) tops_[at.leaf].first_key = entry.key();
  }

  void Insert(const Entry& entry) {
    if (tops_.empty()) tops_.push_back({entry.key(), NewLeaf(kLeafEntriesMin)});
    const size_t at = LeafFor(entry.key());
    Top* top = &tops_[at];
    if (top->leaf->size == top->leaf->capacity) top = MakeRoom(at, entry.key());
    Leaf* leaf = top->leaf;
    const uint32_t slot = SlotFor(*leaf, entry.key());
    Entry* place = leaf->entries() + slot;
    TALLY_DCHECK(slot == leaf->size || place->key() != entry.key());
    std::memmove(static_cast<void*>(place + 1), place, (leaf->size - slot) * sizeof(Entry));
    *place = entry;
    ++leaf->size;
    Account(leaf, {}, entry.tally());
    top->first_key = leaf->entries()[0].key();
  }

  void Erase(Position at) {
    Top& top = tops_[at.leaf];
    Leaf* leaf = top.leaf;
    Entry* place = leaf->entries() + at.slot;
    Account(leaf, place->tally(), {});
    std::memmove(static_cast<void*>(place), place + 1, (leaf->size - at.slot - 1) * sizeof(Entry));
    --leaf->size;
    if (leaf->size == 0) {
      HeapFree(leaf);
      tops_.erase(tops_.begin() + static_cast<std::ptrdiff_t>(at.leaf));
      return;
    }
    top.first_key = leaf->entries()[0].key();
    if (leaf->size < kLeafEntriesMax / 4) MergeWithNext(at.leaf == 0 ? 0 : at.leaf - 1);
  }

  // Members of the entries first .. (not including) last. O(leaves between + 126).
  uint64_t MembersBetween(Position first, Position last) const {
    uint64_t members = 0;
    while (first != last) {
      if (first.slot == 0 && first.leaf < last.leaf) {
        members += tops_[first.leaf].leaf->tally.members;
        first = {first.leaf + 1, 0};
      } else {
        members += At(first).tally().members;
        first = Next(first);
      }
    }
    return members;
  }

  // The first entry at or after `from` whose tally satisfies wanted; leaves whose tally does not
  // are passed over whole. end() when there is none.
  template <typename Wanted>
  Position FirstWith(Position from, Wanted wanted) const {
    while (from != end()) {
      if (from.slot == 0 && !wanted(tops_[from.leaf].leaf->tally)) {
        from = {from.leaf + 1, 0};
      } else if (wanted(At(from).tally())) {
        return from;
      } else {
        from = Next(from);
      }
    }
    return from;
  }

  size_t MemoryBytes() const {
    if (tops_.capacity() == 0) return 0;
    size_t bytes = HeapBytes(tops_.capacity() * sizeof(Top));
    for (const Top& top : tops_) bytes += HeapBytes(Leaf::BytesFor(top.leaf->capacity));
    return bytes;
  }

  bool IsValid() const {
    Tally total;
    uint64_t previous = 0;
    bool first = true;
    for (const Top& top : tops_) {
      const Leaf& leaf = *top.leaf;
      if (leaf.size == 0 || leaf.size > leaf.capacity || leaf.capacity > kLeafEntriesMax)
        return false;
      if (top.first_key != leaf.entries()[0].key()) return false;
      Tally tally;
      for (uint32_t i = 0; i < leaf.size; ++i) {
        const uint64_t key = leaf.entries()[i].key();
        if (!first && key <= previous) return false;
        previous = key;
        first = false;
        tally += leaf.entries()[i].tally();
      }
      if (!(tally == leaf.tally)) return false;
      total += tally;
    }
    return total == total_;
  }

 private:
  static constexpr uint32_t kLeafEntriesMin = 4;

  struct Leaf {
    Tally tally;
    uint32_t size = 0;
    uint32_t capacity = 0;

    static size_t BytesFor(uint32_t capacity) { return sizeof(Leaf) + capacity * sizeof(Entry); }
    Entry* entries() { return reinterpret_cast<Entry*>(this + 1); }
    const Entry* entries() const { return reinterpret_cast<const Entry*>(this + 1); }
  };
  static_assert(sizeof(Leaf) % alignof(Entry) == 0);
  static_assert(sizeof(Leaf) + kLeafEntriesMax * sizeof(Entry) <= 2048);
  struct Top {
    uint64_t first_key;
    Leaf* leaf;
  };

  static Leaf* NewLeaf(uint32_t capacity) {
    auto* leaf = new (HeapAllocate(Leaf::BytesFor(capacity))) Leaf;
    leaf->capacity = capacity;
    return leaf;
  }

  // The leaf whose keys may include key: the last that starts at or below it, else the first.
  size_t LeafFor(uint64_t key) const {
    size_t base = 0;
    size_t left = tops_.size();
    while (left > 1) {
      const size_t half = left / 2;
      base += tops_[base + half].first_key <= key ? half : 0;
      left -= half;
    }
    return base;
  }

  static uint32_t SlotFor(const Leaf& leaf, uint64_t key) {
    const Entry* entries = leaf.entries();
    uint32_t base = 0;
    uint32_t left = leaf.size;
    while (left > 1) {
      const uint32_t half = left / 2;
      base += entries[base + half - 1].key() < key ? half : 0;
      left -= half;
    }
    return left == 1 && entries[base].key() < key ? base + 1 : base;
  }

  void Account(Leaf* leaf, const Tally& before, const Tally& after) {
    leaf->tally += after;
    leaf->tally -= before;
    total_ += after;
    total_ -= before;
  }

  // Grows the full leaf at `at`, or splits it; returns the one where key belongs.
  Top* MakeRoom(size_t at, uint64_t key) {
    Leaf* leaf = tops_[at].leaf;
    if (leaf->capacity < kLeafEntriesMax) {
      const uint32_t capacity = std::min(leaf->capacity * 2, kLeafEntriesMax);
      leaf = static_cast<Leaf*>(HeapReallocate(leaf, Leaf::BytesFor(capacity)));
      leaf->capacity = capacity;
      tops_[at].leaf = leaf;
      return &tops_[at];
    }
    // An ascending fill leaves full leaves behind, any other halves them.
    const bool appending = at + 1 == tops_.size() && leaf->entries()[leaf->size - 1].key() < key;
    const uint32_t keep = appending ? leaf->size : leaf->size / 2;
    Leaf* right = NewLeaf(kLeafEntriesMax);
    right->size = leaf->size - keep;
    std::memcpy(static_cast<void*>(right->entries()), leaf->entries() + keep,
                right->size * sizeof(Entry));
    leaf->size = keep;
    for (uint32_t i = 0; i < right->size; ++i) right->tally += right->entries()[i].tally();
    leaf->tally -= right->tally;
    const uint64_t right_key = appending ? key : right->entries()[0].key();
    tops_.insert(tops_.begin() + static_cast<std::ptrdiff_t>(at) + 1, Top{right_key, right});
    return &tops_[key >= right_key ? at + 1 : at];
  }

  void MergeWithNext(size_t at) {
    if (at + 1 >= tops_.size()) return;
    Leaf* left = tops_[at].leaf;
    Leaf* right = tops_[at + 1].leaf;
    if (left->size + right->size > kLeafEntriesMax / 2) return;
    if (left->capacity < left->size + right->size) {
      left = static_cast<Leaf*>(HeapReallocate(left, Leaf::BytesFor(kLeafEntriesMax)));
      left->capacity = kLeafEntriesMax;
      tops_[at].leaf = left;
    }
    std::memcpy(static_cast<void*>(left->entries() + left->size), right->entries(),
                right->size * sizeof(Entry));
    left->size += right->size;
    left->tally += right->tally;
    HeapFree(right);
    tops_.erase(tops_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }

  std::vector<Top> tops_;
  Tally total_;
};

}  // namespace tallystick
