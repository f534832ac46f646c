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

bool FoldInto(const EtypeInfo& etype, const Catalog& catalog, const FoldInput& event,
              bool was_in_flight, SlotSums* sums) {
  if (event.kind == EventKind::kReset) {
    std::vector<ResetSlot> slots;
    if (!DecodeReset(event.payload, &slots)) return false;
    for (const ResetSlot& reset : slots) {
      const auto name = catalog.FindMetric(reset.slot);
      if (!name || etype.slot_of_name[*name] == kNoSlot) continue;  // the schema has dropped it
      SlotSums& s = sums[etype.slot_of_name[*name]];
      s.counter_part = reset.counter_part;
      s.value = reset.facts + reset.counter_part;
    }
    return true;
  }
  const uint8_t slot = SlotOf(etype, event.kind, event.metric);
  if (slot == kNoSlot) return true;
  sums[slot].value += event.delta;
  if (event.kind == EventKind::kCounter) sums[slot].counter_part += event.delta;
  if (was_in_flight) sums[slot].in_flight -= event.delta;
  return true;
}

void SumsFromFacts(const EtypeInfo& etype, const Entity& entity, SlotSums* sums) {
  for (size_t slot = 0; slot < etype.slots->size(); ++slot) {
    const SlotSpec& spec = (*etype.slots)[slot];
    int64_t facts = 0;
    if (spec.has_facts) {
      if (const MetricSet* set = entity.FindSet(etype.metric_of_slot[slot])) {
        facts = static_cast<int64_t>(set->set.cardinality());
      }
    }
    sums[slot].counter_part = entity.CounterValue(etype.name_of_slot[slot]);
    sums[slot].value = facts + sums[slot].counter_part;
  }
}

void EnsureBucket(const EtypeInfo& etype, Entity& entity, uint64_t sequence) {
  if (entity.bucket != nullptr || etype.slots->empty()) return;
  TALLY_ASSERT(entity.pins == 0);  // else the facts would be ahead of the fold
  entity.bucket.reset(new Bucket(static_cast<uint32_t>(etype.slots->size())));
  SumsFromFacts(etype, entity, entity.bucket->sums.get());
  for (uint32_t i = 0; i < entity.bucket->slots; ++i) {
    entity.bucket->sums[i].recorded = entity.bucket->sums[i].value;
  }
  entity.bucket->sequence = sequence;
}

CountRecord RecordOf(const EtypeInfo& etype, const Entity& entity) {
  CountRecord record;
  record.slots = static_cast<uint32_t>(etype.slots->size());
  if (entity.bucket != nullptr) {
    record.sequence = entity.bucket->sequence;
    for (uint32_t i = 0; i < record.slots; ++i) {
      record.values[i] = entity.bucket->sums[i].value;
      record.counter_parts[i] = entity.bucket->sums[i].counter_part;
    }
    return record;
  }
  TALLY_ASSERT(entity.pins == 0);
  SlotSums sums[kSlotsMax];
  SumsFromFacts(etype, entity, sums);
  record.sequence = entity.last_sequence;
  for (uint32_t i = 0; i < record.slots; ++i) {
    record.values[i] = sums[i].value;
    record.counter_parts[i] = sums[i].counter_part;
  }
  return record;
}

void JoinLabels(SetLabels add, SetLabels* labels) {
  labels->any = static_cast<uint8_t>(labels->any | add.any);
  if (labels->first == 0) labels->first = add.first;
}

namespace {

void DropSets(Entity& entity, PlainState& plain) {
  for (MetricSet& s : entity.sets) {
    if (!s.set.chunked()) continue;
    std::vector<uint64_t> chunks, changed, stale;
    s.set.ChunksWithMembers(&chunks);
    s.set.TakePending(&changed, &stale);
    for (const uint64_t chunk : chunks) plain.orphan_chunks.emplace_back(s.metric, chunk);
    for (const uint64_t chunk : stale) plain.orphan_chunks.emplace_back(s.metric, chunk);
  }
  entity.sets.clear();
}

PlainState& PlainOf(Entity& entity) {
  if (entity.plain == nullptr) entity.plain = std::make_unique<PlainState>();
  return *entity.plain;
}

}  // namespace

void NotePlainFlip(Entity& entity, uint8_t metric, uint64_t uid) {
  PlainState& plain = PlainOf(entity);
  if (metric == kBitsMetric) {
    plain.type = PlainType::kBits;
    plain.bits_bytes = std::max(plain.bits_bytes, uid / 8 + 1);
    return;
  }
  const MetricSet* set = entity.FindSet(metric);
  if (set != nullptr && !set->set.empty()) {
    plain.type = PlainType::kSet;
  } else {
    plain.type = PlainType::kNone;
    plain.expire_at_ms = 0;
  }
}

void BecomePlainString(Entity& entity, std::string_view value, uint64_t expire_at_ms) {
  PlainState& plain = PlainOf(entity);
  DropSets(entity, plain);
  plain.type = PlainType::kString;
  plain.value = std::string(value);
  plain.expire_at_ms = expire_at_ms;
  plain.bits_bytes = 0;
}

void BecomePlainSet(Entity& entity, uint8_t metric, FactSet set, uint64_t bits_bytes) {
  TALLY_ASSERT(metric == kBitsMetric ? bits_bytes > 0 : !set.empty());
  PlainState& plain = PlainOf(entity);
  DropSets(entity, plain);
  plain.type = metric == kBitsMetric ? PlainType::kBits : PlainType::kSet;
  plain.value = std::string();
  plain.expire_at_ms = 0;
  plain.bits_bytes = bits_bytes;
  if (!set.empty()) entity.SetFor(metric).set = std::move(set);
}

void BecomeNothing(Entity& entity) {
  PlainState& plain = PlainOf(entity);
  DropSets(entity, plain);
  plain.type = PlainType::kNone;
  plain.value = std::string();
  plain.expire_at_ms = 0;
  plain.bits_bytes = 0;
}

}  // namespace tallystick
