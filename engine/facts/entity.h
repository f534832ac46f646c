// Entity: one `etype:eid` (or one plain key), its fact sets and what else it has.
//
// Guarded by its shard's mutex, names excepted, which never change. There are millions, nearly all
// at rest: 48 bytes, with one fact set inside. What only some have (more sets, counter parts, a
// plain value) is in Details; what an entity needs while it is not at rest (events in flight,
// something to write) is in an Activity (engine/counts/activity.h), which comes and goes.
#pragma once

#include "engine/facts/eid.h"
#include "engine/facts/fact_set.h"
#include "engine/facts/text_set.h"

#include <tallystick/types.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tallystick {

inline constexpr uint8_t kNoMetric = 255;  // never an index of the catalog's metric names

// One metric's fact set. `metric` indexes the catalog's metric names.
struct MetricSet {
  explicit MetricSet(uint8_t metric_in = kNoMetric) : metric(metric_in) {}
  SetLabels labels() const {
    return {static_cast<uint8_t>(label_bits & 15), static_cast<uint8_t>(label_bits >> 4)};
  }
  void set_labels(SetLabels labels) {
    label_bits = static_cast<uint8_t>(labels.any | (labels.first << 4));
  }
  void JoinLabels(SetLabels add) {
    const SetLabels now = labels();
    set_labels({static_cast<uint8_t>(now.any | add.any), now.first == 0 ? add.first : now.first});
  }
  // An empty set is no set: it forgets its labels. It leaves the entity when its image is next
  // written, because until then it remembers which chunks the store must delete.
  void ForgetIfEmpty() {
    if (set.empty()) label_bits = 0;
  }

  FactSet set;
  uint8_t metric;
  uint8_t label_bits = 0;
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
  std::unique_ptr<TextSet> texts;  // of a set: its members that are no uids; null: none
  bool has_texts() const { return texts != nullptr && !texts->empty(); }
  // Chunks of sets that this key no longer has: the next image deletes them from the store.
  std::vector<std::pair<uint8_t, uint64_t>> orphan_chunks;  // metric, chunk
};

// All that an entity holds, apart from its name: as a loader puts it together.
struct FactState {
  std::vector<MetricSet> sets;
  std::vector<CounterPart> counters;
  std::unique_ptr<PlainState> plain;
};

struct Activity;      // engine/counts/activity.h
struct ActivityHead;  // the part of it that Entity knows

enum class Residency : uint8_t {
  kOnDisk,    // only the name and perhaps a tail are known
  kLoading,   // one thread reads it from the store; others wait on the shard's condition
  kResident,  // all of it is here, chunks on disk excepted
  kDamaged,   // stored bytes are damaged beyond healing: operations answer kCorruption
};

class Entity {
 public:
  Entity(uint64_t hash_in, uint32_t shard_in, uint16_t etype_in, const Eid& eid);
  ~Entity();
  Entity(const Entity&) = delete;
  Entity& operator=(const Entity&) = delete;

  // ---- Names; any thread.
  uint64_t hash() const { return hash_; }
  uint32_t shard() const { return shard_; }
  uint16_t etype() const { return etype_; }  // index into the catalog's entity types; 0: plain keys
  EidText eid() const { return eid_is_number_ ? EidText(eid_) : EidText(KeptEid()); }
  bool HasEid(const Eid& eid) const {
    return eid_is_number_ ? eid.is_number && eid_ == eid.number
                          : !eid.is_number && KeptEid() == eid.text;
  }

  // ---- State
  Residency residency() const { return residency_; }
  void set_residency(Residency residency) { residency_ = residency; }
  bool stored() const { return stored_; }  // the store holds (or may hold) a piece of it
  void set_stored(bool stored) { stored_ = stored; }
  Activity* activity() const;  // null at rest; defined with Activity

