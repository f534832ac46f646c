// EngineImpl: random members, and the algebra of sets.
//
// Work goes by pages: where the leading set is crowded one chunk's bits are combined word by word,
// elsewhere up to a thousand members are looked up in the other sets. Every page takes each shard's
// lock once, and shortly.
#include "engine/base/assert.h"
#include "engine/engine_impl.h"
#include "engine/facts/chunk_list.h"
#include "engine/facts/popcount.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <unordered_set>

namespace tallystick {
namespace {

constexpr uint64_t kPageMembers = 1024;
constexpr uint64_t kCrowdedMembers = 512;
constexpr int kPagesPerCall = 64;
// With more samples than one in so many members, walking over all is cheaper than looking up each.
constexpr uint64_t kWalkShare = 512;

// The member that has `rank` members below it; its chunk may be absent, then only that is known.
struct Selected {
  std::optional<uint64_t> absent_chunk;
  uint64_t uid = 0;
};

Selected Select(const FactSet& set, uint64_t rank) {
  TALLY_ASSERT(rank < set.cardinality());
  uint64_t low = 0;
  uint64_t high = kChunkNumberMax;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (set.CardinalityIn({0, LastUidOf(middle)}) <= rank) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (set.IsAbsent(low)) return {low, 0};
  uint64_t first = FirstUidOf(low);
  uint64_t last = LastUidOf(low);
  const uint64_t below = low == 0 ? 0 : set.CardinalityIn({0, first - 1});
  while (first < last) {
    const uint64_t middle = first + (last - first) / 2;
    if (below + set.CardinalityIn({FirstUidOf(low), middle}) <= rank) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return {std::nullopt, first};
}

// `count` different ranks below `members`, ascending (Floyd's algorithm).
std::vector<uint64_t> DistinctRanks(uint64_t members, uint64_t count, std::mt19937_64* random) {
  std::unordered_set<uint64_t> chosen;
  for (uint64_t i = members - count; i < members; ++i) {
    const uint64_t rank = std::uniform_int_distribution<uint64_t>(0, i)(*random);
    if (!chosen.insert(rank).second) chosen.insert(i);
  }
  std::vector<uint64_t> ranks(chosen.begin(), chosen.end());
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

void KeepFrom(uint64_t from, uint64_t chunk, ChunkBits* bits) {
  if (ChunkOf(from) == chunk && BitOf(from) > 0) ClearBitRange(bits->data(), 0, BitOf(from) - 1);
}

}  // namespace

Status EngineImpl::Sample(const FactKey& key, uint64_t count, bool distinct, Members* members,
                          Ticket* ticket) {
  std::mt19937_64 random(environment_.random->Next());
  const Result<uint64_t> all = Cardinality(key, {}, ticket);
  if (!all) return all.error();
  if (*all == 0 || count == 0) return Status();
  const Result<uint64_t> texts = CountTexts(key, ticket);
  if (!texts) return texts.error();
  const uint64_t uids = *all - std::min(*texts, *all);
  std::vector<uint64_t> ranks;
  if (distinct) {
    count = std::min(count, *all);
    ranks = DistinctRanks(*all, count, &random);
  } else {
    std::uniform_int_distribution<uint64_t> any(0, *all - 1);
    while (ranks.size() < count) ranks.push_back(any(random));
    std::sort(ranks.begin(), ranks.end());
  }
  // Texts come behind the uids.
  const auto first_text = std::lower_bound(ranks.begin(), ranks.end(), uids);
  std::vector<uint64_t> text_ranks(first_text, ranks.end());
  ranks.erase(first_text, ranks.end());
  for (uint64_t& rank : text_ranks) rank -= uids;
  const auto uids_before = static_cast<std::ptrdiff_t>(members->uids.size());
  const auto texts_before = static_cast<std::ptrdiff_t>(members->texts.size());
  if (!ranks.empty()) {
    const Status status = SampleUids(key, ranks, uids, distinct, &members->uids, ticket);
    if (!status.ok()) return status;
  }
  if (!text_ranks.empty()) {
    const Status status = SampleTexts(key, text_ranks, distinct, &members->texts, ticket);
    if (!status.ok()) return status;
  }
  std::shuffle(members->uids.begin() + uids_before, members->uids.end(), random);
  std::shuffle(members->texts.begin() + texts_before, members->texts.end(), random);
  return Status();
}

// The members that have so many others below them, of a set that had `members` uids.
Status EngineImpl::SampleUids(const FactKey& key, std::span<const uint64_t> ranks, uint64_t members,
                              bool distinct, std::vector<uint64_t>* uids, Ticket* ticket) {
  const size_t before = uids->size();
  if (ranks.size() > members / kWalkShare) {
    // What is removed while this walks shortens it; the last members then stand in.
    std::vector<uint64_t> page;
    std::optional<uint64_t> from = 0;
    uint64_t base = 0;
    size_t next = 0;
    while (from && next < ranks.size()) {
      page.clear();
      const auto scanned = Scan(key, *from, 4 * kPageMembers, &page, ticket);
      if (!scanned) return scanned.error();
      for (; next < ranks.size() && ranks[next] - base < page.size(); ++next)
        uids->push_back(page[ranks[next] - base]);
      base += page.size();
      from = *scanned;
    }
    return Status();
  }
  for (const uint64_t rank : ranks) {
    uint64_t uid = 0;
    bool found = false;
    const Status status = ReadSet(
        key, ticket,
        [&](const FactSet& set) -> std::optional<uint64_t> {
          if (set.empty()) return std::nullopt;
          return Select(set, std::min(rank, set.cardinality() - 1)).absent_chunk;
        },
        [&](const SetView& view) {
          if (view.set == nullptr || view.set->set.empty()) return Status();
          uid = Select(view.set->set, std::min(rank, view.set->set.cardinality() - 1)).uid;
          found = true;
          return Status();
        });
    if (!status.ok()) return status;
    if (found && (!distinct || uids->size() == before || uids->back() != uid)) uids->push_back(uid);
  }
  return Status();
}

Status EngineImpl::TakeRandom(const FactKey& key, uint64_t count, Members* members,
                              const WriteOptions& options, Ticket* ticket) {
  const uint64_t seed = environment_.random->Next();
  std::vector<uint64_t> taken;
  std::vector<std::string> texts;
  Ticket own;
  const auto decide = [&](const WritePath::Current& now,
                          WritePath::Change* change) -> std::optional<uint64_t> {
    taken.clear();
    texts.clear();
    const TextSet* held =
        now.plain != nullptr && now.plain->has_texts() ? now.plain->texts.get() : nullptr;
    const uint64_t uids = now.set != nullptr ? now.set->cardinality() : 0;
    const uint64_t all = uids + (held != nullptr ? held->cardinality() : 0);
    if (all == 0 || count == 0) return std::nullopt;
    std::mt19937_64 random(seed);
    std::vector<uint64_t> ranks = DistinctRanks(all, std::min(count, all), &random);
    const auto first_text = std::lower_bound(ranks.begin(), ranks.end(), uids);
    if (first_text != ranks.end()) {
      std::vector<uint64_t> text_ranks(first_text, ranks.end());
      for (uint64_t& rank : text_ranks) rank -= uids;
      held->At(text_ranks, &texts);
    }
    ranks.erase(first_text, ranks.end());
    if (ranks.size() > uids / kWalkShare) {
      if (const auto chunk = now.set->FirstAbsent({})) return chunk;
      std::vector<uint64_t> page;
      static_cast<void>(now.set->Collect(0, uids, &page));
      for (const uint64_t rank : ranks) taken.push_back(page[rank]);
    } else {
      for (const uint64_t rank : ranks) {
        const Selected selected = Select(*now.set, rank);
        if (selected.absent_chunk) return selected.absent_chunk;
        taken.push_back(selected.uid);
      }
    }
    change->removed = taken;
    change->removed_texts = texts;
    return std::nullopt;
  };
  Status status = write_path_.ChangeSet(key, options.busy_timeout_ms, &own, decide);
  if (!status.ok()) return status;
  std::mt19937_64 random(seed);
  std::shuffle(taken.begin(), taken.end(), random);
  std::shuffle(texts.begin(), texts.end(), random);
  members->uids.insert(members->uids.end(), taken.begin(), taken.end());
  members->texts.insert(members->texts.end(), std::make_move_iterator(texts.begin()),
                        std::make_move_iterator(texts.end()));
  return Finish(options, own, ticket);
}

// ---- Algebra
// ----------------------------------------------------------------------------------------

Status EngineImpl::ReadPage(const FactKey& key, uint64_t from, SetPage* page, Ticket* ticket) {
  *page = SetPage();
  return ReadSet(
      key, ticket,
      [&](const FactSet& set) -> std::optional<uint64_t> {
        const auto chunk = set.FirstAbsent({from, UINT64_MAX});
        if (!chunk) return std::nullopt;
        const uint64_t chunk_first = FirstUidOf(*chunk);
        if (chunk_first > from && set.CardinalityIn({from, chunk_first - 1}) > kPageMembers)
          return std::nullopt;
        return chunk;
      },
      [&](const SetView& view) {
        if (view.set == nullptr) return Status();
        const FactSet& set = view.set->set;
        page->next = set.Collect(from, kPageMembers, &page->uids);
        if (page->uids.empty()) return Status();
        const uint64_t chunk = ChunkOf(page->uids.front());
        page->crowded = set.CardinalityIn({FirstUidOf(chunk), LastUidOf(chunk)}) >= kCrowdedMembers;
        return Status();
      });
}

Status EngineImpl::ReadChunkBits(const FactKey& key, uint64_t chunk, ChunkBits* bits,
                                 Ticket* ticket) {
  bits->fill(0);
  return ReadSet(
      key, ticket,
      [&](const FactSet& set) {
        return set.IsAbsent(chunk) ? std::optional<uint64_t>(chunk) : std::nullopt;
      },
      [&](const SetView& view) {
        if (view.set != nullptr) view.set->set.ReadChunk(chunk, bits);
        return Status();
      });
}

// Keeps of ascending uids the members of a set, or those that are none.
Status EngineImpl::Filter(const FactKey& key, bool members, std::vector<uint64_t>* uids,
                          Ticket* ticket) {
  if (uids->empty()) return Status();
  return ReadSet(
      key, ticket,
      [&](const FactSet& set) -> std::optional<uint64_t> {
        if (!set.FirstAbsent({uids->front(), uids->back()})) return std::nullopt;
        for (const uint64_t uid : *uids) {
          if (set.IsAbsent(ChunkOf(uid))) return ChunkOf(uid);
        }
        return std::nullopt;
      },
      [&](const SetView& view) {
        std::erase_if(*uids, [&](uint64_t uid) {
          return (view.set != nullptr && view.set->set.Contains(uid)) != members;
        });
        return Status();
      });
}

Result<std::optional<uint64_t>> EngineImpl::CombinePage(SetOp op, std::span<const FactKey> sources,
                                                        uint64_t from, std::vector<uint64_t>* uids,
                                                        Ticket* ticket) {
  const size_t leaders = op == SetOp::kUnion ? sources.size() : 1;
  std::vector<SetPage> pages(leaders);
  std::optional<uint64_t> first;
  for (size_t i = 0; i < leaders; ++i) {
    if (Status s = ReadPage(sources[i], from, &pages[i], ticket); !s.ok()) return Fail(s);
    if (!pages[i].uids.empty() && (!first || pages[i].uids.front() < *first))
      first = pages[i].uids.front();
  }
  if (!first) return std::optional<uint64_t>();
  const uint64_t chunk = ChunkOf(*first);
  bool crowded = false;
  for (const SetPage& page : pages) {
    crowded = crowded || (page.crowded && ChunkOf(page.uids.front()) == chunk);
  }
  if (crowded) {
    ChunkBits bits, other;
    if (Status s = ReadChunkBits(sources[0], chunk, &bits, ticket); !s.ok()) return Fail(s);
    for (size_t i = 1; i < sources.size(); ++i) {
      if (Status s = ReadChunkBits(sources[i], chunk, &other, ticket); !s.ok()) return Fail(s);
      for (size_t word = 0; word < kChunkWords; ++word) {
        bits[word] = op == SetOp::kInter   ? bits[word] & other[word]
                     : op == SetOp::kUnion ? bits[word] | other[word]
                                           : bits[word] & ~other[word];
      }
    }
    KeepFrom(from, chunk, &bits);
    ForEachBit(bits.data(), 0, kChunkBits - 1,
               [&](uint32_t bit) { uids->push_back(FirstUidOf(chunk) + bit); });
    if (chunk == kChunkNumberMax) return std::optional<uint64_t>();
    return std::optional<uint64_t>(LastUidOf(chunk) + 1);
  }
  if (op != SetOp::kUnion) {
    std::vector<uint64_t>& kept = pages[0].uids;
    for (const FactKey& other : sources.subspan(1)) {
      if (Status s = Filter(other, op == SetOp::kInter, &kept, ticket); !s.ok()) return Fail(s);
    }
    uids->insert(uids->end(), kept.begin(), kept.end());
    return pages[0].next;
  }
  std::optional<uint64_t> bound;  // what lies from here on is not yet known of every set
  for (const SetPage& page : pages) {
    if (page.next && (!bound || *page.next < *bound)) bound = page.next;
  }
  std::vector<uint64_t> merged;
  for (const SetPage& page : pages) {
    const auto end =
        bound ? std::lower_bound(page.uids.begin(), page.uids.end(), *bound) : page.uids.end();
    merged.insert(merged.end(), page.uids.begin(), end);
  }
  std::sort(merged.begin(), merged.end());
  merged.erase(std::unique(merged.begin(), merged.end()), merged.end());
  uids->insert(uids->end(), merged.begin(), merged.end());
  return bound;
}

Result<std::optional<uint64_t>> EngineImpl::Combine(SetOp op, std::span<const FactKey> sources,
                                                    uint64_t from, size_t limit,
                                                    std::vector<uint64_t>* uids, Ticket* ticket) {
  if (sources.empty()) return Fail(StatusCode::kInvalidArgument, "at least one set is needed");
  std::vector<FactKey> order(sources.begin(), sources.end());
  if (op == SetOp::kInter) {  // the smallest leads
    std::vector<std::pair<uint64_t, size_t>> sizes;
    for (size_t i = 0; i < sources.size(); ++i) {
      const Result<uint64_t> members = Cardinality(sources[i], {}, ticket);
      if (!members) return Fail(members.error());
      sizes.emplace_back(*members, i);
    }
    std::sort(sizes.begin(), sizes.end());
    if (sizes.front().first == 0) return std::optional<uint64_t>();
    for (size_t i = 0; i < sizes.size(); ++i) order[i] = sources[sizes[i].second];
  }
  const size_t before = uids->size();
  std::optional<uint64_t> next = from;
  for (int page = 0; next && page < kPagesPerCall && uids->size() - before < limit; ++page) {
    auto found = CombinePage(op, order, *next, uids, ticket);
    if (!found) return found;
    next = *found;
  }
  if (uids->size() - before > limit) {
    next = (*uids)[before + limit];
    uids->resize(before + limit);
  }
  return next;
}

Result<uint64_t> EngineImpl::StoreCombined(SetOp op, std::span<const FactKey> sources,
                                           const FactKey& target, SetLabels labels,
                                           const WriteOptions& options, Ticket* ticket) {
  // The whole result is known before the target changes: it may be one of the sources.
  FactSet result;
  std::string list;
  ChunkListWriter writer(&list);
  std::vector<uint64_t> uids;
  std::optional<uint64_t> from = 0;
  while (from) {
    uids.clear();
    auto next = Combine(op, sources, *from, SIZE_MAX, &uids, ticket);
    if (!next) return Fail(next.error());
    for (const uint64_t uid : uids) {
      TALLY_ASSERT(result.Add(uid));
      writer.Append(uid);
    }
    from = *next;
  }
  writer.Finish();
  auto texts = std::make_unique<TextSet>(state_.catalog.text_seed());
  std::vector<std::string> page;
  from = 0;
  while (from) {
    page.clear();
    auto next = CombineTexts(op, sources, *from, SIZE_MAX, &page, ticket);
    if (!next) return Fail(next.error());
    for (const std::string& text : page) TALLY_ASSERT(texts->Add(text));
    from = *next;
  }
  const uint64_t members = result.cardinality() + texts->cardinality();
  Ticket own;
  if (target.etype.empty()) {
    const Status status = write_path_.PlainReplace(
        target.eid, kPlainSetMetric, {std::move(result), std::move(list), 0, std::move(texts)},
        options.busy_timeout_ms, &own);
    if (!status.ok()) return Fail(status);
  } else {
    if (!texts->empty()) {
      return Fail(StatusCode::kInvalidArgument, "the result has a member that is no uid");
    }
    const auto replaced = ReplaceAtOnce(target, std::move(result), {}, Others::kRemove, labels,
                                        options.busy_timeout_ms, &own);
    if (!replaced) return Fail(replaced.error());
  }
  if (Status s = Finish(options, own, ticket); !s.ok()) return Fail(std::move(s));
  return members;
}

}  // namespace tallystick
