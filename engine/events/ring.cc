#include "engine/events/ring.h"

#include "engine/base/assert.h"

#include <concurrentqueue/concurrentqueue.h>

#include <vector>

namespace tallystick {
namespace {

struct Traits : moodycamel::ConcurrentQueueDefaultTraits {
  static const size_t MAX_SUBQUEUE_SIZE = 65536;
  static_assert(MAX_SUBQUEUE_SIZE > Ring::kEventsPerShardMax);
};

}  // namespace

struct Ring::Impl {
  explicit Impl(uint32_t shards) {
    for (uint32_t i = 0; i < shards; ++i) producers.emplace_back(queue);
  }
  moodycamel::ConcurrentQueue<Event, Traits> queue;
  std::vector<moodycamel::ProducerToken> producers;
  moodycamel::ConsumerToken consumer{queue};
};

Ring::Ring(uint32_t shards) : impl_(std::make_unique<Impl>(shards)) {}

Ring::~Ring() {
  Event event;
  while (Pop(&event, 1) == 1) delete event.payload;
}

void Ring::Push(uint32_t local_shard, const Event& event) {
  const bool pushed = impl_->queue.enqueue(impl_->producers[local_shard], event);
  TALLY_ASSERT(pushed);  // Shard::in_flight bounds it; only memory can run out
}

size_t Ring::Pop(Event* out, size_t max) {
  return impl_->queue.try_dequeue_bulk(impl_->consumer, out, max);
}

size_t Ring::SizeApprox() const {
  return impl_->queue.size_approx();
}

}  // namespace tallystick
