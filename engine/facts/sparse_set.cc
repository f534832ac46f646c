#include "engine/facts/sparse_set.h"

#include <algorithm>
#include <array>

#include "engine/base/assert.h"

namespace tallystick {
namespace {

// Two neighbours are merged when one is below the first and both together are not above the second:
// far from kMembersMax, so that a merge is not soon followed by a split.
constexpr uint32_t kMergeBelow = Block::kMembersMax / 4;
constexpr uint32_t kMergedMax = Block::kMembersMax * 3 / 4;

}  // namespace

SparseSet::Entry::Entry(uint64_t base_uid, Block* block, uint32_t count)
    : base(base_uid), packed(reinterpret_cast<uint64_t>(block) | uint64_t{count} << 48) {
  TALLY_ASSERT(reinterpret_cast<uint64_t>(block) >> 48 == 0 && count <= Block::kMembersMax);
}

SparseSet::~SparseSet() {
  for (auto at = blocks_.begin(); at != blocks_.end(); at = blocks_.Next(at)) {
    Block::Free(blocks_.At(at).block());
  }
}

SparseSet::Place SparseSet::Locate(uint64_t uid) const {
  auto at = blocks_.Floor(uid);
  if (at == blocks_.end()) at = blocks_.begin();
  const BlockPlace place = blocks_.At(at).Find(uid);
  return {at, place.index, place.found};
}

SparseSet::Place SparseSet::LowerBound(uint64_t uid) const {
  if (empty()) return {blocks_.end(), 0};
  Place place = Locate(uid);
  if (place.index == blocks_.At(place.at).count()) place = {blocks_.Next(place.at), 0};
  return place;
}

bool SparseSet::Contains(uint64_t uid) const {
  if (empty()) return false;
  return Locate(uid).found;
}

bool SparseSet::Add(uint64_t uid, uint32_t* block_count) {
  *block_count = 1;
  if (empty()) {
    Append({&uid, 1});
    return true;
  }
  Place place = Locate(uid);
  if (place.found) return false;
  if (blocks_.At(place.at).count() == Block::kMembersMax) {
    // An ascending fill leaves full blocks behind, any other halves them.
    if (place.index == Block::kMembersMax && blocks_.Next(place.at) == blocks_.end()) {
      Append({&uid, 1});
      return true;
    }
    Split(place.at);
    place = Locate(uid);
  }
  if (uid < blocks_.At(place.at).base) Rebase(place.at, uid);
  const Entry entry = blocks_.At(place.at);
  *block_count = entry.count() + 1;
  Block* block = Block::Insert(entry.block(), entry.count(), place.index, uid - entry.base);
  blocks_.Put(place.at, Entry(entry.base, block, *block_count));
  return true;
}

void SparseSet::Split(Index::Position at) {
  const Entry entry = blocks_.At(at);
  BlockUids uids;
  entry.ReadFrom(0, &uids);
  const uint32_t half = entry.count() / 2;
  const std::span<const uint64_t> left(uids.data(), half);
  const std::span<const uint64_t> right(uids.data() + half, entry.count() - half);
  blocks_.Put(at, Entry(entry.base, Block::New(left, entry.base), half));
  blocks_.Insert(Entry(right.front(), Block::New(right, right.front()), entry.count() - half));
  Block::Free(entry.block());
}

// Lowers the base of the first block so that uid fits, and by an eighth more of what the block
// spans: a descending fill does this a few times a block, not at every insert.
void SparseSet::Rebase(Index::Position at, uint64_t uid) {
  TALLY_ASSERT(at == blocks_.begin());
  const Entry entry = blocks_.At(at);
  BlockUids uids;
  entry.ReadFrom(0, &uids);
  const uint64_t base = uid - std::min(uid, (uids[entry.count() - 1] - uid) / 8);
  Block* block = Block::New({uids.data(), entry.count()}, base);
  blocks_.Put(at, Entry(base, block, entry.count()));
  Block::Free(entry.block());
}

bool SparseSet::Remove(uint64_t uid) {
  if (empty()) return false;
  const Place place = Locate(uid);
  if (!place.found) return false;
  EraseAt(place, 1, uid);
  return true;
}

void SparseSet::EraseAt(Place place, uint32_t n, uint64_t uid) {
  const Entry entry = blocks_.At(place.at);
  if (n == entry.count()) {
    Block::Free(entry.block());
    blocks_.Erase(place.at);
    return;
  }
  Block* block = n == 1 ? Block::Erase(entry.block(), entry.count(), place.index, uid - entry.base)
                        : Block::EraseMany(entry.block(), entry.count(), place.index, n);
  blocks_.Put(place.at, Entry(entry.base, block, entry.count() - n));
  if (entry.count() - n < kMergeBelow) MergeIfSmall(place.at);
}

void SparseSet::MergeIfSmall(Index::Position at) {
  auto next = blocks_.Next(at);
  if (next == blocks_.end()) {
    if (at == blocks_.begin()) return;
    next = at;
    at = blocks_.Previous(at);
  }
  const Entry left = blocks_.At(at);
  const Entry right = blocks_.At(next);
  const uint32_t count = left.count() + right.count();
  if (count > kMergedMax) return;
  std::array<uint64_t, Block::kMembersMax> uids;
  left.block()->Read(0, left.count(), left.base, uids.data());
  right.block()->Read(0, right.count(), right.base, uids.data() + left.count());
  blocks_.Put(at, Entry(left.base, Block::New({uids.data(), count}, left.base), count));
  blocks_.Erase(next);
  Block::Free(left.block());
  Block::Free(right.block());
}

void SparseSet::Append(std::span<const uint64_t> ascending) {
  while (!ascending.empty()) {
    const auto block = ascending.first(std::min<size_t>(ascending.size(), Block::kMembersMax));
    blocks_.Insert(Entry(block.front(), Block::New(block, block.front()),
                         static_cast<uint32_t>(block.size())));
    ascending = ascending.subspan(block.size());
  }
}

uint64_t SparseSet::CardinalityIn(UidRange range) const {
  if (range.first > range.last) return 0;
  const Place first = LowerBound(range.first);
  const Place last =
      range.last == UINT64_MAX ? Place{blocks_.end(), 0} : LowerBound(range.last + 1);
  // Whole blocks between the two, less what is before first, and what is before last in its block.
  return blocks_.MembersBetween(first.at, last.at) - first.index + last.index;
}

std::optional<uint64_t> SparseSet::NextIn(UidRange range) const {
  const Place place = LowerBound(range.first);
  if (place.at == blocks_.end()) return std::nullopt;
  const uint64_t uid = blocks_.At(place.at).at(place.index);
  if (uid > range.last) return std::nullopt;
  return uid;
}

std::optional<uint64_t> SparseSet::LastIn(UidRange range) const {
  if (empty()) return std::nullopt;
  Place place = Locate(range.last);
  if (!place.found) {
    if (place.index == 0) {
      if (place.at == blocks_.begin()) return std::nullopt;
      place.at = blocks_.Previous(place.at);
      place.index = blocks_.At(place.at).count();
    }
    --place.index;
  }
  const uint64_t uid = blocks_.At(place.at).at(place.index);
  if (uid < range.first || uid > range.last) return std::nullopt;
  return uid;
}

void SparseSet::Collect(UidRange range, size_t limit, std::vector<uint64_t>* uids) const {
  Place place = LowerBound(range.first);
  BlockUids block;
  while (limit > 0 && place.at != blocks_.end()) {
    const uint32_t n = blocks_.At(place.at).ReadFrom(place.index, &block);
    for (uint32_t i = 0; i < n && limit > 0; ++i, --limit) {
      if (block[i] > range.last) return;
      uids->push_back(block[i]);
    }
    place = {blocks_.Next(place.at), 0};
  }
}

void SparseSet::RemoveRange(UidRange range, std::vector<uint64_t>* removed) {
  while (true) {
    const Place place = LowerBound(range.first);
    if (place.at == blocks_.end()) return;
    BlockUids uids;
    const auto end = uids.begin() + blocks_.At(place.at).ReadFrom(place.index, &uids);
    const auto gone = std::upper_bound(uids.begin(), end, range.last);
    if (gone == uids.begin()) return;
    removed->insert(removed->end(), uids.begin(), gone);
    EraseAt(place, static_cast<uint32_t>(gone - uids.begin()), uids[0]);
  }
}

size_t SparseSet::MemoryBytes() const {
  size_t bytes = blocks_.MemoryBytes();
  for (auto at = blocks_.begin(); at != blocks_.end(); at = blocks_.Next(at)) {
    bytes += blocks_.At(at).block()->MemoryBytes();
  }
  return bytes;
}

bool SparseSet::IsValid() const {
  if (!blocks_.IsValid()) return false;
  std::optional<uint64_t> previous;
  for (auto at = blocks_.begin(); at != blocks_.end(); at = blocks_.Next(at)) {
    const Entry& entry = blocks_.At(at);
    if (!entry.block()->IsValid(entry.count())) return false;
    if (previous && (entry.base <= *previous || entry.at(0) <= *previous)) return false;
    previous = entry.at(entry.count() - 1);
    if (*previous < entry.base) return false;  // beyond 2^64-1
  }
  return true;
}

}  // namespace tallystick