  // ---- Fact sets: few, in no order. Pointers and indexes are stale after one is added or removed.
  size_t set_count() const { return (first_.metric != kNoMetric ? 1 : 0) + more().size(); }
  MetricSet& set(size_t i) { return i == 0 ? first_ : details()->more[i - 1]; }
  const MetricSet& set(size_t i) const { return const_cast<Entity*>(this)->set(i); }
  MetricSet* FindSet(uint8_t metric) {
    if (first_.metric == metric) return &first_;
    for (MetricSet& s : more()) {
      if (s.metric == metric) return &s;
    }
    return nullptr;
  }
  const MetricSet* FindSet(uint8_t metric) const {
    return const_cast<Entity*>(this)->FindSet(metric);
  }
  MetricSet& SetFor(uint8_t metric);
  void RemoveEmptySets();
  void ClearSets();

  // `for (const MetricSet& s : entity.sets())`
  class SetRange;
  SetRange sets() const;

  // ---- Counter parts
  std::span<const CounterPart> counters() const {
    return details() != nullptr ? std::span<const CounterPart>(details()->counters)
                                : std::span<const CounterPart>();
  }
  int64_t CounterValue(uint8_t slot_name) const;
  void SetCounter(uint8_t slot_name, int64_t value);
  void RemoveZeroCounters();

  // ---- Plain value
  PlainState* plain() { return details() != nullptr ? details()->plain.get() : nullptr; }
  const PlainState* plain() const { return const_cast<Entity*>(this)->plain(); }
  PlainState& MakePlain();  // the one that is there, or a new one

  // ---- All of it
  void Adopt(FactState facts);
  FactState Release();  // leaves nothing but the name
  // Nothing is known of it: no fact, no counter part other than 0, no plain value.
  bool Blank() const;
  // What the allocator holds for it, fact sets and details included, an Activity not.
  size_t MemoryBytes() const;

 private:
  struct Details {
    std::vector<MetricSet> more;  // beyond the first
    std::vector<CounterPart> counters;
    std::unique_ptr<PlainState> plain;
    bool empty() const { return more.empty() && counters.empty() && plain == nullptr; }
  };
  friend struct ActivityHead;
  friend struct Activity;

  Details* details() const;
  Details& MakeDetails();
  void DropEmptyDetails();
  std::span<MetricSet> more() const {
    Details* d = details();
    return d != nullptr ? std::span<MetricSet>(d->more) : std::span<MetricSet>();
  }
  std::string_view KeptEid() const;

  // The members behind the first set lie in its padding.
  [[no_unique_address]] MetricSet first_;  // kNoMetric: none, and no more
  const uint16_t etype_;
  const uint16_t shard_;
  Residency residency_ : 2 = Residency::kResident;
  bool stored_ : 1 = false;
  bool active_ : 1 = false;  // rest_ is an Activity, which has the Details
  const bool eid_is_number_;
  uint64_t eid_;  // the number, or the address of a length and bytes
  const uint64_t hash_;
  void* rest_ = nullptr;  // Details, or Activity; usually nothing
};
static_assert(sizeof(Entity) == 48);

struct ActivityHead {
  std::unique_ptr<Entity::Details> details;
};
struct ActivityDeleter {
  void operator()(ActivityHead* activity) const;  // defined with Activity
};

inline Entity::Details* Entity::details() const {
  return active_ ? static_cast<ActivityHead*>(rest_)->details.get() : static_cast<Details*>(rest_);
}

class Entity::SetRange {
 public:
  explicit SetRange(const Entity* entity) : entity_(entity) {}
  class Iterator {
   public:
    Iterator(const Entity* entity, size_t i) : entity_(entity), i_(i) {}
    const MetricSet& operator*() const { return entity_->set(i_); }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return i_ == other.i_; }

   private:
    const Entity* entity_;
    size_t i_;
  };
  Iterator begin() const { return {entity_, 0}; }
  Iterator end() const { return {entity_, entity_->set_count()}; }

 private:
  const Entity* entity_;
};
inline Entity::SetRange Entity::sets() const {
  return SetRange(this);
}

}  // namespace tallystick
