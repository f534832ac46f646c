#include "engine/facts/fact_set.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/facts/bit_order.h"
#include "engine/facts/fact_set_rep.h"
#include "engine/facts/heap.h"

namespace tallystick {
namespace {

// The part of a chunk that range covers; nothing when they do not touch.
std::optional<UidRange> Overlap(uint64_t chunk, UidRange range) {
  const UidRange part{std::max(range.first, FirstUidOf(chunk)),
                      std::min(range.last, LastUidOf(chunk))};
  if (part.first > part.last) return std::nullopt;
  return part;
}

}  // namespace

std::span<const uint64_t> FactSet::SmallMembers::In(UidRange range) const {
  if (range.first > range.last) return {};
  const auto begin = uids.begin();
  const auto first = std::lower_bound(begin, begin + count, range.first);
  const auto end = std::upper_bound(first, begin + count, range.last);
  return {first, end};
}

FactSet::FactSet() = default;

FactSet::FactSet(FactSet&& other) noexcept {
  std::swap(words_[0], other.words_[0]);
  std::swap(words_[1], other.words_[1]);
}

FactSet& FactSet::operator=(FactSet&& other) noexcept {
  if (this == &other) return *this;
  FactSet old(std::move(*this));
  std::swap(words_[0], other.words_[0]);
  std::swap(words_[1], other.words_[1]);
  return *this;
}

FactSet::~FactSet() {
  if (form() == Form::kBlock) Block::Free(block());
  if (form() == Form::kMixed) delete mixed();
  if (is_container()) container().Free();
}

// ---- Members
// ----------------------------------------------------------------------------------------

void FactSet::Prefetch() const {
  if (form() == Form::kInline) return;
  constexpr uint64_t kPointerMask = (uint64_t{1} << 48) - 1;
  const auto* heap = reinterpret_cast<const char*>(words_[1] & kPointerMask);
  __builtin_prefetch(heap);
  __builtin_prefetch(heap + 64);
}

bool FactSet::Contains(uint64_t uid) const {
  if (form() == Form::kMixed) return mixed()->Contains(uid);
  if (is_container()) {
    const Container only = container();
    return only.number() == ChunkOf(uid) && only.Contains(BitOf(uid));
  }
  if (form() == Form::kBlock) {
    return FindInBlock(uid).found;
  }
  uint64_t uids[inline_uids::kMembersMax];
  const uint32_t count = inline_uids::Read(words_, uids);
  return std::find(uids, uids + count, uid) != uids + count;
}

bool FactSet::Add(uint64_t uid) {
  if (form() == Form::kInline) return AddToInline(uid);
  if (form() == Form::kBlock) return AddToBlock(uid);
  if (is_container()) {
    Container only = container();
    if (only.number() == ChunkOf(uid)) {
      const bool added = only.Add(BitOf(uid));
      SetContainer(only);
      return added;
    }
    ContainerToMixed();
  }
  return mixed()->Add(uid);
}

bool FactSet::Remove(uint64_t uid) {
  if (form() == Form::kInline || form() == Form::kBlock) return RemoveFromSmall(uid);
  if (form() == Form::kMixed) {
    if (!mixed()->Remove(uid)) return false;
  } else {
    Container only = container();
    if (only.number() != ChunkOf(uid) || !only.Remove(BitOf(uid))) return false;
    SetContainer(only);
  }
  if (cardinality() < kLargeMembersMin) ShrinkIfSmall();
  return true;
}

uint64_t FactSet::cardinality() const {
  if (form() == Form::kMixed) return mixed()->cardinality();
  if (form() == Form::kInline) return inline_uids::Count(words_);
  return words_[1] >> 48;  // where block and container both keep it
}

uint64_t FactSet::CardinalityIn(UidRange range) const {
  if (form() == Form::kMixed) return mixed()->CardinalityIn(range);
  if (is_container()) {
    const Container only = container();
    const auto part = Overlap(only.number(), range);
    if (!part) return 0;
    if (part->first == only.first_uid() && part->last == only.last_uid()) return only.cardinality();
    return only.CardinalityIn(BitOf(part->first), BitOf(part->last));
  }
  SmallMembers members;
  ReadSmall(&members);
  return members.In(range).size();
}

std::optional<uint64_t> FactSet::Collect(uint64_t from, size_t limit,
                                         std::vector<uint64_t>* uids) const {
  if (form() == Form::kMixed) return mixed()->Collect(from, limit, uids);
  if (is_container()) {
    const Container only = container();
    if (from > only.last_uid()) return std::nullopt;
    const size_t before = uids->size();
    if (limit > 0) only.Collect(from > only.first_uid() ? BitOf(from) : 0, limit, uids);
    if (uids->size() - before < limit) return std::nullopt;
    if (limit > 0 && uids->back() == only.last_uid()) return std::nullopt;
    const uint64_t next = limit > 0 ? uids->back() + 1 : std::max(from, only.first_uid());
    if (only.absent() && next == only.first_uid()) return next;
    const auto bit = only.NextIn(BitOf(next), kChunkBits - 1);
    if (!bit) return std::nullopt;
    return only.first_uid() + *bit;
  }
  SmallMembers members;
  ReadSmall(&members);
  const auto found = members.In({from, UINT64_MAX});
  const size_t n = std::min(limit, found.size());
  uids->insert(uids->end(), found.begin(), found.begin() + static_cast<std::ptrdiff_t>(n));
  if (n == found.size()) return std::nullopt;
  return found[n];
}

std::optional<uint64_t> FactSet::LastIn(UidRange range) const {
  if (form() == Form::kMixed) return mixed()->LastIn(range);
  if (is_container()) {
    const Container only = container();
    const auto part = Overlap(only.number(), range);
    if (!part) return std::nullopt;
    const auto bit = only.LastIn(BitOf(part->first), BitOf(part->last));
    if (!bit) return std::nullopt;
    return only.first_uid() + *bit;
  }
  SmallMembers members;
  ReadSmall(&members);
  const auto found = members.In(range);
  if (found.empty()) return std::nullopt;
  return found.back();
}

void FactSet::ReadBits(uint64_t first, size_t bytes, char* out) const {
  if (bytes == 0) return;
  TALLY_ASSERT(bytes <= UINT64_MAX / 8);
  const uint64_t span = uint64_t{bytes} * 8 - 1;
  const UidRange range{first, span > UINT64_MAX - first ? UINT64_MAX : first + span};
  if (form() == Form::kMixed) {
    mixed()->ReadBits(range, out);
  } else if (is_container()) {
    const Container only = container();
    if (Overlap(only.number(), range)) only.ReadBits(range, out);
  } else {
    SmallMembers members;
    ReadSmall(&members);
    for (const uint64_t uid : members.In(range)) SetRedisBit(out, uid - first);
  }
}

uint64_t FactSet::RemoveRange(UidRange range, std::vector<uint64_t>* removed) {
  const size_t before = removed->size();
  if (range.first > range.last) return 0;
  if (form() == Form::kMixed) {
    mixed()->RemoveRange(range, removed);
  } else if (is_container()) {
    Container only = container();
    const auto part = Overlap(only.number(), range);
    if (!part) return 0;
    only.RemoveRange(BitOf(part->first), BitOf(part->last), removed);
    SetContainer(only);
    if (only.cardinality() == 0) {
      // A container without members is no form of a set.
      Forget();
      if (only.saved()) {
        auto mixed_set = std::make_unique<MixedSet>();
        mixed_set->AddStale(only.number());
        SetMixed(mixed_set.release());
      }
      return removed->size() - before;
    }
  } else {
    SmallMembers members;
    ReadSmall(&members);
    const auto found = members.In(range);
    if (found.empty()) return 0;
    removed->insert(removed->end(), found.begin(), found.end());
    const auto at = members.uids.begin() + (found.data() - members.uids.data());
    std::copy(at + static_cast<std::ptrdiff_t>(found.size()), members.uids.begin() + members.count,
              at);
    members.count -= static_cast<uint32_t>(found.size());
    if (form() == Form::kBlock) Block::Free(block());
    SetSmall(members.all());
    return removed->size() - before;
  }
  if (cardinality() < kLargeMembersMin) ShrinkIfSmall();
  return removed->size() - before;
}

void FactSet::ChunksWithMembers(std::vector<uint64_t>* chunks) const {
  if (form() == Form::kMixed) {
    mixed()->ChunksWithMembers(chunks);
  } else if (is_container()) {
    chunks->push_back(container().number());
  } else {
    SmallMembers members;
    ReadSmall(&members);
    const size_t before = chunks->size();
    for (const uint64_t uid : members.all()) {
      if (chunks->size() == before || chunks->back() != ChunkOf(uid)) {
        chunks->push_back(ChunkOf(uid));
      }
    }
  }
}

// ---- Looking in
// -------------------------------------------------------------------------------------

FactSet::Shape FactSet::shape() const {
  Shape shape;
  const auto count = [&shape](const Container& container) {
    if (container.form() == Container::Form::kPacked) ++shape.array;
    if (container.form() == Container::Form::kArray) ++shape.array;
    if (container.form() == Container::Form::kRoaring) ++shape.roaring;
    if (container.form() == Container::Form::kDense) ++shape.dense;
    if (container.form() == Container::Form::kAbsent) ++shape.absent;
  };
  if (form() == Form::kMixed) {
    mixed()->ForEachContainer(count);
    shape.sparse = mixed()->sparse().empty() ? 0 : 1;
  } else if (is_container()) {
    count(container());
  } else {
    shape.sparse = empty() ? 0 : 1;
  }
  return shape;
}

bool FactSet::chunked() const {
  return is_container() || (form() == Form::kMixed && mixed()->has_containers());
}

size_t FactSet::MemoryBytes() const {
  if (form() == Form::kMixed) return mixed()->MemoryBytes();
  if (form() == Form::kBlock) return block()->MemoryBytes();
  return is_container() ? container().MemoryBytes() : 0;
}

bool FactSet::IsValid() const {
  if (form() == Form::kMixed) return mixed()->IsValid();
  if (is_container()) {
    const Container only = container();
    return only.IsValid() && (only.changed() || only.saved());
  }
  if (form() == Form::kBlock) return block()->IsValid(block_count());
  if (form() != Form::kInline) return false;
  SmallMembers members;
  ReadSmall(&members);
  const auto all = members.all();
  return std::adjacent_find(all.begin(), all.end(), std::greater_equal<>()) == all.end();
}

}  // namespace tallystick
