// Gauges and counters of one engine, for INFO and metrics. A copy; cheap to take (no I/O).
#pragma once

#include <cstdint>
#include <string>

namespace tallystick {

struct Stats {
  // Facts in memory.
  uint64_t entities = 0;          // resident in memory
  uint64_t fact_sets = 0;         // resident
  uint64_t facts = 0;             // members of resident sets, chunks on disk included
  uint64_t plain_keys = 0;        // resident
  uint64_t ids = 0;               // ordinals of all id dictionaries
  uint64_t ids_memory_bytes = 0;  // held for them; in memory_bytes too
  uint64_t memory_bytes = 0;      // engine's own accounting of the above
  bool index_complete = false;    // everything on disk is known to memory (warm-up finished)
  uint32_t shards_loaded = 0;     // of shards
  uint32_t shards = 0;
  uint32_t partitions = 0;

  // Path of events.
  uint64_t events = 0;            // since open
  uint64_t events_in_flight = 0;  // in the rings now
  uint64_t busy_refusals = 0;
  uint64_t journal_batches = 0;
  uint64_t journal_bytes = 0;        // appended since open
  uint64_t journal_tail_events = 0;  // after the checkpoint: what a restart would replay
  uint64_t dirty_entities = 0;       // record or snapshot not yet written
  uint64_t records_written = 0;
  uint64_t snapshots_written = 0;
  uint64_t counts_saturated = 0;  // record images clamped at their width
  uint64_t counts_healed = 0;     // records found missing, damaged or drifted, and rewritten
  uint64_t corrupt_entities = 0;  // refused because damage could not be healed

  // Durability.
  uint64_t syncs = 0;
  uint64_t durability_lag_ms = 0;  // age of the oldest journaled write that is not fsynced
  bool read_only = false;
  std::string read_only_reason;

  // Recovery of this open.
  uint64_t recovered_events = 0;  // replayed so far
  uint64_t recovery_us = 0;       // spent in Open
  bool recovery_done = false;     // every partition's tail is replayed
};

}  // namespace tallystick
