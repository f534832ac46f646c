// EngineState: what recovery restores and the write path then moves. Owned by the engine;
// everything that runs beside each other meets here, so the locks and their order are told here
// once.
//
// Lock order: Partition::persist -> Partition::consumer (ascending partition) -> Shard::mutex ->
// the small leaf mutexes (heal, tombstones, read-only reason). Nobody reads the store, writes it or
// waits for a ring while holding a shard's mutex.
#pragma once

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"
#include "engine/counts/catalog.h"
#include "engine/counts/id_dictionary.h"
#include "engine/events/batch_codec.h"
#include "engine/events/ring.h"
#include "engine/facts/shard.h"
#include "engine/storage/meta.h"
#include "engine/storage/store.h"

#include <tallystick/options.h>
#include <tallystick/stats.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace tallystick {

// An entity whose record or image is to be written, and the journal offset from which it is not.
struct DirtyItem {
  Entity* entity = nullptr;
  uint64_t first_offset = 0;
};

struct HealItem {
  Entity* entity = nullptr;
  bool record = false;
  bool image = false;
};

// A blank entity whose stored pieces can go once replay no longer starts before `offset`.
struct Tombstone {
  uint16_t etype = 0;
  uint64_t hash = 0;
  uint64_t offset = 0;
  std::string eid;
};

enum class ReplayState : uint8_t { kPending, kReady, kDamaged };

// A fixed group of shards with one ring, one consumer at a time, one journal.
struct Partition {
  Partition(uint32_t index_in, uint32_t first_shard_in, uint32_t shard_count_in)
      : index(index_in),
        first_shard(first_shard_in),
        shard_count(shard_count_in),
        ring(shard_count_in),
        consumed_sequence(shard_count_in) {}

  const uint32_t index;
  const uint32_t first_shard;
  const uint32_t shard_count;
  Ring ring;

  // The ring's consumer: drains, appends to the journal, folds.
  Mutex consumer;
  std::vector<Event> drained TALLY_GUARDED_BY(consumer);  // in arrival order
  std::vector<Event> ordered TALLY_GUARDED_BY(consumer);  // shard by shard
  BatchBuilder builder TALLY_GUARDED_BY(consumer);
  std::unique_ptr<StoreBatch> batch TALLY_GUARDED_BY(consumer);
  uint64_t next_offset TALLY_GUARDED_BY(consumer) = 0;
  std::vector<uint64_t> consumed_sequence TALLY_GUARDED_BY(consumer);  // per shard of the partition
  std::deque<DirtyItem> record_queue TALLY_GUARDED_BY(consumer);       // by first_offset
  std::deque<DirtyItem> snapshot_queue TALLY_GUARDED_BY(consumer);     // by first_offset
  uint64_t damaged_offset TALLY_GUARDED_BY(consumer) =
      UINT64_MAX;  // tail that a damaged entity needs

  std::atomic<uint64_t> journaled_offset{0};  // journal before it is with the operating system
  std::atomic<uint64_t> durable_offset{0};    // journal before it is fsynced
  std::atomic<uint64_t> tail_start{0};        // the checkpoint: replay would start here
  std::atomic<uint64_t> bytes_since_snapshot{0};
  std::atomic<uint64_t> events_since_flush{0};
  std::atomic<bool> idle{false};  // its aggregator rests: a push should wake it
  std::atomic<uint32_t> room_waiters{0};
  Mutex room_mutex;
  CondVar room;  // in-flight events went down

  // One writer of records, images and checkpoints at a time.
  Mutex persist;
  uint64_t checkpoint_offset TALLY_GUARDED_BY(persist) = 0;
  uint64_t trimmed_at_us TALLY_GUARDED_BY(persist) = 0;
  bool checkpoint_stale TALLY_GUARDED_BY(persist) = false;  // wipe sequences changed

  // Entities whose stored record or image is missing or wrong. Their queue flags are set already.
  Mutex heal_mutex;
  std::vector<HealItem> heal_queue TALLY_GUARDED_BY(heal_mutex);
  Mutex tombstone_mutex;
  std::vector<Tombstone> tombstones TALLY_GUARDED_BY(tombstone_mutex);

  // The tail of the journal is replayed on first touch. The status is written before kDamaged is.
  std::atomic<ReplayState> replay{ReplayState::kPending};
  Status replay_error;
};

// Counters of Stats that several threads move.
struct EngineCounters {
  std::atomic<uint64_t> events{0}, busy_refusals{0}, journal_batches{0}, journal_bytes{0},
      records_written{0}, snapshots_written{0}, counts_saturated{0}, counts_healed{0},
      corrupt_entities{0}, syncs{0}, recovered_events{0}, recovery_us{0};
};

class EngineState {
 public:
  EngineState(const Options& options_in, Clock* clock_in, Log log_in,
              std::unique_ptr<Store> store_in, Schema schema, const DatabaseRecord& database_in,
              uint64_t epoch_in, std::unique_ptr<IdDictionaries> ids_in);

  Shard& shard(uint32_t i) { return *shards[i]; }
  Partition& PartitionOf(uint32_t shard) { return *partitions[shard >> partition_shift]; }
  uint32_t ShardOf(uint64_t hash) const {
    return static_cast<uint32_t>(hash & (shards.size() - 1));
  }

  // The first failure of a journal write or fsync, or a broken invariant of the event path. From
  // then on writes are refused; nothing is retried. Thread-safe; later calls keep the first reason.
  void EnterReadOnly(const std::string& reason);
  bool read_only() const { return read_only_.load(std::memory_order_acquire); }
  Status ReadOnlyError();
  std::string read_only_reason();

  const Options options;
  Clock* const clock;
  const Log log;
  const std::unique_ptr<Store> store;
  const DatabaseRecord database;
  const uint64_t epoch;
  const std::unique_ptr<IdDictionaries> ids;
  Catalog catalog;
  std::vector<std::unique_ptr<Shard>> shards;
  std::vector<std::unique_ptr<Partition>> partitions;
  uint32_t partition_shift = 0;
  EngineCounters counters;
  std::atomic<Durability> durability;
  std::atomic<uint32_t> shards_indexed{0};  // with Shard::index_complete

 private:
  std::atomic<bool> read_only_{false};
  Mutex reason_mutex_;
  std::string reason_ TALLY_GUARDED_BY(reason_mutex_);
};

}  // namespace tallystick
