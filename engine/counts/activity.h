// Activity: what an entity has while it is not at rest, its bucket among it.
//
// Made by whoever changes, holds or loads the entity, and dropped when nothing of it is needed any
// more (Settle in engine/recovery/entity_loader.h): no event in flight, nobody who holds the
// entity, nothing to write, its last change durable. Guarded by the shard's mutex.
#pragma once

#include "engine/counts/catalog.h"
#include "engine/events/event.h"
#include "engine/facts/entity.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

struct SlotSums {
  int64_t value = 0;         // folded: facts plus counter part
  int64_t counter_part = 0;  // folded
  int64_t recorded = 0;      // value when the record was last written
  int64_t in_flight = 0;     // sum of pushed deltas that are not folded yet
};

// The sums of an entity between two writes of its record, of those slots that changed: of the
// others the counts are what the facts give. Opened by the writer before the first change of a
// quiet entity, from the numbers that the facts then give; moved by the fold, event by event;
// closed when its record is written and nothing is in flight.
class Bucket {
 public:
  struct Entry {
    uint8_t slot = kNoSlot;
    SlotSums sums;
  };
  bool is_open() const { return open_; }
  uint64_t sequence() const { return sequence_; }  // folded up to this sequence of the shard
  void set_sequence(uint64_t sequence) { sequence_ = sequence; }
  void Open(uint64_t sequence) {
    open_ = true;
    sequence_ = sequence;
  }
  void Close() { *this = Bucket(); }

  SlotSums* Find(uint8_t slot) {
    if (first_.slot == slot) return &first_.sums;
    for (Entry& entry : more_) {
      if (entry.slot == slot) return &entry.sums;
    }
    return nullptr;
  }
  const SlotSums* Find(uint8_t slot) const { return const_cast<Bucket*>(this)->Find(slot); }
  // The slot must not be there yet. The address is good until the next Add.
  SlotSums& Add(uint8_t slot, const SlotSums& sums) {
    Entry& entry = first_.slot == kNoSlot ? first_ : more_.emplace_back();
    entry = Entry{slot, sums};
    return entry.sums;
  }
  template <typename F>
  void ForEach(F f) {
    if (first_.slot != kNoSlot) f(first_.slot, first_.sums);
    for (Entry& entry : more_) f(entry.slot, entry.sums);
  }

 private:
  bool open_ = false;
  uint64_t sequence_ = 0;
  Entry first_;  // most entities change in one slot at a time
  std::vector<Entry> more_;
};

struct Activity : ActivityHead {
  uint32_t pins = 0;               // events of it between push and fold
  uint32_t holds = 0;              // threads that keep its address without the shard's mutex
  bool in_record_queue = false;    // its count record is to be written
  bool in_snapshot_queue = false;  // its image is to be written
  bool record_healed = false;      // counts came from facts: the stored record was missing or wrong
  uint64_t last_sequence = 0;      // of the last event that changed it
  uint64_t snapshot_sequence = 0;  // the last written image holds everything up to here
  Bucket bucket;                   // open while dirty or pinned; else counts equal facts
  std::unique_ptr<std::string> tail;  // events of the journal, packed (PackTail), until loaded

  // Nothing is on its way and nothing is to be written.
  bool clean() const { return pins == 0 && holds == 0 && !in_record_queue && !in_snapshot_queue; }

  // The entity's; a new one when it was at rest.
  static Activity& Of(Entity& entity);
  // The entity is at rest; it must be clean and have neither an open bucket nor a tail.
  static void Drop(Entity& entity);
};

inline Activity* Entity::activity() const {
  return active_ ? static_cast<Activity*>(static_cast<ActivityHead*>(rest_)) : nullptr;
}
// Of the last event that changed it; 0 when it is at rest.
inline uint64_t LastSequence(const Entity& entity) {
  const Activity* activity = entity.activity();
  return activity != nullptr ? activity->last_sequence : 0;
}
inline const Bucket* OpenBucketOf(const Entity& entity) {
  const Activity* activity = entity.activity();
  return activity != nullptr && activity->bucket.is_open() ? &activity->bucket : nullptr;
}

}  // namespace tallystick
