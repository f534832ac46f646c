// FactTable: the entities of one shard, by hash; open addressing, linear probing.
//
// Home slots come from the hash's upper bits, so walking the slots in order walks the hashes nearly
// in order, and a cursor that is a hash value survives growth (see Walk). Guarded by the shard's
// mutex.
#pragma once

#include "engine/facts/entity.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace tallystick {

class FactTable {
 public:
  FactTable();
  ~FactTable();
  FactTable(const FactTable&) = delete;
  FactTable& operator=(const FactTable&) = delete;

  Entity* Find(uint64_t hash, uint16_t etype, std::string_view eid) const;
  // The entity must not be there. Owns it; its address stays until Erase. Amortised O(1); growing
  // moves pointers only.
  Entity* Insert(std::unique_ptr<Entity> entity);
  void Erase(Entity* entity);  // deletes it
  size_t size() const { return size_; }

  // Appends entities whose hash is >= *cursor, at least `hint` of them unless the end comes first,
  // and moves *cursor on; false at the end. An entity that stays during a whole walk is given
  // exactly once, whatever else comes, goes or grows.
  bool Walk(uint64_t* cursor, size_t hint, std::vector<Entity*>* out) const;
  // A cursor keeps this many upper bits of the hash; the rest is 0 (so that it fits clients'
  // doubles).
  static constexpr uint32_t kCursorBits = 38;

  template <typename F>
  void ForEach(F f) const {
    for (const Slot& slot : slots_) {
      if (slot.entity != nullptr) f(slot.entity);
    }
  }

  size_t MemoryBytes() const { return slots_.capacity() * sizeof(Slot); }
  bool IsValid() const;

 private:
  struct Slot {
    uint64_t hash = 0;
    Entity* entity = nullptr;
  };
  size_t Home(uint64_t hash) const { return static_cast<size_t>(hash >> shift_); }
  size_t Next(size_t i) const { return i + 1 == slots_.size() ? 0 : i + 1; }
  void Place(uint64_t hash, Entity* entity);
  void Grow();

  std::vector<Slot> slots_;
  uint32_t shift_ = 0;
  size_t size_ = 0;
};

}  // namespace tallystick
