// The fold: what one event does to an entity's counts and, on replay, to its facts.
//
// Pure. The live path changes facts first and counts when the event is journaled; replay does both
// from the same event, with the code that stands here, so the two cannot differ.
#pragma once

#include "engine/counts/activity.h"
#include "engine/counts/catalog.h"
#include "engine/counts/sds_record.h"
#include "engine/facts/entity.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tallystick {

// An event as the fold sees it, whether it comes from the ring or from the journal.
struct FoldInput {
  EventKind kind = EventKind::kFlip;
  uint8_t metric = 0;
  uint64_t sequence = 0;
  int64_t delta = 0;
  std::string_view payload;  // of kReset
};

// Slot that an event of this kind and metric moves, or kNoSlot.
uint8_t SlotOf(const EtypeInfo& etype, EventKind kind, uint8_t metric);

// Moves the sums of all slots. False when a reset's payload is malformed.
bool FoldInto(const EtypeInfo& etype, const Catalog& catalog, const FoldInput& event,
              SlotSums* sums);
// The same for the open bucket of an event that was counted in flight when it was pushed.
bool FoldIntoBucket(const EtypeInfo& etype, const Catalog& catalog, const FoldInput& event,
                    Bucket* bucket);

// The counts that facts and counter parts give now: value and counter part per slot.
void SumsFromFacts(const EtypeInfo& etype, const Entity& entity, SlotSums* sums);

// Opens the bucket of a quiet entity, true up to `sequence`; nothing when it is open, or when the
// type has no slots.
void OpenBucket(const EtypeInfo& etype, Entity& entity, uint64_t sequence);
// The sums of one slot in an open bucket; taken from the facts when no event of it is in flight.
SlotSums& SumsOfSlot(const EtypeInfo& etype, Entity& entity, uint8_t slot);
void OpenAllSlots(const EtypeInfo& etype, Entity& entity);

// The record to store now, and the sequence up to which it is true: the bucket's, or `quiet` when
// no bucket is open.
CountRecord RecordOf(const EtypeInfo& etype, const Entity& entity, uint64_t quiet);

// ---- Facts, shared by the live path and replay. -------------------------------------------------
// After a member of a plain set (of any kind) or bitmap flipped: the key has that type now, or (an
// empty set) is gone.
void NotePlainFlip(Entity& entity, uint8_t metric, uint64_t uid);
void BecomePlainString(Entity& entity, std::string_view value, uint64_t expire_at_ms);
// A bitmap (metric kBitsMetric) has a length of at least 1, a set (kSetMetric) a member: in `set`
// or in `texts`, which may be null.
void BecomePlainSet(Entity& entity, uint8_t metric, FactSet set, uint64_t bits_bytes,
                    std::unique_ptr<TextSet> texts);
uint64_t PlainMembers(const Entity& entity);                 // of a plain set, texts included
TextSet& MakeTexts(const Catalog& catalog, Entity& entity);  // those that are there, or new ones
void BecomeNothing(Entity& entity);  // plain delete: the orphans of its sets are remembered

}  // namespace tallystick
