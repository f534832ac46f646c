// Persister: writes what is dirty (count records every flush window, images at checkpoints), moves
// the checkpoint, and trims the journal.
//
// A record or image is written only when the journal holds everything that it includes, and says up
// to which sequence it is true; so it may be late, and a crash between any two writes is harmless.
// Oldest first: what holds the checkpoint back goes before everything else.
//
// Records and the images of small sets are many, small, and can be folded anew from the journal, so
// they go to the store unlogged and the checkpoint passes them only after a flush: what opening has
// to read is then the journal, in few and large values. A set in chunks has its image logged, as
// one batch.
#pragma once

#include "engine/committer.h"
#include "engine/recovery/engine_state.h"
#include "engine/recovery/entity_loader.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tallystick {

class Persister {
 public:
  Persister(EngineState* state, Committer* committer, EntityLoader* loader)
      : state_(state), committer_(committer), loader_(loader) {}

  // Writes up to `max` dirty count records of a partition; how many are left in the queue.
  Result<size_t> FlushRecords(Partition& p, size_t max);
  // Writes the images of all entities that are dirty at the call. With `advance`, also makes what
  // the partitions wrote durable and moves their checkpoints up (else only when the tail has grown
  // long).
  Status Checkpoint(std::span<Partition* const> partitions, bool advance);
  // Drops journal before the checkpoint that is beyond retention.
  Status TrimJournal(Partition& p);
  // Deletes what the store still holds of a shard from before its last wipe.
  Status CleanWiped(uint32_t shard);

 private:
  Status WriteImages(Partition& p) TALLY_REQUIRES(p.persist);
  Status WriteImageSlice(Partition& p, std::vector<DirtyItem> items) TALLY_REQUIRES(p.persist);
  bool EncodeImage(Shard& shard, Entity& entity, StoreBatch* logged, StoreBatch* unlogged)
      TALLY_REQUIRES(shard.mutex);
  CheckpointRecord Reached(Partition& p);
  Status WriteCheckpoint(Partition& p, const CheckpointRecord& record) TALLY_REQUIRES(p.persist);
  Status FlushStore();
  Status RemoveTombstones(Partition& p) TALLY_REQUIRES(p.persist);
  void TakeHealed(Partition& p) TALLY_REQUIRES(p.consumer);
  void KeepForDamaged(Partition& p, const DirtyItem& item);

  EngineState* const state_;
  Committer* const committer_;
  EntityLoader* const loader_;
  // Since the last flush: whether anything was written unlogged, and how much longer images (of
  // sets in chunks) have made the log.
  std::atomic<bool> unflushed_{false};
  std::atomic<uint64_t> image_bytes_logged_{0};
};

}  // namespace tallystick
