// Bucket: an entity's sums between two writes of its record.
//
// Made by the writer before the first change of a quiet entity, from the numbers that the facts
// then give; moved by the fold, event by event; dropped when its record is written and nothing is
// in flight. While there is no bucket the counts are the facts. Guarded by the shard's mutex.
#pragma once

#include <cstdint>
#include <memory>

namespace tallystick {

struct SlotSums {
  int64_t value = 0;         // folded: facts plus counter part
  int64_t counter_part = 0;  // folded
  int64_t recorded = 0;      // value when the record was last written
  int64_t in_flight = 0;     // sum of pushed deltas that are not folded yet
};

struct Bucket {
  explicit Bucket(uint32_t slot_count)
      : slots(slot_count), sums(std::make_unique<SlotSums[]>(slot_count)) {}
  uint64_t sequence = 0;  // folded up to this sequence of the shard
  uint32_t slots;
  std::unique_ptr<SlotSums[]> sums;
};

}  // namespace tallystick
