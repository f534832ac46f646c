// How a FactSet changes from one form to another.
//
//   inline <-> block     when the members no longer fit inside; back when one more would fit
//   block  ->  container above 256 members, all of one chunk
//   block  ->  mixed     above 256 members otherwise
//   container -> mixed   at the first member of another chunk
//   container, mixed -> block or inline   below 129 members, when no chunk is absent
//
// Each moves at most 257 members. A mixed set that has records to be deleted by the next snapshot
// stays mixed until that was taken.
#include <algorithm>
#include <memory>

#include "engine/facts/fact_set_rep.h"

namespace tallystick {

void FactSet::ReadSmall(SmallMembers* members) const {
  if (form() == Form::kInline) {
    members->count = inline_uids::Read(words_, members->uids.data());
  } else {
    TALLY_ASSERT(form() == Form::kBlock);
    members->count = block_count();
    block()->Read(0, block_count(), block_base(), members->uids.data());
  }
}

void FactSet::SetSmall(std::span<const uint64_t> ascending) {
  TALLY_ASSERT(ascending.size() <= kSmallMembersMax);
  if (ascending.empty() || inline_uids::Fits(ascending.size(), ascending.back())) {
    inline_uids::Write(ascending, words_);
  } else {
    const uint64_t base = ascending.front() / 8 * 8;
    SetBlock(Block::New(ascending, base), static_cast<uint32_t>(ascending.size()), base);
  }
}

bool FactSet::AddToInline(uint64_t uid) {
  uint64_t uids[inline_uids::kMembersMax + 1];
  const uint32_t count = inline_uids::Read(words_, uids);
  uint64_t* at = std::lower_bound(uids, uids + count, uid);
  if (at != uids + count && *at == uid) return false;
  std::copy_backward(at, uids + count, uids + count + 1);
  *at = uid;
  SetSmall({uids, count + 1});
  return true;
}

bool FactSet::AddToBlock(uint64_t uid) {
  const uint32_t count = block_count();
  const uint64_t base = block_base();
  const BlockPlace place = FindInBlock(uid);
  if (place.found) return false;
  if (count < kSmallMembersMax && uid >= base) {
    SetBlock(Block::Insert(block(), count, place.index, uid - base), count + 1, base);
    return true;
  }
  SmallMembers members;
  ReadSmall(&members);
  const auto end = members.uids.begin() + count;
  std::copy_backward(members.uids.begin() + place.index, end, end + 1);
  members.uids[place.index] = uid;
  ++members.count;
  Block* old = block();
  if (count == kSmallMembersMax) {
    BecomeLarge(members.all());
  } else {
    // An eighth of what it spans below what is needed, so that not every insert of a descending
    // fill comes here.
    const uint64_t below = std::min(uid, (*end - uid) / 8);
    const uint64_t lower = (uid - below) / 8 * 8;
    SetBlock(Block::New(members.all(), lower), members.count, lower);
  }
  Block::Free(old);
  return true;
}

bool FactSet::RemoveFromSmall(uint64_t uid) {
  if (form() == Form::kBlock && block_count() > inline_uids::kMembersMax) {
    const BlockPlace place = FindInBlock(uid);
    if (!place.found) return false;
    const uint32_t count = block_count();
    const uint64_t base = block_base();
    SetBlock(Block::Erase(block(), count, place.index, uid - base), count - 1, base);
    return true;
  }
  SmallMembers members;
  ReadSmall(&members);
  const auto end = members.uids.begin() + members.count;
  const auto at = std::lower_bound(members.uids.begin(), end, uid);
  if (at == end || *at != uid) return false;
  const auto index = static_cast<uint32_t>(at - members.uids.begin());
  std::copy(at + 1, end, at);
  --members.count;
  if (form() == Form::kInline) {
    SetSmall(members.all());
    return true;
  }
  const bool roomy =
      members.count == 0 || inline_uids::Fits(members.count + 1, members.all().back());
  if (roomy) {
    Block::Free(block());
    SetSmall(members.all());
  } else {
    const uint64_t base = block_base();
    SetBlock(Block::Erase(block(), block_count(), index, uid - base), members.count, base);
  }
  return true;
}

void FactSet::BecomeLarge(std::span<const uint64_t> ascending) {
  if (ChunkOf(ascending.front()) == ChunkOf(ascending.back())) {
    ChunkBits bits{};
    for (const uint64_t uid : ascending) SetBitRange(bits.data(), BitOf(uid), BitOf(uid));
    Container only = Container::FromBits(ChunkOf(ascending.front()), bits,
                                         static_cast<uint32_t>(ascending.size()));
    only.MarkChanged();
    SetContainer(only);
    return;
  }
  auto mixed = std::make_unique<MixedSet>();
  mixed->AppendSparse(ascending);
  mixed->PromoteAll();
  SetMixed(mixed.release());
}

void FactSet::ContainerToMixed() {
  auto mixed = std::make_unique<MixedSet>();
  mixed->AddContainer(container());
  SetMixed(mixed.release());
}

void FactSet::ShrinkIfSmall() {
  if (is_container()) {
    if (container().absent()) return;
    ContainerToMixed();
  }
  if (form() != Form::kMixed) return;
  if (!mixed()->DissolveIfSmall() || mixed()->has_stale()) return;
  const std::unique_ptr<MixedSet> old(mixed());
  std::vector<uint64_t> uids;
  old->sparse().Collect({}, kSmallMembersMax, &uids);
  SetSmall(uids);
}

}  // namespace tallystick
