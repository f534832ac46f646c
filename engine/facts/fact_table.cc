#include "engine/facts/fact_table.h"

#include "engine/base/assert.h"
#include "engine/facts/heap.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace tallystick {
namespace {

// With the header of 8 bytes each fills a size class of common allocators.
constexpr std::array<uint32_t, 12> kSlotSteps = {7,  15,  23,  31,  47,  63,
                                                 95, 127, 159, 191, 255, 319};
constexpr uint32_t kDepthMax = FactTable::kCursorBits - 16;
constexpr uint64_t kCursorMask = ~uint64_t{0} << (64 - FactTable::kCursorBits);
constexpr uint64_t kAddressMask = (uint64_t{1} << 48) - 1;

// The largest load of linear probing with short runs.
bool IsFull(uint32_t used, uint32_t slots) {
  return used * 5 >= slots * 4;
}

// The least step that holds `used` and one more; 0 when none does.
uint32_t SlotsFor(uint32_t used) {
  for (const uint32_t slots : kSlotSteps) {
    if (!IsFull(used, slots)) return slots;
  }
  return 0;
}

}  // namespace

FactTable::FactTable() : directory_{Make(kSlotSteps.front(), 0)} {}

FactTable::~FactTable() {
  ForEach([](Entity* entity) { delete entity; });
  std::vector<Segment*> segments;
  ForEachSegment([&](Segment& segment) { segments.push_back(&segment); });
  for (Segment* segment : segments) HeapFree(segment);
}

Entity* FactTable::EntityOf(uint64_t word) {
  return reinterpret_cast<Entity*>(word & kAddressMask);
}

uint64_t FactTable::WordOf(uint16_t tag, Entity* entity) {
  const auto address = reinterpret_cast<uint64_t>(entity);
  TALLY_ASSERT((address & ~kAddressMask) == 0);
  return uint64_t{tag} << 48 | address;
}

FactTable::Segment* FactTable::Make(uint32_t slots, uint32_t depth) {
  void* memory = HeapAllocate(sizeof(Segment) + slots * sizeof(uint64_t));
  auto* segment = new (memory) Segment;
  segment->slots = slots;
  segment->depth = static_cast<uint16_t>(depth);
  std::memset(segment->words(), 0, slots * sizeof(uint64_t));
  return segment;
}

void FactTable::Place(Segment* segment, uint64_t word) {
  uint32_t i = HomeOf(static_cast<uint16_t>(word >> 48), segment->slots);
  while (segment->words()[i] != 0) i = i + 1 == segment->slots ? 0 : i + 1;
  segment->words()[i] = word;
  ++segment->used;
}

template <typename Accept>
Entity* FactTable::FirstWithTag(uint64_t hash, const Accept& accept) const {
  const Segment& segment = *SegmentOf(hash);
  const uint64_t* words = segment.words();
  const uint16_t tag = TagOf(hash, segment.depth);
  for (uint32_t i = HomeOf(tag, segment.slots); words[i] != 0;
       i = i + 1 == segment.slots ? 0 : i + 1) {
    if (words[i] >> 48 == tag && accept(EntityOf(words[i]))) return EntityOf(words[i]);
  }
  return nullptr;
}

Entity* FactTable::Find(uint64_t hash, uint16_t etype, const Eid& eid) const {
  return FirstWithTag(hash, [&](const Entity* e) {
    return e->hash() == hash && e->etype() == etype && e->HasEid(eid);
  });
}

void FactTable::PrefetchSlot(uint64_t hash) const {
  const Segment* segment = SegmentOf(hash);
  __builtin_prefetch(segment);
  // Where a segment of full size, of which a large table consists, has it. The header, which knows
  // better, may not be here yet.
  const uint32_t slots = depth_ == 0 ? segment->slots : 191;
  __builtin_prefetch(segment->words() + HomeOf(TagOf(hash, depth_), slots));
}

void FactTable::PrefetchEntity(uint64_t hash) const {
  const Entity* likely = FirstWithTag(hash, [](const Entity*) { return true; });
  if (likely == nullptr) return;
  const auto* address = reinterpret_cast<const char*>(likely);
  __builtin_prefetch(address);
  __builtin_prefetch(address + sizeof(Entity) - 1);  // it may lie across two lines
}

void FactTable::Point(uint64_t hash, Segment* segment) {
  const size_t span = size_t{1} << (depth_ - segment->depth);
  const size_t first = IndexOf(hash) & ~(span - 1);
  std::fill_n(directory_.begin() + static_cast<std::ptrdiff_t>(first), span, segment);
}

void FactTable::Resize(uint64_t hash, uint32_t slots) {
  Segment* old = SegmentOf(hash);
  Segment* made = Make(slots, old->depth);
  for (uint32_t i = 0; i < old->slots; ++i) {
    if (old->words()[i] != 0) Place(made, old->words()[i]);
  }
  Point(hash, made);
  HeapFree(old);
}

void FactTable::Split(uint64_t hash) {
  Segment* old = SegmentOf(hash);
  if (old->depth == depth_) {
    std::vector<Segment*> doubled(directory_.size() * 2);
    for (size_t i = 0; i < doubled.size(); ++i) doubled[i] = directory_[i / 2];
    directory_.swap(doubled);
    ++depth_;
  }
  const uint32_t depth = old->depth + 1u;
  std::vector<Entity*> halves[2];
  for (uint32_t i = 0; i < old->slots; ++i) {
    if (old->words()[i] != 0) __builtin_prefetch(EntityOf(old->words()[i]));
  }
  for (uint32_t i = 0; i < old->slots; ++i) {
    if (old->words()[i] == 0) continue;
    Entity* entity = EntityOf(old->words()[i]);
    halves[(entity->hash() >> (64 - depth)) & 1].push_back(entity);
  }
  const uint64_t region = depth == 1 ? 0 : hash >> (65 - depth) << (65 - depth);
  for (const uint64_t half : {uint64_t{0}, uint64_t{1}}) {
    const auto used = static_cast<uint32_t>(halves[half].size());
    // No step holds them when all are in one half: as full as before, until the next split.
    const uint32_t slots = SlotsFor(used);
    Segment* made = Make(slots != 0 ? slots : old->slots, depth);
    for (Entity* entity : halves[half]) Place(made, WordOf(TagOf(entity->hash(), depth), entity));
    Point(region | half << (64 - depth), made);
  }
  HeapFree(old);
}

