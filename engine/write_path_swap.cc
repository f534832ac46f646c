// WritePath: a fact set becomes another one, which was prepared without the shard's mutex.
#include "engine/base/assert.h"
#include "engine/counts/fold.h"
#include "engine/write_path.h"

#include <algorithm>

namespace tallystick {
namespace {

constexpr size_t kFlippedMax = 1u << 20;

}  // namespace

WritePath::Preparation::~Preparation() TALLY_NO_THREAD_SAFETY_ANALYSIS {
  if (shard_ == nullptr) return;
  MutexLock lock(shard_->mutex);
  std::erase(shard_->watches, &watch_);
  --Activity::Of(*watch_.entity).holds;
  Settle(*state_, *shard_, watch_.entity);
}

void WritePath::NoteForWatches(Located& at, const Event& event) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  for (SetWatch* watch : at.shard.watches) {
    if (watch->entity != at.entity || watch->metric != event.metric) continue;
    if (event.kind == EventKind::kFlip && watch->flipped.size() < kFlippedMax) {
      watch->flipped.push_back(event.uid);
    } else if (event.kind == EventKind::kFlip || event.kind == EventKind::kBulkClear ||
               event.kind == EventKind::kBulkChange) {
      watch->overrun = true;
    }
  }
}

Status WritePath::BeginSwap(const FactKey& key, Preparation* preparation) {
  TALLY_ASSERT(preparation->shard_ == nullptr);
  if (Status s = CheckFactKey(key); !s.ok()) return s;
  TALLY_ASSERT(!key.etype.empty());
  const auto metric = state_->catalog.AddMetric(key.metric);
  if (!metric) {
    return Status::Error(StatusCode::kInvalidArgument, "too many metrics (at most 250)");
  }
  Status refused;
  const Status status = WithEntity(key.entity(), true, 0, [&](Located& at) -> Need {
    at.shard.mutex.AssumeHeld();
    if (at.etype.ids != nullptr) {
      refused = IdsRefuseBulk();
      return Need::Done();
    }
    if (at.entity == nullptr) {
      at.entity = at.shard.table.Insert(
          std::make_unique<Entity>(at.hash, at.shard_index, at.etype.id, at.eid));
    }
    ++Activity::Of(*at.entity).holds;
    preparation->shard_ = &at.shard;
    preparation->watch_.entity = at.entity;
    preparation->watch_.metric = *metric;
    at.shard.watches.push_back(&preparation->watch_);
    return Need::Done();
  });
  return status.ok() ? refused : status;
}

Result<WritePath::SwapAnswer> WritePath::TrySwap(const FactKey& key, Preparation* preparation,
                                                 Swap* swap, std::vector<Flipped>* flipped,
                                                 const std::function<void()>& correct,
                                                 int32_t busy_timeout_ms, Ticket* ticket) {
  SwapAnswer answer = SwapAnswer::kDone;
  SetWatch& watch = preparation->watch_;
  const uint8_t metric = watch.metric;
  const Status status = WithEntity(key.entity(), true, busy_timeout_ms, [&](Located& at) -> Need {
    TALLY_ASSERT(at.entity == watch.entity && &at.shard == preparation->shard_);
    if (!committer_->HasRoom(at.shard)) return Need::Room();
    flipped->clear();
    if (watch.overrun) {
      watch.overrun = false;
      watch.flipped.clear();
      answer = SwapAnswer::kBeginAgain;
      return Need::Done();
    }
    if (!watch.flipped.empty()) {
      const MetricSet* held = at.entity->FindSet(metric);
      for (const uint64_t uid : watch.flipped) {
        if (held != nullptr && held->set.IsAbsent(ChunkOf(uid)))
          return Need::Chunk(metric, ChunkOf(uid));
        flipped->push_back({uid, held != nullptr && held->set.Contains(uid)});
      }
      watch.flipped.clear();
      if (!correct) {
        answer = SwapAnswer::kFlipped;
        return Need::Done();
      }
      correct();
    }
    if (!swap->ready) {
      answer = SwapAnswer::kFlipped;
      return Need::Done();
    }
    if (swap->empty) {
      NoteRead(at, ticket);
      return Need::Done();
    }
    Entity& entity = Create(at, SlotOf(at.etype, EventKind::kBulkChange, metric));
    MetricSet& changed = entity.SetFor(metric);
    TALLY_ASSERT(changed.set.cardinality() == swap->before.cardinality());
    std::swap(swap->before, swap->after);
    swap->before = changed.set.Exchange(std::move(swap->before));
    changed.JoinLabels(swap->labels);
    changed.ForgetIfEmpty();
    Event event;
    event.kind = EventKind::kBulkChange;
    event.metric = metric;
    event.label_any = swap->labels.any;
    event.label_first = swap->labels.first;
    event.delta = swap->delta;
    event.payload = new std::string(std::move(swap->payload));
    Push(at, event, ticket);
    return Need::Done();
  });
  if (!status.ok()) return Fail(status);
  return answer;
}

}  // namespace tallystick
