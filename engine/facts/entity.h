// Entity: everything that memory knows of one `etype:eid` (or of one plain key).
//
// Guarded by its shard's mutex, names excepted, which never change. An entity is *pinned* while
// events of it are on their way to the fold, and stays in the table while it is pinned or dirty.
#pragma once

#include "engine/events/event.h"
#include "engine/facts/fact_set.h"

#include <tallystick/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tallystick {

struct Bucket;  // engine/counts/bucket.h
struct BucketDeleter {
  void operator()(Bucket* bucket) const;
};

// One metric's fact set. `metric` indexes the catalog's metric names.
struct MetricSet {
  uint8_t metric = 0;
  SetLabels labels;
  FactSet set;
};

// The counter part of one slot, by slot name (an index into the catalog's metric names).
struct CounterPart {
  uint8_t slot_name = 0;
  int64_t value = 0;
};

// What only plain keys have.
struct PlainState {
  PlainType type = PlainType::kNone;
  uint64_t expire_at_ms = 0;       // 0: never
  uint64_t indexed_expiry_ms = 0;  // its entry in Shard::expiries; 0: none
  uint64_t bits_bytes = 0;  // length of a bitmap as a string; never shrinks while the key lives
  std::string value;        // of a string
  // Chunks of sets that this key no longer has: the next image deletes them from the store.
  std::vector<std::pair<uint8_t, uint64_t>> orphan_chunks;  // metric, chunk
};

// An event of the journal's tail that waits for its entity to be loaded.
struct TailEvent {
  EventKind kind = EventKind::kFlip;
  uint8_t metric = 0;
  uint8_t label_any = 0;
  uint8_t label_first = 0;
  uint64_t sequence = 0;
  uint64_t uid = 0;
  int64_t delta = 0;
  std::unique_ptr<std::string> payload;  // null: empty, as of nearly all
  std::string_view payload_view() const { return payload ? *payload : std::string_view(); }
};

enum class Residency : uint8_t {
  kOnDisk,    // only the name and perhaps a tail are known
  kLoading,   // one thread reads it from the store; others wait on the shard's condition
  kResident,  // all of it is here, chunks on disk excepted
  kDamaged,   // stored bytes are damaged beyond healing: operations answer kCorruption
};

struct Entity {
  // Names: immutable.
  uint64_t hash = 0;
  uint32_t shard = 0;
  uint16_t etype = 0;  // index into the catalog's entity types; 0 is the plain keyspace
  std::string eid;

  Residency residency = Residency::kResident;
  bool in_record_queue = false;    // its count record is to be written
  bool in_snapshot_queue = false;  // its image is to be written
  bool record_healed = false;      // counts came from facts: the stored record was missing or wrong
  bool stored = false;             // the store holds (or may hold) an image or record of it
  uint32_t pins = 0;               // events of it between push and fold
  uint32_t holds = 0;              // threads that keep its address without the shard's mutex
  uint64_t last_sequence = 0;      // of the last event that changed it
  uint64_t snapshot_sequence = 0;  // the last written image holds everything up to here
  uint64_t generation = 0;
  std::vector<MetricSet> sets;  // non-empty ones, in no order; few
  std::vector<CounterPart> counters;
  std::unique_ptr<PlainState> plain;
  std::unique_ptr<Bucket, BucketDeleter> bucket;  // while dirty or pinned; else counts equal facts
  std::unique_ptr<std::vector<TailEvent>> tail;   // until loaded

  MetricSet* FindSet(uint8_t metric) {
    for (MetricSet& s : sets) {
      if (s.metric == metric) return &s;
    }
    return nullptr;
  }
  const MetricSet* FindSet(uint8_t metric) const {
    return const_cast<Entity*>(this)->FindSet(metric);
  }
  MetricSet& SetFor(uint8_t metric) {
    if (MetricSet* s = FindSet(metric)) return *s;
    sets.push_back(MetricSet{metric, {}, {}});
    return sets.back();
  }
  // An empty set is no set: it forgets its labels. It leaves `sets` when its image is next written,
  // because until then it remembers which chunks the store must delete.
  void ForgetIfEmpty(MetricSet& s) {
    if (s.set.empty()) s.labels = {};
  }
  int64_t CounterValue(uint8_t slot_name) const {
    for (const CounterPart& c : counters) {
      if (c.slot_name == slot_name) return c.value;
    }
    return 0;
  }
  void SetCounter(uint8_t slot_name, int64_t value) {
    for (CounterPart& c : counters) {
      if (c.slot_name == slot_name) {
        c.value = value;
        return;
      }
    }
    counters.push_back(CounterPart{slot_name, value});
  }
  // Nothing is known of it: no fact, no counter part other than 0, no plain value.
  bool Blank() const {
    for (const MetricSet& s : sets) {
      if (!s.set.empty()) return false;
    }
    for (const CounterPart& c : counters) {
      if (c.value != 0) return false;
    }
    return plain == nullptr || plain->type == PlainType::kNone;
  }
  bool Clean() const { return pins == 0 && holds == 0 && !in_record_queue && !in_snapshot_queue; }
};

}  // namespace tallystick
