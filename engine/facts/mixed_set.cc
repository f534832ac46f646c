#include "engine/facts/mixed_set.h"

#include <algorithm>

#include "engine/base/assert.h"
#include "engine/facts/bit_order.h"
#include "engine/facts/heap.h"

namespace tallystick {
namespace {

// At every how many insertions into a sparse block it is asked whether the chunk is crowded.
constexpr uint32_t kCrowdedLookEvery = 16;

// The part of a chunk that range covers, in bits of the chunk.
struct BitRange {
  uint32_t first;
  uint32_t last;
  bool whole() const { return first == 0 && last == kChunkBits - 1; }
};

BitRange PartOf(uint64_t chunk, UidRange range) {
  return {range.first > FirstUidOf(chunk) ? BitOf(range.first) : 0,
          range.last < LastUidOf(chunk) ? BitOf(range.last) : kChunkBits - 1};
}

}  // namespace

MixedSet::~MixedSet() {
  for (auto at = chunks_.begin(); at != chunks_.end(); at = chunks_.Next(at)) {
    Container container = chunks_.At(at);
    container.Free();
  }
}

bool MixedSet::Contains(uint64_t uid) const {
  const auto at = chunks_.Find(ChunkOf(uid));
  if (at == chunks_.end()) return sparse_.Contains(uid);
  return chunks_.At(at).Contains(BitOf(uid));
}

bool MixedSet::Add(uint64_t uid) {
  const auto at = chunks_.Find(ChunkOf(uid));
  if (at != chunks_.end()) {
    Container container = chunks_.At(at);
    if (!container.Add(BitOf(uid))) return false;
    chunks_.Put(at, container);
    return true;
  }
  uint32_t block_count = 0;
  if (!sparse_.Add(uid, &block_count)) return false;
  // Counting costs as much as a look-up, so it is not done at each insertion.
  if (block_count % kCrowdedLookEvery == 0 && cardinality() > kSmallMembersMax) {
    PromoteIfCrowded(ChunkOf(uid));
  }
  return true;
}

bool MixedSet::Remove(uint64_t uid) {
  const auto at = chunks_.Find(ChunkOf(uid));
  if (at == chunks_.end()) return sparse_.Remove(uid);
  Container container = chunks_.At(at);
  if (!container.Remove(BitOf(uid))) return false;
  chunks_.Put(at, container);
  if (container.cardinality() < kChunkDemoteBelow) Demote(at);
  return true;
}

void MixedSet::PromoteIfCrowded(uint64_t chunk) {
  const UidRange range{FirstUidOf(chunk), LastUidOf(chunk)};
  if (sparse_.CardinalityIn(range) < kChunkPromoteMembers) return;
  std::vector<uint64_t> uids;
  sparse_.RemoveRange(range, &uids);
  ChunkBits bits{};
  for (const uint64_t uid : uids) SetBitRange(bits.data(), BitOf(uid), BitOf(uid));
  Container container = Container::FromBits(chunk, bits, static_cast<uint32_t>(uids.size()));
  container.MarkChanged();
  chunks_.Insert(container);
}

void MixedSet::PromoteAll() {
  std::vector<uint64_t> chunks;
  sparse_.ForEachIn({}, [&chunks](uint64_t uid) {
    if (chunks.empty() || chunks.back() != ChunkOf(uid)) chunks.push_back(ChunkOf(uid));
  });
  for (const uint64_t chunk : chunks) PromoteIfCrowded(chunk);
}

Container MixedSet::TakeOut(Chunks::Position at) {
  const Container container = chunks_.At(at);
  if (container.saved()) AddStale(container.number());
  chunks_.Erase(at);
  return container;
}

void MixedSet::Demote(Chunks::Position at) {
  Container container = TakeOut(at);
  std::vector<uint64_t> uids;
  if (container.cardinality() > 0) container.Collect(0, kChunkBits, &uids);
  container.Free();
  for (const uint64_t uid : uids) TALLY_ASSERT(sparse_.Add(uid));
}

bool MixedSet::DissolveIfSmall() {
  if (cardinality() >= kLargeMembersMin || chunks_.total().absent != 0) return false;
  while (!chunks_.empty()) Demote(chunks_.begin());
  return true;
}

uint64_t MixedSet::CardinalityIn(UidRange range) const {
  if (range.first > range.last) return 0;
  const uint64_t head = ChunkOf(range.first);
  const uint64_t tail = ChunkOf(range.last);
  uint64_t count = sparse_.CardinalityIn(range) +
                   chunks_.MembersBetween(chunks_.LowerBound(head), chunks_.LowerBound(tail + 1));
  // Only the chunks at both ends can be covered in part.
  for (const uint64_t chunk : {head, tail}) {
    const BitRange part = PartOf(chunk, range);
    const auto container = Find(chunk);
    if (container && !part.whole()) {
      count -= container->cardinality();
      count += container->CardinalityIn(part.first, part.last);
    }
    if (head == tail) break;
  }
  return count;
}

std::optional<uint64_t> MixedSet::NextFrom(uint64_t from) const {
  std::optional<uint64_t> next = sparse_.NextIn({from, UINT64_MAX});
  for (auto at = chunks_.LowerBound(ChunkOf(from)); at != chunks_.end(); at = chunks_.Next(at)) {
    const Container& container = chunks_.At(at);
    const uint64_t start = std::max(from, container.first_uid());
    if (next && *next < start) break;
    if (container.absent() && start == container.first_uid()) return start;
    const auto bit = container.NextIn(BitOf(start), kChunkBits - 1);
    if (bit) return container.first_uid() + *bit;
  }
  return next;
}

std::optional<uint64_t> MixedSet::Collect(uint64_t from, size_t limit,
                                          std::vector<uint64_t>* uids) const {
  const size_t enough = uids->size() + limit;
  auto at = chunks_.LowerBound(ChunkOf(from));
  while (uids->size() < enough) {
    // Sparse members up to the next container, then that container.
    const bool more = at != chunks_.end();
    const uint64_t start = more ? chunks_.At(at).first_uid() : UINT64_MAX;
    if (!sparse_.empty() && from <= start) {
      sparse_.Collect({from, start}, enough - uids->size(), uids);
      if (uids->size() == enough) break;
    }
    if (!more) return std::nullopt;
    const Container& container = chunks_.At(at);
    container.Collect(from > start ? BitOf(from) : 0, enough - uids->size(), uids);
    if (container.last_uid() == UINT64_MAX && uids->size() < enough) return std::nullopt;
    from = container.last_uid() + 1;
    at = chunks_.Next(at);
  }
  if (limit == 0) return NextFrom(from);
  if (uids->back() == UINT64_MAX) return std::nullopt;
  return NextFrom(uids->back() + 1);
}

std::optional<uint64_t> MixedSet::LastIn(UidRange range) const {
  if (range.first > range.last) return std::nullopt;
  const std::optional<uint64_t> last = sparse_.LastIn(range);
  auto at = chunks_.Floor(ChunkOf(range.last));
  while (at != chunks_.end()) {
    const Container& container = chunks_.At(at);
    if (container.last_uid() < range.first || (last && *last > container.last_uid())) break;
    const BitRange part = PartOf(container.number(), range);
    const auto bit = container.LastIn(part.first, part.last);
    if (bit) return container.first_uid() + *bit;
    if (at == chunks_.begin()) break;
    at = chunks_.Previous(at);
  }
  return last;
}

void MixedSet::ReadBits(UidRange range, char* out) const {
  sparse_.ForEachIn(range, [&](uint64_t uid) { SetRedisBit(out, uid - range.first); });
  for (auto at = chunks_.LowerBound(ChunkOf(range.first)); at != chunks_.end();
       at = chunks_.Next(at)) {
    const Container& container = chunks_.At(at);
    if (container.first_uid() > range.last) break;
    container.ReadBits(range, out);
  }
}

void MixedSet::RemoveRange(UidRange range, std::vector<uint64_t>* removed) {
  const auto before = static_cast<std::ptrdiff_t>(removed->size());
  sparse_.RemoveRange(range, removed);
  const auto between = static_cast<std::ptrdiff_t>(removed->size());
  std::vector<uint64_t> small;
  auto at = chunks_.LowerBound(ChunkOf(range.first));
  while (at != chunks_.end() && chunks_.At(at).first_uid() <= range.last) {
    Container container = chunks_.At(at);
    const BitRange part = PartOf(container.number(), range);
    container.RemoveRange(part.first, part.last, removed);
    chunks_.Put(at, container);
    if (container.cardinality() < kChunkDemoteBelow) small.push_back(container.number());
    at = chunks_.Next(at);
  }
  for (const uint64_t chunk : small) Demote(chunks_.Find(chunk));
  std::inplace_merge(removed->begin() + before, removed->begin() + between, removed->end());
}

void MixedSet::ChunksWithMembers(std::vector<uint64_t>* chunks) const {
  const auto before = static_cast<std::ptrdiff_t>(chunks->size());
  std::optional<uint64_t> last;
  sparse_.ForEachIn({}, [&](uint64_t uid) {
    if (last != ChunkOf(uid)) chunks->push_back(ChunkOf(uid));
    last = ChunkOf(uid);
  });
  const auto between = static_cast<std::ptrdiff_t>(chunks->size());
  ForEachContainer([&](const Container& container) { chunks->push_back(container.number()); });
  std::inplace_merge(chunks->begin() + before, chunks->begin() + between, chunks->end());
}

std::optional<uint64_t> MixedSet::FirstAbsent(UidRange range) const {
  if (range.first > range.last || chunks_.total().absent == 0) return std::nullopt;
  const auto at = chunks_.FirstWith(chunks_.LowerBound(ChunkOf(range.first)),
                                    [](const Tally& tally) { return tally.absent != 0; });
  if (at == chunks_.end() || chunks_.At(at).number() > ChunkOf(range.last)) return std::nullopt;
  return chunks_.At(at).number();
}

void MixedSet::TakePending(std::vector<uint64_t>* changed, std::vector<uint64_t>* stale) {
  const auto is_changed = [](const Tally& tally) { return tally.changed != 0; };
  for (auto at = chunks_.FirstWith(chunks_.begin(), is_changed); at != chunks_.end();
       at = chunks_.FirstWith(at, is_changed)) {
    Container container = chunks_.At(at);
    changed->push_back(container.number());
    container.MarkSaved();
    chunks_.Put(at, container);
  }
  std::sort(stale_.begin(), stale_.end());
  stale_.erase(std::unique(stale_.begin(), stale_.end()), stale_.end());
  for (const uint64_t chunk : stale_) {
    if (chunks_.Find(chunk) == chunks_.end()) stale->push_back(chunk);
  }
  stale_ = {};
}

void MixedSet::AppendSaved(std::vector<uint64_t>* chunks) const {
  chunks->insert(chunks->end(), stale_.begin(), stale_.end());
  ForEachContainer([chunks](const Container& container) {
    if (container.saved()) chunks->push_back(container.number());
  });
}

std::optional<Container> MixedSet::Find(uint64_t chunk) const {
  const auto at = chunks_.Find(chunk);
  if (at == chunks_.end()) return std::nullopt;
  return chunks_.At(at);
}

void MixedSet::Replace(const Container& container) {
  const auto at = chunks_.Find(container.number());
  TALLY_ASSERT(at != chunks_.end());
  chunks_.Put(at, container);
}

size_t MixedSet::MemoryBytes() const {
  size_t bytes = HeapBytes(sizeof(MixedSet)) + sparse_.MemoryBytes() + chunks_.MemoryBytes();
  if (stale_.capacity() != 0) bytes += HeapBytes(stale_.capacity() * sizeof(uint64_t));
  ForEachContainer([&bytes](const Container& container) { bytes += container.MemoryBytes(); });
  return bytes;
}

bool MixedSet::IsValid() const {
  if (!sparse_.IsValid() || !chunks_.IsValid()) return false;
  bool valid = true;
  ForEachContainer([&](const Container& container) {
    const UidRange chunk{container.first_uid(), container.last_uid()};
    valid = valid && container.IsValid() && (container.changed() || container.saved()) &&
            sparse_.CardinalityIn(chunk) == 0;
  });
  return valid;
}

}  // namespace tallystick
