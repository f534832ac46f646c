// Committer: from the rings to the journal and the counts (group commit).
//
// Whoever needs a commit makes it: the thread locks the partitions' consumers, drains their rings,
// writes one batch for everybody and folds it (leader); those that come meanwhile wait on the lock
// and find their events journaled (followers). Aggregator tasks do it when nobody waits.
#pragma once

#include "engine/recovery/engine_state.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tallystick {

class Committer {
 public:
  // `on_journaled` is called after every commit that journaled something, without locks.
  Committer(EngineState* state, std::function<void()> on_journaled);

  // Journals and folds every event that was pushed before the call into these partitions
  // (ascending, no duplicates). Blocks on the store's write, never on fsync. kReadOnly after a
  // failure.
  Status Commit(std::span<const uint32_t> partitions);
  Status CommitAll();
  // Journals what the ticket names.
  Status CommitTicket(const Ticket& ticket);
  bool Journaled(const Ticket& ticket) const;

  // Waits until the shard's ring has room for another event, committing by itself when nobody else
  // does. kBusy after timeout_ms. Without the shard's mutex.
  Status WaitForRoom(uint32_t shard, int32_t timeout_ms);
  bool HasRoom(const Shard& shard) const { return HasRoom(shard, 1); }
  bool HasRoom(const Shard& shard, uint32_t events) const {
    return shard.in_flight.load(std::memory_order_relaxed) + events <=
           state_->options.ring_events_per_shard;
  }

  // Runs `push` while nobody drains these partitions (ascending, no duplicates), and when it
  // answers true commits at once: what it pushed is in one write of the store, so that a restart
  // finds all of it or nothing. `push` locks the shards that it needs; it must see to room first.
  Status CommitTogether(std::span<const uint32_t> partitions, const std::function<bool()>& push);

  // All consumers are locked by the caller, who wants one write batch for all (see
  // EngineImpl::Wipe). `extra` adds to the batch.
  Status CommitLocked(std::span<const uint32_t> partitions,
                      const std::function<void(StoreBatch*)>& extra);

 private:
  void Drain(Partition& p);
  void Fold(Partition& p, uint64_t first_offset);
  void FoldShard(Partition& p, uint32_t shard, std::span<const Event> events,
                 uint64_t first_offset);

  EngineState* const state_;
  const std::function<void()> on_journaled_;
};

}  // namespace tallystick
