// Shard: the unit of locking. An entity and all its fact sets belong to exactly one.
//
// Every event takes the next sequence under the mutex; the watermarks (journaled, durable) follow
// it and are read without the mutex by those who wait.
#pragma once

#include "engine/base/mutex.h"
#include "engine/facts/fact_table.h"

#include <atomic>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace tallystick {

// What happens to an entity while somebody prepares a large change of one of its fact sets without
// the shard's mutex: registered in Shard::watches, filled by whoever pushes an event.
struct SetWatch {
  Entity* entity = nullptr;  // held (Activity::holds)
  uint8_t metric = 0;
  std::vector<uint64_t> flipped;  // uids of the set, as they came
  bool overrun = false;           // too many, or a change of many facts at once: begin again
};

struct alignas(64) Shard {
  Mutex mutex;
  CondVar loaded;  // an entity of the shard left Residency::kLoading
  FactTable table TALLY_GUARDED_BY(mutex);
  uint64_t sequence TALLY_GUARDED_BY(mutex) = 0;  // of the last event
  // All that the store holds of this shard is in `table` (at least by name): absence is known.
  bool index_complete TALLY_GUARDED_BY(mutex) = false;
  uint64_t wipe_sequence TALLY_GUARDED_BY(mutex) = 0;  // stored pieces up to here do not exist
  std::set<std::pair<uint64_t, Entity*>> expiries TALLY_GUARDED_BY(mutex);  // plain keys by expiry
  std::vector<SetWatch*> watches TALLY_GUARDED_BY(mutex);                   // nearly always none

  // Events pushed and not yet journaled. Grows under the mutex, shrinks by the consumer.
  std::atomic<uint32_t> in_flight{0};
  std::atomic<uint64_t> journaled_sequence{0};
  std::atomic<uint64_t> durable_sequence{0};
};

}  // namespace tallystick
