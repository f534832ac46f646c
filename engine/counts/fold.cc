#include "engine/counts/fold.h"

#include "engine/base/assert.h"
#include "engine/events/batch_codec.h"

#include <algorithm>

namespace tallystick {

uint8_t SlotOf(const EtypeInfo& etype, EventKind kind, uint8_t metric) {
  switch (kind) {
    case EventKind::kFlip:
    case EventKind::kBulkClear:
    case EventKind::kBulkChange:
      return etype.slot_of_metric[metric];
    case EventKind::kCounter:
      return etype.slot_of_name[metric];
    default:
      return kNoSlot;
  }
}

namespace {

template <typename SumsAt>
bool Fold(const EtypeInfo& etype, const Catalog& catalog, const FoldInput& event,
          const SumsAt& sums_at) {
  if (event.kind == EventKind::kReset) {
    std::vector<ResetSlot> slots;
    if (!DecodeReset(event.payload, &slots)) return false;
    for (const ResetSlot& reset : slots) {
      const auto name = catalog.FindMetric(reset.slot);
      if (!name || etype.slot_of_name[*name] == kNoSlot) continue;  // the schema has dropped it
      SlotSums& s = sums_at(etype.slot_of_name[*name]);
      s.counter_part = reset.counter_part;
      s.value = reset.facts + reset.counter_part;
    }
    return true;
  }
  const uint8_t slot = SlotOf(etype, event.kind, event.metric);
  if (slot == kNoSlot) return true;
  SlotSums& s = sums_at(slot);
  s.value += event.delta;
  if (event.kind == EventKind::kCounter) s.counter_part += event.delta;
  return true;
}

SlotSums SumsFromFacts(const EtypeInfo& etype, const Entity& entity, uint8_t slot) {
  SlotSums sums;
  int64_t facts = 0;
  if ((*etype.slots)[slot].has_facts) {
    if (const MetricSet* set = entity.FindSet(etype.metric_of_slot[slot])) {
      facts = static_cast<int64_t>(set->set.cardinality());
    }
  }
  sums.counter_part = entity.CounterValue(etype.name_of_slot[slot]);
  sums.value = facts + sums.counter_part;
  return sums;
}

}  // namespace

bool FoldInto(const EtypeInfo& etype, const Catalog& catalog, const FoldInput& event,
              SlotSums* sums) {
  return Fold(etype, catalog, event, [&](uint8_t slot) -> SlotSums& { return sums[slot]; });
}

bool FoldIntoBucket(const EtypeInfo& etype, const Catalog& catalog, const FoldInput& event,
                    Bucket* bucket) {
  return Fold(etype, catalog, event, [&](uint8_t slot) -> SlotSums& {
    // The writer opened it before the event was pushed.
    SlotSums* sums = bucket->Find(slot);
    TALLY_ASSERT(sums != nullptr);
    if (event.kind != EventKind::kReset) sums->in_flight -= event.delta;
    return *sums;
  });
}

void SumsFromFacts(const EtypeInfo& etype, const Entity& entity, SlotSums* sums) {
  for (uint8_t slot = 0; slot < etype.slots->size(); ++slot) {
    const SlotSums from_facts = SumsFromFacts(etype, entity, slot);
    sums[slot].counter_part = from_facts.counter_part;
    sums[slot].value = from_facts.value;
  }
}

void OpenBucket(const EtypeInfo& etype, Entity& entity, uint64_t sequence) {
  if (etype.slots->empty()) return;
  Activity& activity = Activity::Of(entity);
  if (activity.bucket.is_open()) return;
  TALLY_ASSERT(activity.pins == 0);  // else the facts would be ahead of the fold
  activity.bucket.Open(sequence);
}

SlotSums& SumsOfSlot(const EtypeInfo& etype, Entity& entity, uint8_t slot) {
  Bucket& bucket = entity.activity()->bucket;
  if (SlotSums* sums = bucket.Find(slot)) return *sums;
  SlotSums sums = SumsFromFacts(etype, entity, slot);
  sums.recorded = sums.value;
  return bucket.Add(slot, sums);
}

void OpenAllSlots(const EtypeInfo& etype, Entity& entity) {
  for (uint8_t slot = 0; slot < etype.slots->size(); ++slot) SumsOfSlot(etype, entity, slot);
}

CountRecord RecordOf(const EtypeInfo& etype, const Entity& entity, uint64_t quiet) {
  CountRecord record;
  record.slots = static_cast<uint32_t>(etype.slots->size());
  const Bucket* bucket = OpenBucketOf(entity);
  TALLY_ASSERT(bucket != nullptr || entity.activity() == nullptr || entity.activity()->pins == 0 ||
               record.slots == 0);
  record.sequence = bucket != nullptr ? bucket->sequence() : quiet;
  for (uint8_t slot = 0; slot < record.slots; ++slot) {
    const SlotSums* folded = bucket != nullptr ? bucket->Find(slot) : nullptr;
    const SlotSums sums = folded != nullptr ? *folded : SumsFromFacts(etype, entity, slot);
    record.values[slot] = sums.value;
    record.counter_parts[slot] = sums.counter_part;
  }
  return record;
}

namespace {

void DropSets(Entity& entity, PlainState& plain) {
  for (size_t i = 0; i < entity.set_count(); ++i) {
    MetricSet& s = entity.set(i);
    if (!s.set.chunked()) continue;
    std::vector<uint64_t> chunks, changed, stale;
    s.set.ChunksWithMembers(&chunks);
    s.set.TakePending(&changed, &stale);
    for (const uint64_t chunk : chunks) plain.orphan_chunks.emplace_back(s.metric, chunk);
    for (const uint64_t chunk : stale) plain.orphan_chunks.emplace_back(s.metric, chunk);
  }
  entity.ClearSets();
  if (plain.texts == nullptr) return;
  std::vector<uint64_t> pages;
  plain.texts->StoredPages(&pages);
  for (const uint64_t page : pages) plain.orphan_chunks.emplace_back(kTextMetric, page);
  plain.texts.reset();
}

}  // namespace

void NotePlainFlip(Entity& entity, uint8_t metric, uint64_t uid) {
  PlainState& plain = entity.MakePlain();
  if (metric == kBitsMetric) {
    plain.type = PlainType::kBits;
    plain.bits_bytes = std::max(plain.bits_bytes, uid / 8 + 1);
    return;
  }
  const MetricSet* set = entity.FindSet(metric);
  if ((set != nullptr && !set->set.empty()) || plain.has_texts()) {
    plain.type = PlainType::kSet;
  } else {
    plain.type = PlainType::kNone;
    plain.expire_at_ms = 0;
  }
}

void BecomePlainString(Entity& entity, std::string_view value, uint64_t expire_at_ms) {
  PlainState& plain = entity.MakePlain();
  DropSets(entity, plain);
  plain.type = PlainType::kString;
  plain.value = std::string(value);
  plain.expire_at_ms = expire_at_ms;
  plain.bits_bytes = 0;
}

uint64_t PlainMembers(const Entity& entity) {
  const MetricSet* set = entity.FindSet(kSetMetric);
  const PlainState* plain = entity.plain();
  return (set != nullptr ? set->set.cardinality() : 0) +
         (plain != nullptr && plain->has_texts() ? plain->texts->cardinality() : 0);
}

TextSet& MakeTexts(const Catalog& catalog, Entity& entity) {
  PlainState& plain = entity.MakePlain();
  if (plain.texts == nullptr) plain.texts = std::make_unique<TextSet>(catalog.text_seed());
  return *plain.texts;
}

void BecomePlainSet(Entity& entity, uint8_t metric, FactSet set, uint64_t bits_bytes,
                    std::unique_ptr<TextSet> texts) {
  const bool has_texts = texts != nullptr && !texts->empty();
  TALLY_ASSERT(metric == kBitsMetric ? bits_bytes > 0 && !has_texts : !set.empty() || has_texts);
  PlainState& plain = entity.MakePlain();
  DropSets(entity, plain);
  plain.type = metric == kBitsMetric ? PlainType::kBits : PlainType::kSet;
  plain.value = std::string();
  plain.expire_at_ms = 0;
  plain.bits_bytes = bits_bytes;
  if (!set.empty()) entity.SetFor(metric).set = std::move(set);
  if (has_texts) plain.texts = std::move(texts);
}

void BecomeNothing(Entity& entity) {
  PlainState& plain = entity.MakePlain();
  DropSets(entity, plain);
  plain.type = PlainType::kNone;
  plain.value = std::string();
  plain.expire_at_ms = 0;
  plain.bits_bytes = 0;
}

}  // namespace tallystick
