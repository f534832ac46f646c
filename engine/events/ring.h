// Ring: the bounded queue that carries the events of one partition's shards to its consumer.
//
// moodycamel::ConcurrentQueue with one producer token per shard. The token is used under the
// shard's mutex, so a shard's events stay in order; there is no order between shards and none is
// needed. The bound is ours (Shard::in_flight, checked before anything changes), below the queue's
// own per-producer limit, so a push never fails. The queue keeps the memory of its largest burst
// until it is destroyed. It is trusted with nothing: the consumer checks that every shard's
// sequence has no gap.
#pragma once

#include "engine/events/event.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tallystick {

class Ring {
 public:
  static constexpr uint32_t kEventsPerShardMax = 32768;

  explicit Ring(uint32_t shards);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // `local_shard` counts within the partition. Under that shard's mutex. About 7 ns.
  void Push(uint32_t local_shard, const Event& event);
  // Up to `max` events; 0 when it looks empty. One consumer at a time.
  size_t Pop(Event* out, size_t max);
  size_t SizeApprox() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tallystick
