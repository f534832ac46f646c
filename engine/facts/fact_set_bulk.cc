// Whole chunks of a FactSet, for set algebra and bulk changes.
#include <memory>

#include "engine/facts/fact_set_rep.h"

namespace tallystick {

void FactSet::ReadChunk(uint64_t chunk, ChunkBits* bits) const {
  std::optional<Container> found;
  if (form() == Form::kMixed) {
    found = mixed()->Find(chunk);
  } else if (is_container() && container().number() == chunk) {
    found = container();
  }
  if (found) {
    found->ToBits(bits);
    return;
  }
  bits->fill(0);
  const UidRange range{FirstUidOf(chunk), LastUidOf(chunk)};
  const auto set_bit = [bits](uint64_t uid) {
    (*bits)[BitOf(uid) / 64] |= uint64_t{1} << (BitOf(uid) % 64);
  };
  if (form() == Form::kMixed) {
    mixed()->sparse().ForEachIn(range, set_bit);
  } else if (!is_container()) {
    SmallMembers members;
    ReadSmall(&members);
    for (const uint64_t uid : members.In(range)) set_bit(uid);
  }
}

void FactSet::AppendChunk(uint64_t chunk, const ChunkBits& bits, uint32_t count) {
  if (count <= kSmallMembersMax) {
    ForEachBit(bits.data(), 0, kChunkBits - 1,
               [&](uint32_t bit) { TALLY_ASSERT(Add(FirstUidOf(chunk) + bit)); });
    return;
  }
  Container added = Container::FromBits(chunk, bits, count);
  added.MarkChanged();
  if (form() == Form::kInline && empty()) {
    SetContainer(added);
    return;
  }
  if (is_container()) {
    ContainerToMixed();
  } else if (form() != Form::kMixed) {
    SmallToMixed();
    mixed()->PromoteAll();
  }
  TALLY_ASSERT(!mixed()->Find(chunk));
  mixed()->AddContainer(added);
}

void FactSet::SmallToMixed() {
  SmallMembers members;
  ReadSmall(&members);
  auto large = std::make_unique<MixedSet>();
  large->AppendSparse(members.all());
  if (form() == Form::kBlock) Block::Free(block());
  SetMixed(large.release());
}

FactSet FactSet::Exchange(FactSet next) {
  std::vector<uint64_t> saved;
  if (form() == Form::kMixed) {
    mixed()->AppendSaved(&saved);
  } else if (is_container() && container().saved()) {
    saved.push_back(container().number());
  }
  std::swap(words_[0], next.words_[0]);
  std::swap(words_[1], next.words_[1]);
  if (!saved.empty()) {
    if (is_container()) {
      ContainerToMixed();
    } else if (form() != Form::kMixed) {
      SmallToMixed();
    }
    for (const uint64_t chunk : saved) mixed()->AddStale(chunk);
  }
  return next;
}

}  // namespace tallystick
