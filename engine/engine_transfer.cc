// EngineImpl: sets that come and go as a whole.
//
// A large change is prepared on a copy of the set, by pages and without the shard's lock, while the
// write path notes what others change; what they did is then put right, and the lock is held for
// the exchange of two pointers and one event.
#include "engine/base/assert.h"
#include "engine/base/coding.h"
#include "engine/engine_impl.h"
#include "engine/facts/chunk_list.h"
#include "engine/facts/popcount.h"
#include "engine/facts/portable_image.h"

#include <algorithm>

namespace tallystick {
namespace {

constexpr size_t kPageMembers = 1024;
// A chunk with so many members is handled as bits. A page of members that ends within the chunk in
// which it began is therefore always followed by bits: pieces never divide a chunk.
constexpr uint64_t kCrowdedMembers = 512;
static_assert(kCrowdedMembers <= kPageMembers);
// Changes of so many members are made under the shard's lock at once.
constexpr uint64_t kAtOnceMax = 1024;
constexpr size_t kFewFlipped = 256;
constexpr int kCorrectionsMax = 16;
constexpr int kEncodingsMax = 4;  // then the lock is held for the next one
constexpr int kBeginningsMax = 16;

bool IsCrowded(const FactSet& set, uint64_t chunk) {
  return set.CardinalityIn({FirstUidOf(chunk), LastUidOf(chunk)}) >= kCrowdedMembers;
}

uint32_t CountOf(const ChunkBits& bits) {
  return static_cast<uint32_t>(Popcount(bits.data(), kChunkWords));
}

void AddAll(FactSet* set, std::span<const uint64_t> uids) {
  for (const uint64_t uid : uids) TALLY_ASSERT(set->Add(uid));
}

void Put(FactSet* set, uint64_t uid, bool member) {
  static_cast<void>(member ? set->Add(uid) : set->Remove(uid));
}

// Drops what lies in the chunk of `next` or behind it; where to go on.
std::optional<uint64_t> EndAtChunk(std::optional<uint64_t> next, std::vector<uint64_t>* uids) {
  if (!next) return next;
  const uint64_t bound = FirstUidOf(ChunkOf(*next));
  while (!uids->empty() && uids->back() >= bound) uids->pop_back();
  return bound;
}

// All members of two sets, ascending: bits(chunk, of a, of b) or uids(of a, of b), piece by piece,
// each piece made of whole chunks.
template <typename OnBits, typename OnUids>
void WalkBoth(const FactSet& a, const FactSet& b, OnBits on_bits, OnUids on_uids) {
  std::vector<uint64_t> a_uids, b_uids;
  ChunkBits a_bits, b_bits;
  std::optional<uint64_t> from = 0;
  while (from) {
    a_uids.clear();
    b_uids.clear();
    const auto a_next = a.Collect(*from, kPageMembers, &a_uids);
    const auto b_next = b.Collect(*from, kPageMembers, &b_uids);
    if (a_uids.empty() && b_uids.empty()) return;
    const uint64_t first = a_uids.empty()   ? b_uids.front()
                           : b_uids.empty() ? a_uids.front()
                                            : std::min(a_uids.front(), b_uids.front());
    const uint64_t chunk = ChunkOf(first);
    if (IsCrowded(a, chunk) || IsCrowded(b, chunk)) {
      a.ReadChunk(chunk, &a_bits);
      b.ReadChunk(chunk, &b_bits);
      on_bits(chunk, a_bits, b_bits);
      from = chunk == kChunkNumberMax ? std::nullopt : std::optional(LastUidOf(chunk) + 1);
      continue;
    }
    const auto next = a_next && b_next ? std::min(*a_next, *b_next) : a_next ? a_next : b_next;
    from = EndAtChunk(next, &a_uids);
    static_cast<void>(EndAtChunk(next, &b_uids));
    TALLY_ASSERT(!a_uids.empty() || !b_uids.empty());
    on_uids(a_uids, b_uids);
  }
}

FactSet Union(const FactSet& a, const FactSet& b) {
  FactSet both;
  std::vector<uint64_t> merged;
  WalkBoth(
      a, b,
      [&](uint64_t chunk, ChunkBits& bits, const ChunkBits& more) {
        for (size_t i = 0; i < kChunkWords; ++i) bits[i] |= more[i];
        both.AppendChunk(chunk, bits, CountOf(bits));
      },
      [&](std::span<const uint64_t> uids, std::span<const uint64_t> more) {
        merged.clear();
        std::set_union(uids.begin(), uids.end(), more.begin(), more.end(),
                       std::back_inserter(merged));
        AddAll(&both, merged);
      });
  return both;
}

// `all` with the members within range replaced by those given, each plus range.first.
FactSet WithRange(const FactSet& all, UidRange range, const FactSet& members) {
  FactSet result;
  const auto outside = [range](uint64_t uid) { return uid < range.first || uid > range.last; };
  const auto add_outside = [&](uint64_t uid) {
    if (outside(uid)) TALLY_ASSERT(result.Add(uid));
  };
  WalkBoth(
      all, FactSet(),
      [&](uint64_t chunk, const ChunkBits& bits, const ChunkBits&) {
        if (LastUidOf(chunk) < range.first || FirstUidOf(chunk) > range.last) {
          result.AppendChunk(chunk, bits, CountOf(bits));
        } else {
          ForEachBit(bits.data(), 0, kChunkBits - 1,
                     [&](uint32_t bit) { add_outside(FirstUidOf(chunk) + bit); });
        }
      },
      [&](std::span<const uint64_t> uids, std::span<const uint64_t>) {
        for (const uint64_t uid : uids) add_outside(uid);
      });
  std::vector<uint64_t> page;
  std::optional<uint64_t> from = 0;
  while (from) {
    page.clear();
    from = members.Collect(*from, kPageMembers, &page);
    for (uint64_t& uid : page) uid += range.first;
    AddAll(&result, page);
  }
  return result;
}

// The event's payload and numbers, from before and after.
BulkOutcome Encode(WritePath::Swap* swap) {
  BulkOutcome outcome;
  std::string added, removed;
  ChunkListWriter added_writer(&added), removed_writer(&removed);
  ChunkBits gone;
  std::vector<uint64_t> uids;
  WalkBoth(
      swap->before, swap->after,
      [&](uint64_t chunk, const ChunkBits& before, ChunkBits& after) {
        for (size_t i = 0; i < kChunkWords; ++i) {
          gone[i] = before[i] & ~after[i];
          after[i] &= ~before[i];
        }
        outcome.added += CountOf(after);
        outcome.removed += CountOf(gone);
        added_writer.AppendChunk(chunk, after);
        removed_writer.AppendChunk(chunk, gone);
      },
      [&](std::span<const uint64_t> before, std::span<const uint64_t> after) {
        const auto append = [&uids](std::span<const uint64_t> of, std::span<const uint64_t> without,
                                    ChunkListWriter* writer) {
          uids.clear();
          std::set_difference(of.begin(), of.end(), without.begin(), without.end(),
                              std::back_inserter(uids));
          for (const uint64_t uid : uids) writer->Append(uid);
          return uids.size();
        };
        outcome.added += append(after, before, &added_writer);
        outcome.removed += append(before, after, &removed_writer);
      });
  added_writer.Finish();
  removed_writer.Finish();
  swap->payload.clear();
  PutBytes(&swap->payload, added);
  swap->payload.append(removed);
  swap->delta = static_cast<int64_t>(outcome.added) - static_cast<int64_t>(outcome.removed);
  swap->empty = outcome.added == 0 && outcome.removed == 0;
  swap->ready = true;
  return outcome;
}

}  // namespace

Status EngineImpl::CopySet(const FactKey& key, FactSet* copy, Ticket* ticket) {
  *copy = FactSet();
  SetPage page;
  ChunkBits bits;
  std::optional<uint64_t> from = 0;
  while (from) {
    if (Status s = ReadPage(key, *from, &page, ticket); !s.ok()) return s;
    if (page.uids.empty()) return Status();
    if (!page.crowded) {
      from = EndAtChunk(page.next, &page.uids);
      AddAll(copy, page.uids);
      continue;
    }
    const uint64_t chunk = ChunkOf(page.uids.front());
    if (Status s = ReadChunkBits(key, chunk, &bits, ticket); !s.ok()) return s;
    if (const uint32_t count = CountOf(bits); count > 0) copy->AppendChunk(chunk, bits, count);
    from = chunk == kChunkNumberMax ? std::nullopt : std::optional(LastUidOf(chunk) + 1);
  }
  return Status();
}

Result<BulkOutcome> EngineImpl::ReplaceAtOnce(const FactKey& target, FactSet members,
                                              UidRange range, Others others, SetLabels labels,
                                              int32_t busy_timeout_ms, Ticket* own) {
  const bool whole = range.first == 0 && range.last == UINT64_MAX;
  TALLY_ASSERT(whole || others == Others::kRemove);
  TALLY_ASSERT(whole || !members.LastIn({}) || *members.LastIn({}) <= range.last - range.first);
  const Result<uint64_t> present =
      others == Others::kRemove ? Cardinality(target, range, own) : Result<uint64_t>(0);
  if (!present) return Fail(present.error());
  BulkOutcome outcome;
  if (members.cardinality() + *present <= kAtOnceMax) {
    std::vector<uint64_t> uids;
    static_cast<void>(members.Collect(0, kAtOnceMax, &uids));
    for (uint64_t& uid : uids) uid += range.first;
    const WriteOptions options{.wait = WaitFor::kMemory, .busy_timeout_ms = busy_timeout_ms};
    if (others == Others::kRemove) return ReplaceRange(target, range, uids, labels, options, own);
    const auto decide = [&](const WritePath::Current& now,
                            WritePath::Change* change) -> std::optional<uint64_t> {
      for (const uint64_t uid : uids) {
        if (now.set != nullptr && now.set->IsAbsent(ChunkOf(uid))) return ChunkOf(uid);
        if (now.set == nullptr || !now.set->Contains(uid)) change->added.push_back(uid);
      }
      if (!change->added.empty()) change->labels = labels;
      outcome = {change->added.size(), 0};
      return std::nullopt;
    };
    const Status status = write_path_.ChangeSet(target, busy_timeout_ms, own, decide);
    if (!status.ok()) return Fail(status);
    return outcome;
  }

  WritePath::Preparation preparation(&state_);
  if (Status s = write_path_.BeginSwap(target, &preparation); !s.ok()) return Fail(s);
  WritePath::Swap swap;
  std::vector<WritePath::Flipped> flipped;
  const auto correct = [&] {
    for (const auto& [uid, is_member] : flipped) {
      Put(&swap.before, uid, is_member);
      const bool within = uid >= range.first && uid <= range.last;
      const bool given = within && members.Contains(uid - range.first);
      Put(&swap.after, uid, given || (is_member && (!within || others == Others::kKeep)));
    }
    swap.ready = false;
  };
  const auto encode = [&] {
    outcome = Encode(&swap);
    swap.labels = outcome.added > 0 ? labels : SetLabels{};
  };
  for (int beginnings = 0; beginnings < kBeginningsMax; ++beginnings) {
    if (Status s = CopySet(target, &swap.before, own); !s.ok()) return Fail(s);
    swap.after = !whole                    ? WithRange(swap.before, range, members)
                 : others == Others::kKeep ? Union(swap.before, members)
                                           : Union(FactSet(), members);
    swap.ready = false;
    int corrections = 0;
    int encodings = 0;
    auto answer = WritePath::SwapAnswer::kFlipped;
    while (answer == WritePath::SwapAnswer::kFlipped) {
      const bool last = encodings == kEncodingsMax;
      const auto tried =
          write_path_.TrySwap(target, &preparation, &swap, &flipped,
                              last ? std::function<void()>([&] { correct(), encode(); }) : nullptr,
                              busy_timeout_ms, own);
      if (!tried) return Fail(tried.error());
      answer = *tried;
      if (answer != WritePath::SwapAnswer::kFlipped) break;
      correct();
      // What came while many facts were put right is put right first.
      if (flipped.size() > kFewFlipped && ++corrections < kCorrectionsMax) continue;
      encode();
      ++encodings;
    }
    if (answer == WritePath::SwapAnswer::kDone) return outcome;
  }
  return Fail(StatusCode::kBusy, "others keep changing the set as a whole; try again later");
}

Result<Exported> EngineImpl::Export(const FactKey& key, uint64_t from, size_t bytes_max,
                                    Ticket* ticket) {
  if (bytes_max < kImageBytesMin || bytes_max > kImageBytesMax) {
    return Fail(StatusCode::kInvalidArgument, "an image has at most 64 KiB to 512 MiB");
  }
  // A step: two chunks as bits, or a page of members, each of which may need a head of its own.
  constexpr size_t kStepBytesMax =
      kPageMembers * (sizeof(uint16_t) + PortableWriter::kHeadBytesMax);
  static_assert(kStepBytesMax < kImageBytesMin / 2 &&
                PortableWriter::kContainerBytesMax + PortableWriter::kHeadBytesMax < kStepBytesMax);
  const auto container_of = [](uint64_t uid) { return uid / PortableWriter::kContainerBits; };
  Exported exported;
  PortableWriter writer(&exported.image);
  SetPage page;
  ChunkBits bits;
  exported.next = from;
  while (exported.next && writer.bytes() + kStepBytesMax <= bytes_max) {
    const Result<PlainInfo> plain =
        key.etype.empty() ? GetPlainInfo(key.eid, ticket) : Result<PlainInfo>(PlainInfo());
    if (!plain) return Fail(plain.error());
    if (plain->type == PlainType::kString)
      return Fail(StatusCode::kWrongType, "the key holds a string");
    if (Status s = ReadPage(key, *exported.next, &page, ticket); !s.ok()) return Fail(s);
    if (page.uids.empty()) {
      exported.next.reset();
      break;
    }
    const uint64_t container = container_of(page.uids.front());
    if (page.next && container_of(*page.next) == container) {
      // More than a page of one container. Only what lies before `from` of it is not wanted.
      for (const uint64_t chunk : {2 * container, 2 * container + 1}) {
        if (Status s = ReadChunkBits(key, chunk, &bits, ticket); !s.ok()) return Fail(s);
        if (LastUidOf(chunk) < from) continue;
        if (ChunkOf(from) == chunk && BitOf(from) > 0)
          ClearBitRange(bits.data(), 0, BitOf(from) - 1);
        exported.members += CountOf(bits);
        writer.AppendChunk(chunk, bits);
      }
      const uint64_t last = LastUidOf(2 * container + 1);
      exported.next = last == UINT64_MAX ? std::nullopt : std::optional(last + 1);
      continue;
    }
    exported.next = page.next;
    if (page.next) {
      exported.next = container_of(*page.next) * PortableWriter::kContainerBits;
      while (page.uids.back() >= *exported.next) page.uids.pop_back();
    }
    for (const uint64_t uid : page.uids) writer.Append(uid);
    exported.members += page.uids.size();
  }
  writer.Finish();
  TALLY_ASSERT(exported.image.size() <= bytes_max);
  return exported;
}

Result<BulkOutcome> EngineImpl::Import(const FactKey& key, std::string_view image, ImportMode mode,
                                       SetLabels labels, const WriteOptions& options,
                                       Ticket* ticket) {
  if (Status s = CheckFactKey(key); !s.ok()) return Fail(s);
  if (key.etype.empty())
    return Fail(StatusCode::kInvalidArgument, "images are imported into sets of facts only");
  if (image.size() > kImageBytesMax)
    return Fail(StatusCode::kTooLarge, "an image has at most 512 MiB");
  FactSet members;
  if (Status s = ReadPortable(image, &members); !s.ok()) return Fail(s);
  Ticket own;
  const auto outcome = ReplaceAtOnce(key, std::move(members), {},
                                     mode == ImportMode::kReplace ? Others::kRemove : Others::kKeep,
                                     labels, options.busy_timeout_ms, &own);
  if (!outcome) return outcome;
  if (Status s = Finish(options, own, ticket); !s.ok()) return Fail(std::move(s));
  return outcome;
}

}  // namespace tallystick
