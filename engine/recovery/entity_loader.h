// EntityLoader: brings entities and chunks from the store into memory on first touch.
//
// Reads run outside the shard's mutex behind a placeholder (Residency::kLoading). Every stored
// piece says up to which sequence it is true; the journal's tail is applied on top, to facts and
// counts alike, and the two must agree. What is damaged is healed from what is left: a record from
// the facts, an image from the journal while that reaches back to the beginning. What cannot be
// healed is refused.
#pragma once

#include "engine/counts/activity.h"
#include "engine/recovery/engine_state.h"
#include "engine/recovery/tail.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

class EntityLoader {
 public:
  explicit EntityLoader(EngineState* state) : state_(state) {}

  // Makes the entity resident if anything is known of it. `create`: keep it in the table even when
  // it is blank. After OK it may be absent, which then is true. With the shard's mutex held, which
  // is released and taken again around reads: pointers into the shard are stale afterwards.
  Status Ensure(Shard& shard, const EtypeInfo& etype, uint64_t hash, const Eid& eid)
      TALLY_REQUIRES(shard.mutex);
  // The same for an entity whose address is held (Activity::holds).
  Status EnsureResident(Shard& shard, Entity* entity) TALLY_REQUIRES(shard.mutex);
  // Brings one absent chunk of a resident entity; likewise releases the mutex.
  Status EnsureChunk(Shard& shard, Entity* entity, uint8_t metric, uint64_t chunk)
      TALLY_REQUIRES(shard.mutex);

 private:
  struct Pieces;
  Status Load(Shard& shard, Entity* entity) TALLY_REQUIRES(shard.mutex);
  Status ReadPieces(const Entity& entity, uint64_t wipe_sequence, Pieces* pieces);
  Status ReadTexts(const Entity& entity, std::string_view header, Pieces* pieces);
  Status BuildFacts(const Entity& entity, uint64_t wipe_sequence, Pieces* pieces);
  Status ApplyTail(const Entity& entity, const std::vector<TailEvent>& tail, uint64_t after,
                   Pieces* pieces);
  void Reconcile(const EtypeInfo& etype, const std::vector<TailEvent>& tail, uint64_t wipe_sequence,
                 Pieces* pieces);
  Status HealFromJournal(const Entity& entity, const std::string& what, uint64_t wipe_sequence,
                         Pieces* pieces);
  Status ReadChunk(const Entity& entity, uint8_t metric, uint64_t chunk, std::string* value,
                   std::string_view* image, uint64_t* sequence);
  std::string Describe(const Entity& entity) const;

  EngineState* const state_;
};

// Puts an entity that nothing is on its way from to rest, and removes a blank one from the table.
// Cheap when there is nothing to do.
void Settle(const EngineState& state, Shard& shard, Entity* entity) TALLY_REQUIRES(shard.mutex);

// Keeps an entity's address good while the shard's mutex is released. The mutex is held when it
// begins and when it ends.
class EntityHold {
 public:
  explicit EntityHold(Entity* entity) : activity_(Activity::Of(*entity)) { ++activity_.holds; }
  ~EntityHold() { --activity_.holds; }
  EntityHold(const EntityHold&) = delete;
  EntityHold& operator=(const EntityHold&) = delete;

 private:
  Activity& activity_;  // stays while there are holds
};

}  // namespace tallystick
