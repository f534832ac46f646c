// EngineImpl: texts, the members of plain sets that are no uids.
//
// As in engine_algebra.cc work goes by pages, here by position (hash): every page takes each
// shard's lock once, and shortly.
#include "engine/base/assert.h"
#include "engine/engine_impl.h"

#include <algorithm>

namespace tallystick {
namespace {

constexpr size_t kPageTexts = 1024;
constexpr int kPagesPerCall = 64;

const TextSet* TextsOf(const PlainState* plain) {
  return plain != nullptr && plain->has_texts() ? plain->texts.get() : nullptr;
}

std::optional<uint64_t> NoChunk(const FactSet&) {
  return std::nullopt;
}

}  // namespace

Result<uint64_t> EngineImpl::CountTexts(const FactKey& key, Ticket* ticket) {
  uint64_t count = 0;
  if (!key.etype.empty()) return count;
  const Status status = ReadSet(key, ticket, NoChunk, [&](const SetView& view) {
    if (const TextSet* texts = TextsOf(view.plain)) count = texts->cardinality();
    return Status();
  });
  if (!status.ok()) return Fail(status);
  return count;
}

Result<std::optional<uint64_t>> EngineImpl::ReadTexts(const FactKey& key, uint64_t from,
                                                      size_t limit,
                                                      std::vector<TextSet::Found>* found,
                                                      Ticket* ticket) {
  std::optional<uint64_t> next;
  if (!key.etype.empty()) return next;
  const Status status = ReadSet(key, ticket, NoChunk, [&](const SetView& view) {
    if (const TextSet* texts = TextsOf(view.plain)) next = texts->Collect(from, limit, found);
    return Status();
  });
  if (!status.ok()) return Fail(status);
  return next;
}

Result<std::optional<uint64_t>> EngineImpl::ScanTexts(const FactKey& key, uint64_t from,
                                                      size_t limit, std::vector<std::string>* texts,
                                                      Ticket* ticket) {
  std::vector<TextSet::Found> found;
  auto next = ReadTexts(key, from, std::max<size_t>(limit, 1), &found, ticket);
  if (!next) return next;
  for (auto& [hash, text] : found) texts->push_back(std::move(text));
  TALLY_ASSERT(!*next || (**next & 0xffff) == 0);
  return next;
}

Status EngineImpl::SampleTexts(const FactKey& key, std::span<const uint64_t> ranks, bool distinct,
                               std::vector<std::string>* texts, Ticket* ticket) {
  return ReadSet(key, ticket, NoChunk, [&](const SetView& view) {
    const TextSet* held = TextsOf(view.plain);
    if (held == nullptr) return Status();
    // What was removed since the ranks were drawn: the last members stand in.
    std::vector<uint64_t> there(ranks.begin(), ranks.end());
    for (uint64_t& rank : there) rank = std::min(rank, held->cardinality() - 1);
    if (distinct) there.erase(std::unique(there.begin(), there.end()), there.end());
    held->At(there, texts);
    return Status();
  });
}

// Keeps the texts that are members of a set, or those that are none.
Status EngineImpl::FilterTexts(const FactKey& key, bool members, std::vector<TextSet::Found>* found,
                               Ticket* ticket) {
  if (found->empty()) return Status();
  if (!key.etype.empty()) {
    if (members) found->clear();
    return Status();
  }
  return ReadSet(key, ticket, NoChunk, [&](const SetView& view) {
    const TextSet* texts = TextsOf(view.plain);
    std::erase_if(*found, [&](const TextSet::Found& one) {
      return (texts != nullptr && texts->Contains(one.second)) != members;
    });
    return Status();
  });
}

Result<std::optional<uint64_t>> EngineImpl::CombineTextPage(SetOp op,
                                                            std::span<const FactKey> sources,
                                                            uint64_t from,
                                                            std::vector<std::string>* texts,
                                                            Ticket* ticket) {
  std::vector<TextSet::Found> kept;
  std::optional<uint64_t> bound;  // what lies from here on is not yet known of every set
  for (size_t i = 0; i < sources.size(); ++i) {
    if (i > 0 && op != SetOp::kUnion) {
      const Status status = FilterTexts(sources[i], op == SetOp::kInter, &kept, ticket);
      if (!status.ok()) return Fail(status);
      continue;
    }
    const auto next = ReadTexts(sources[i], from, kPageTexts, &kept, ticket);
    if (!next) return next;
    if (*next && (!bound || **next < *bound)) bound = *next;
  }
  if (op == SetOp::kUnion) {
    if (bound) std::erase_if(kept, [&](const TextSet::Found& one) { return one.first >= *bound; });
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  }
  for (auto& [hash, text] : kept) texts->push_back(std::move(text));
  return bound;
}

Result<std::optional<uint64_t>> EngineImpl::CombineTexts(SetOp op, std::span<const FactKey> sources,
                                                         uint64_t from, size_t limit,
                                                         std::vector<std::string>* texts,
                                                         Ticket* ticket) {
  if (sources.empty()) return Fail(StatusCode::kInvalidArgument, "at least one set is needed");
  std::vector<FactKey> order(sources.begin(), sources.end());
  if (op == SetOp::kInter) {  // the set with the fewest texts leads
    size_t smallest = 0;
    uint64_t fewest = UINT64_MAX;
    for (size_t i = 0; i < order.size(); ++i) {
      const Result<uint64_t> count = CountTexts(order[i], ticket);
      if (!count) return Fail(count.error());
      if (*count >= fewest) continue;
      fewest = *count;
      smallest = i;
    }
    if (fewest == 0) return std::optional<uint64_t>();
    std::swap(order[0], order[smallest]);
  }
  const size_t before = texts->size();
  std::optional<uint64_t> next = from;
  for (int page = 0; next && page < kPagesPerCall && texts->size() - before < limit; ++page) {
    auto found = CombineTextPage(op, order, *next, texts, ticket);
    if (!found) return found;
    next = *found;
  }
  return next;
}

}  // namespace tallystick
