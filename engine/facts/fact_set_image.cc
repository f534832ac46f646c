// A FactSet's chunks on disk and its images.
#include <memory>
#include <utility>

#include "engine/facts/fact_set_rep.h"
#include "engine/facts/set_image.h"

namespace tallystick {

std::optional<uint64_t> FactSet::FirstAbsent(UidRange range) const {
  if (form() == Form::kMixed) return mixed()->FirstAbsent(range);
  if (form() != Form::kAbsent) return std::nullopt;
  const Container only = container();
  if (range.first > only.last_uid() || range.last < only.first_uid()) return std::nullopt;
  return only.number();
}

std::optional<uint64_t> FactSet::FirstAbsentPartly(UidRange range) const {
  if (range.first > range.last) return std::nullopt;
  const uint64_t head = ChunkOf(range.first);
  const uint64_t tail = ChunkOf(range.last);
  const bool head_whole =
      range.first == FirstUidOf(head) && (head != tail || range.last == LastUidOf(head));
  const bool tail_whole =
      range.last == LastUidOf(tail) && (head != tail || range.first == FirstUidOf(tail));
  if (!head_whole && IsAbsent(head)) return head;
  if (!tail_whole && IsAbsent(tail)) return tail;
  return std::nullopt;
}

bool FactSet::IsAbsent(uint64_t chunk) const {
  if (form() == Form::kMixed) {
    const auto found = mixed()->Find(chunk);
    return found && found->absent();
  }
  return form() == Form::kAbsent && container().number() == chunk;
}

bool FactSet::InstallChunk(uint64_t chunk, std::string_view image) {
  TALLY_ASSERT(IsAbsent(chunk));
  ChunkBits bits;
  if (!DecodeChunkBits(image, &bits)) return false;
  Container target = form() == Form::kMixed ? *mixed()->Find(chunk) : container();
  if (!target.Install(bits)) return false;
  if (form() == Form::kMixed) {
    mixed()->Replace(target);
  } else {
    SetContainer(target);
  }
  return true;
}

void FactSet::EncodeHeader(std::string* out) const {
  out->push_back(static_cast<char>(chunked() ? kHeaderImageChunks : kHeaderImageMembers));
  if (form() == Form::kMixed) {
    AscendingWriter writer(mixed()->sparse().cardinality(), out);
    mixed()->sparse().ForEachIn({}, [&writer](uint64_t uid) { writer.Append(uid); });
  } else if (is_container()) {
    AppendAscending({}, out);
  } else {
    SmallMembers members;
    ReadSmall(&members);
    AppendAscending(members.all(), out);
  }
  if (!chunked()) return;
  std::vector<Container> containers;
  if (is_container()) {
    containers.push_back(container());
  } else {
    mixed()->ForEachContainer([&](const Container& each) { containers.push_back(each); });
  }
  AscendingWriter writer(containers.size(), out);
  for (const Container& each : containers) writer.Append(each.number());
  for (const Container& each : containers) PutVarint(out, each.cardinality() - 1);
}

bool FactSet::DecodeHeader(std::string_view bytes, FactSet* set) {
  *set = FactSet();
  ByteReader reader(bytes);
  uint8_t form = 0;
  if (!reader.U8(&form)) return false;
  if (form != kHeaderImageMembers && form != kHeaderImageChunks) return false;
  std::vector<uint64_t> uids;
  std::vector<uint64_t> numbers;
  std::vector<Container> containers;
  if (!ReadAscending(&reader, &uids)) return false;
  if (form == kHeaderImageChunks) {
    if (!ReadAscending(&reader, &numbers)) return false;
    if (numbers.empty() || numbers.back() > kChunkNumberMax) return false;
    containers.reserve(numbers.size());
    for (const uint64_t number : numbers) {
      uint64_t less_one = 0;
      if (!reader.Varint(&less_one) || less_one >= kChunkBits) return false;
      containers.push_back(Container::Absent(number, static_cast<uint32_t>(less_one) + 1));
    }
  }
  if (!reader.ok() || reader.remaining() != 0) return false;

  FactSet decoded;
  if (containers.empty() && uids.size() <= kSmallMembersMax) {
    decoded.SetSmall(uids);
  } else if (uids.empty() && containers.size() == 1) {
    decoded.SetContainer(containers.front());
  } else {
    auto mixed = std::make_unique<MixedSet>();
    mixed->AppendSparse(uids);
    for (const Container& each : containers) {
      const UidRange chunk{each.first_uid(), each.last_uid()};
      if (mixed->sparse().NextIn(chunk)) return false;  // one chunk in two places
      mixed->AddContainer(each);
    }
    decoded.SetMixed(mixed.release());
  }
  *set = std::move(decoded);
  return true;
}

void FactSet::EncodeChunk(uint64_t chunk, std::string* out) const {
  std::optional<Container> found;
  if (form() == Form::kMixed) found = mixed()->Find(chunk);
  if (is_container() && container().number() == chunk) found = container();
  TALLY_ASSERT(found && !found->absent());
  found->Encode(out);
}

void FactSet::TakePending(std::vector<uint64_t>* changed, std::vector<uint64_t>* stale) {
  if (form() == Form::kMixed) {
    mixed()->TakePending(changed, stale);
    // With containers it stays as it is: the caller is about to encode them.
    if (!mixed()->has_containers()) ShrinkIfSmall();
  } else if (is_container()) {
    Container only = container();
    if (!only.changed()) return;
    changed->push_back(only.number());
    only.MarkSaved();
    SetContainer(only);
  }
}

}  // namespace tallystick
