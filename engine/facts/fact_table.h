// FactTable: the entities of one shard, by hash.
//
// Extendible hashing (Fagin et al., 1979): a directory over the hash's first bits points to small
// segments, open addressing with linear probing in each; a full segment grows in small steps and at
// 255 entities splits in two. So no insert moves more than one segment, and a slot costs 8 bytes
// (the entity's address and 16 bits of its hash) at a load of 0.67 to 0.8. Slots follow the hash's
// order, so a cursor that is a hash value survives growth (see Walk). Guarded by the shard's mutex.
#pragma once

#include "engine/facts/entity.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tallystick {

class FactTable {
 public:
  FactTable();
  ~FactTable();
  FactTable(const FactTable&) = delete;
  FactTable& operator=(const FactTable&) = delete;

  Entity* Find(uint64_t hash, uint16_t etype, const Eid& eid) const;
  // The entity must not be there. Owns it; its address stays until Erase. O(1): at most one segment
  // is rewritten, and the directory doubled.
  Entity* Insert(std::unique_ptr<Entity> entity);
  void Erase(Entity* entity);  // deletes it
  size_t size() const { return size_; }

  // For a batch: first call PrefetchSlot for all, then PrefetchEntity for all, then Find each, so
  // that their cache misses overlap.
  void PrefetchSlot(uint64_t hash) const;
  void PrefetchEntity(uint64_t hash) const;

  // Appends entities whose hash is >= *cursor, at least `hint` of them unless the end comes first,
  // and moves *cursor on; false at the end. An entity that stays during a whole walk is given
  // exactly once, whatever else comes, goes or grows.
  bool Walk(uint64_t* cursor, size_t hint, std::vector<Entity*>* out) const;
  // A cursor keeps this many upper bits of the hash; the rest is 0 (so that it fits clients'
  // doubles).
  static constexpr uint32_t kCursorBits = 38;

  template <typename F>
  void ForEach(F f) const {
    ForEachSegment([&](const Segment& segment) {
      for (uint32_t i = 0; i < segment.slots; ++i) {
        if (segment.words()[i] != 0) f(EntityOf(segment.words()[i]));
      }
    });
  }

  size_t MemoryBytes() const;  // what the allocator holds, entities not included
  bool IsValid() const;        // O(entities)

 private:
  // Slots follow it: tag << 48 | address; 0 is empty. A tag is the 16 bits of the hash behind the
  // segment's own depth bits, so that the home of an entity is known without touching it.
  struct Segment {
    uint32_t slots = 0;
    uint16_t used = 0;
    uint16_t depth = 0;
    uint64_t* words() { return reinterpret_cast<uint64_t*>(this + 1); }
    const uint64_t* words() const { return reinterpret_cast<const uint64_t*>(this + 1); }
  };

  static Entity* EntityOf(uint64_t word);
  static uint64_t WordOf(uint16_t tag, Entity* entity);
  static uint16_t TagOf(uint64_t hash, uint32_t depth) {
    return static_cast<uint16_t>((hash << depth) >> 48);
  }
  static uint32_t HomeOf(uint16_t tag, uint32_t slots) { return (tag * slots) >> 16; }
  static Segment* Make(uint32_t slots, uint32_t depth);
  static void Place(Segment* segment, uint64_t word);

  // The first entity with the tag of `hash` that is accepted; null when there is none.
  template <typename Accept>
  Entity* FirstWithTag(uint64_t hash, const Accept& accept) const;
  size_t IndexOf(uint64_t hash) const {
    return depth_ == 0 ? 0 : static_cast<size_t>(hash >> (64 - depth_));
  }
  Segment* SegmentOf(uint64_t hash) const { return directory_[IndexOf(hash)]; }
  template <typename F>
  void ForEachSegment(F f) const {
    for (size_t i = 0; i < directory_.size(); i += size_t{1} << (depth_ - directory_[i]->depth)) {
      f(*directory_[i]);
    }
  }
  // Hashes that agree in their first bits must not make the directory large.
  bool MayDouble() const { return directory_.size() * 32 <= size_ + 4096; }
  // Puts `segment` wherever the directory points to the region of `hash` at this depth.
  void Point(uint64_t hash, Segment* segment);
  void Resize(uint64_t hash, uint32_t slots);
  void Split(uint64_t hash);

  std::vector<Segment*> directory_;
  uint32_t depth_ = 0;  // the directory has 2^depth entries
  size_t size_ = 0;
};

}  // namespace tallystick
