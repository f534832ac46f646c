#include "engine/facts/fact_table.h"

#include "engine/base/assert.h"

#include <algorithm>
#include <bit>

namespace tallystick {
namespace {

constexpr size_t kSlotsMin = 16;
constexpr uint64_t kCursorMask = ~uint64_t{0} << (64 - FactTable::kCursorBits);

uint32_t ShiftFor(size_t slots) {
  return 64 - static_cast<uint32_t>(std::countr_zero(slots));
}

}  // namespace

FactTable::FactTable() : slots_(kSlotsMin), shift_(ShiftFor(kSlotsMin)) {}

FactTable::~FactTable() {
  for (Slot& slot : slots_) delete slot.entity;
}

Entity* FactTable::Find(uint64_t hash, uint16_t etype, std::string_view eid) const {
  for (size_t i = Home(hash); slots_[i].entity != nullptr; i = Next(i)) {
    Entity* e = slots_[i].entity;
    if (slots_[i].hash == hash && e->etype == etype && e->eid == eid) return e;
  }
  return nullptr;
}

Entity* FactTable::Insert(std::unique_ptr<Entity> entity) {
  TALLY_DCHECK(Find(entity->hash, entity->etype, entity->eid) == nullptr);
  if ((size_ + 1) * 4 > slots_.size() * 3) Grow();
  Place(entity->hash, entity.get());
  ++size_;
  return entity.release();
}

void FactTable::Place(uint64_t hash, Entity* entity) {
  size_t i = Home(hash);
  while (slots_[i].entity != nullptr) i = Next(i);
  slots_[i] = Slot{hash, entity};
}

void FactTable::Grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  shift_ = ShiftFor(slots_.size());
  for (const Slot& slot : old) {
    if (slot.entity != nullptr) Place(slot.hash, slot.entity);
  }
}

void FactTable::Erase(Entity* entity) {
  size_t i = Home(entity->hash);
  while (slots_[i].entity != entity) {
    TALLY_ASSERT(slots_[i].entity != nullptr);
    i = Next(i);
  }
  // Backward-shift deletion: pull later entries of the run over the hole, so that no tombstones
  // pile up.
  size_t hole = i;
  for (size_t j = Next(i); slots_[j].entity != nullptr; j = Next(j)) {
    const size_t home = Home(slots_[j].hash);
    const bool reachable = hole <= j ? (home <= hole || home > j) : (home <= hole && home > j);
    if (!reachable) continue;
    slots_[hole] = slots_[j];
    hole = j;
  }
  slots_[hole] = Slot{};
  --size_;
  delete entity;
}

bool FactTable::Walk(uint64_t* cursor, size_t hint, std::vector<Entity*>* out) const {
  const uint64_t from = *cursor & kCursorMask;
  const size_t before = out->size();
  size_t end = Home(from);
  // Whole runs only: after an empty slot no entity at or before it has a later home.
  while (end < slots_.size()) {
    const bool boundary = slots_[end].entity == nullptr;
    if (!boundary && slots_[end].hash >= from && Home(slots_[end].hash) <= end) {
      out->push_back(slots_[end].entity);
    }
    ++end;
    if (boundary && out->size() - before >= hint) {
      const uint64_t next = static_cast<uint64_t>(end) << shift_;
      // A cursor has fewer bits than a hash: stop only where it can be told exactly.
      if (end < slots_.size() && (next & kCursorMask) == next) {
        *cursor = next;
        return true;
      }
    }
  }
  // The last run may wrap around to the front.
  for (size_t i = 0; i < slots_.size() && slots_[i].entity != nullptr; ++i) {
    if (Home(slots_[i].hash) > i && slots_[i].hash >= from) out->push_back(slots_[i].entity);
  }
  return false;
}

bool FactTable::IsValid() const {
  size_t seen = 0;
  for (const Slot& slot : slots_) {
    if (slot.entity == nullptr) continue;
    ++seen;
    if (slot.hash != slot.entity->hash) return false;
    if (Find(slot.hash, slot.entity->etype, slot.entity->eid) != slot.entity) return false;
  }
  return seen == size_ && size_ * 4 <= slots_.size() * 3;
}

}  // namespace tallystick
