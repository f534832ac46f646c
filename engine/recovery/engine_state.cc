#include "engine/recovery/engine_state.h"

#include "engine/base/assert.h"

#include <bit>

namespace tallystick {

EngineState::EngineState(const Options& options_in, Clock* clock_in, Log log_in,
                         std::unique_ptr<Store> store_in, Schema schema,
                         const DatabaseRecord& database_in, uint64_t epoch_in,
                         std::unique_ptr<IdDictionaries> ids_in)
    : options(options_in),
      clock(clock_in),
      log(std::move(log_in)),
      store(std::move(store_in)),
      database(database_in),
      epoch(epoch_in),
      ids(std::move(ids_in)),
      catalog(std::move(schema), database_in.placement_seed, ids.get()),
      durability(options_in.durability) {
  TALLY_ASSERT(std::has_single_bit(database.shards) && std::has_single_bit(database.partitions));
  TALLY_ASSERT(database.partitions <= database.shards);
  const uint32_t per_partition = database.shards / database.partitions;
  partition_shift = static_cast<uint32_t>(std::countr_zero(per_partition));
  for (uint32_t i = 0; i < database.shards; ++i) shards.push_back(std::make_unique<Shard>());
  for (uint32_t i = 0; i < database.partitions; ++i) {
    partitions.push_back(std::make_unique<Partition>(i, i * per_partition, per_partition));
  }
}

void EngineState::EnterReadOnly(const std::string& reason) {
  {
    MutexLock lock(reason_mutex_);
    if (read_only_.load(std::memory_order_acquire)) return;
    reason_ = reason;
    // Release: who sees the flag finds the reason.
    read_only_.store(true, std::memory_order_release);
  }
  log.Error("read-only from now on: " + reason + "; reads go on, restart after mending the cause");
}

Status EngineState::ReadOnlyError() {
  return Status::Error(StatusCode::kReadOnly, "writes are refused since " + read_only_reason() +
                                                  "; restart after mending it");
}

std::string EngineState::read_only_reason() {
  MutexLock lock(reason_mutex_);
  return reason_;
}

}  // namespace tallystick