Entity* FactTable::Insert(std::unique_ptr<Entity> entity) {
  const uint64_t hash = entity->hash();
  for (;;) {
    const Segment& segment = *SegmentOf(hash);
    if (!IsFull(segment.used, segment.slots)) break;
    if (const uint32_t slots = SlotsFor(segment.used); slots != 0) {
      Resize(hash, slots);
    } else if (segment.depth < kDepthMax && (segment.depth < depth_ || MayDouble())) {
      Split(hash);
    } else {
      Resize(hash, segment.slots * 2);  // hashes that agree in their first bits
    }
  }
  Segment* segment = SegmentOf(hash);
  Place(segment, WordOf(TagOf(hash, segment->depth), entity.get()));
  ++size_;
  return entity.release();
}

void FactTable::Erase(Entity* entity) {
  const uint64_t hash = entity->hash();
  Segment* segment = SegmentOf(hash);
  uint64_t* words = segment->words();
  const auto next = [&](uint32_t i) { return i + 1 == segment->slots ? 0 : i + 1; };
  uint32_t i = HomeOf(TagOf(hash, segment->depth), segment->slots);
  while (words[i] != 0 && EntityOf(words[i]) != entity) i = next(i);
  TALLY_ASSERT(words[i] != 0);
  // Backward-shift deletion: pull later entries of the run over the hole, so that no tombstones
  // pile up.
  uint32_t hole = i;
  for (uint32_t j = next(i); words[j] != 0; j = next(j)) {
    const uint32_t home = HomeOf(static_cast<uint16_t>(words[j] >> 48), segment->slots);
    const bool reachable = hole <= j ? (home <= hole || home > j) : (home <= hole && home > j);
    if (!reachable) continue;
    words[hole] = words[j];
    hole = j;
  }
  words[hole] = 0;
  --segment->used;
  --size_;
  delete entity;
  // A quarter full: half the slots would do.
  if (segment->slots > kSlotSteps.front() && uint32_t{segment->used} * 4 < segment->slots) {
    const uint32_t slots = SlotsFor(segment->used * 2u);
    Resize(hash, slots != 0 ? slots : segment->slots / 2);
  }
}

bool FactTable::Walk(uint64_t* cursor, size_t hint, std::vector<Entity*>* out) const {
  uint64_t from = *cursor & kCursorMask;
  const size_t before = out->size();
  for (;;) {
    const Segment& segment = *SegmentOf(from);
    const uint64_t* words = segment.words();
    const uint32_t depth = segment.depth;
    // The region of the hash space that the segment has: [first, first + width), 0 for all of it.
    const uint64_t width = depth == 0 ? 0 : uint64_t{1} << (64 - depth);
    const uint64_t first = depth == 0 ? 0 : from & ~(width - 1);
    const uint16_t from_tag = TagOf(from, depth);
    const auto home_at = [&](uint32_t i) {
      return HomeOf(static_cast<uint16_t>(words[i] >> 48), segment.slots);
    };
    const auto take = [&](uint32_t i) {
      // Finer than a tag a cursor need not be: none is given out.
      if (static_cast<uint16_t>(words[i] >> 48) >= from_tag) out->push_back(EntityOf(words[i]));
    };
    for (uint32_t i = HomeOf(from_tag, segment.slots); i < segment.slots; ++i) {
      if (words[i] != 0) {
        if (home_at(i) <= i) take(i);
        continue;
      }
      // Whole runs only: behind an empty slot no entity has its home at or before it.
      if (out->size() - before < hint || i + 1 == segment.slots) continue;
      const uint64_t tag = (uint64_t{i + 1} * 65536 + segment.slots - 1) / segment.slots;
      *cursor = first | tag << (48 - depth);
      return true;
    }
    // The last run may go on at the front.
    for (uint32_t i = 0; i < segment.slots && words[i] != 0; ++i) {
      if (home_at(i) > i) take(i);
    }
    if (width == 0 || first + width == 0) return false;
    from = first + width;
    if (out->size() - before >= hint) {
      *cursor = from;
      return true;
    }
  }
}

size_t FactTable::MemoryBytes() const {
  size_t bytes = directory_.capacity() * sizeof(Segment*);
  ForEachSegment([&](const Segment& segment) {
    bytes += HeapBytes(sizeof(Segment) + segment.slots * sizeof(uint64_t));
  });
  return bytes;
}

bool FactTable::IsValid() const {
  size_t seen = 0;
  bool valid = directory_.size() == size_t{1} << depth_;
  ForEachSegment([&](const Segment& segment) {
    size_t used = 0;
    for (uint32_t i = 0; i < segment.slots; ++i) {
      if (segment.words()[i] == 0) continue;
      ++used;
      const Entity* e = EntityOf(segment.words()[i]);
      const EidText eid = e->eid();
      valid =
          valid && SegmentOf(e->hash()) == &segment && Find(e->hash(), e->etype(), Eid(eid)) == e;
    }
    valid =
        valid && used == segment.used && (used == 0 || !IsFull(segment.used - 1u, segment.slots));
    seen += used;
  });
  return valid && seen == size_;
}

}  // namespace tallystick
