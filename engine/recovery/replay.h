// Replay: the journal's tail of each partition, on first touch or in the background, and the index
// of what the store holds per shard.
#pragma once

#include "engine/recovery/engine_state.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

class Replay {
 public:
  // `checkpoints` by partition, as read from meta.
  Replay(EngineState* state, std::vector<CheckpointRecord> checkpoints)
      : state_(state), checkpoints_(std::move(checkpoints)) {}

  // Returns once the partition's tail is replayed: its events wait with their entities, its shards'
  // sequences are known. Cheap when done. kCorruption when the tail is damaged: its shards are
  // refused.
  Status Ensure(Partition& p) {
    // Acquire pairs with the release in Run: the replayed state is visible.
    if (p.replay.load(std::memory_order_acquire) == ReplayState::kReady) return Status();
    return Run(p);
  }

  // Puts the names of all that the store holds of a shard into its table, so that absence is known.
  // Reads keys only. kCorruption when damage hides some: the shard then asks the store each time.
  Status IndexShard(uint32_t shard);

 private:
  Status Run(Partition& p);
  Status ReadTail(Partition& p) TALLY_REQUIRES(p.consumer);
  Status AddNames(uint32_t shard, const std::vector<std::string>& keys);
  Status TakeBatch(Partition& p, const BatchHeader& header, const std::vector<JournalEvent>& events,
                   std::vector<bool>* seen) TALLY_REQUIRES(p.consumer);
  Result<Entity*> EntityOf(Shard& shard, const JournalEvent& event) TALLY_REQUIRES(shard.mutex);
  // Events of one entity that follow each other in a batch, or one wipe.
  Status AddRun(Partition& p, std::span<const JournalEvent> run, uint64_t first_offset)
      TALLY_REQUIRES(p.consumer);

  EngineState* const state_;
  const std::vector<CheckpointRecord> checkpoints_;
  std::atomic<bool> damage_logged_{false};  // one line, not one per shard
};

// A name whose content is still in the store.
std::unique_ptr<Entity> OnDiskEntity(uint32_t shard, const EtypeInfo& etype, uint64_t hash,
                                     const Eid& eid);

}  // namespace tallystick
