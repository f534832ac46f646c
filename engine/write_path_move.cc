// WritePath: a fact that moves from one set to another.
//
// The two sets may belong to different shards and partitions. Both shards are locked, so that
// nobody sees the fact in neither or in both; and the partitions' consumers are held until both
// events are journaled, in one write: no batch lies between them, so no restart finds one without
// the other.
#include "engine/base/assert.h"
#include "engine/write_path.h"

#include <algorithm>
#include <array>

namespace tallystick {

Result<bool> WritePath::Move(const FactOp& take, const FactOp& put, int32_t busy_timeout_ms,
                             Ticket* ticket) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  const auto as = [](FactOpKind kind, FactOp op) {
    op.kind = kind;
    if (kind != FactOpKind::kSet) op.labels = {};
    return op;
  };
  const FactOp looks[] = {as(FactOpKind::kHas, take), as(FactOpKind::kHas, put)};
  const FactOp changes[] = {as(FactOpKind::kClear, take), as(FactOpKind::kSet, put)};
  const bool same = take.key.metric == put.key.metric && take.key.etype == put.key.etype &&
                    take.key.eid == put.key.eid && take.is_text == put.is_text &&
                    take.uid == put.uid && take.text == put.text;
  for (;;) {
    if (state_->read_only()) return Fail(state_->ReadOnlyError());
    std::array<Prepared, 2> prepared;
    std::array<FactOutcome, 2> seen, outcomes;
    std::vector<uint32_t> shards, partitions;
    for (size_t i = 0; i < 2; ++i) {
      if (Status s = Prepare(changes[i], nullptr, &prepared[i]); !s.ok()) return Fail(s);
      prepared[i].op = &changes[i];
      prepared[i].outcome = &outcomes[i];
      shards.push_back(prepared[i].shard);
      partitions.push_back(state_->PartitionOf(prepared[i].shard).index);
    }
    // Loads what is on disk, and finds what is refused.
    Apply(looks, seen, busy_timeout_ms, ticket);
    for (const FactOutcome& outcome : seen) {
      if (outcome.error != StatusCode::kOk) return Fail(outcome.error, "");
    }
    if (!seen[0].before || same) return seen[0].before;
    for (auto* list : {&shards, &partitions}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    const uint32_t events_per_shard = shards.size() == 1 ? 2 : 1;

    enum class End : uint8_t { kMoved, kNotThere, kLookAgain, kNoRoom } end = End::kMoved;
    uint32_t full_shard = 0;
    const auto look = [&](const Prepared& p) {  // false: something has changed since it was loaded
      Prepared only_look = p;
      FactOutcome outcome;
      only_look.op = &looks[&p - prepared.data()];
      only_look.outcome = &outcome;
      return ApplyIfAtHand(state_->shard(p.shard), only_look, nullptr) &&
             outcome.error == StatusCode::kOk;
    };
    // Nothing can refuse it any more, not even the end of writing: that would leave half of it.
    const auto change = [&](const Prepared& p) TALLY_NO_THREAD_SAFETY_ANALYSIS {
      Shard& shard = state_->shard(p.shard);
      Located at{shard, p.shard, *p.etype, p.hash, p.eid, nullptr};
      at.entity = shard.table.Find(p.hash, p.etype->id, at.eid);
      const Need need = ApplyOne(at, *p.op, p.metric, p.metric_known, p.outcome, ticket);
      TALLY_ASSERT(need.what == Need::What::kDone && p.outcome->error == StatusCode::kOk);
      if (at.entity != nullptr) Settle(*state_, shard, at.entity);
    };
    const Status status =
        committer_->CommitTogether(partitions, [&]() TALLY_NO_THREAD_SAFETY_ANALYSIS {
          for (const uint32_t shard : shards) state_->shard(shard).mutex.Lock();
          for (const uint32_t shard : shards) {
            if (committer_->HasRoom(state_->shard(shard), events_per_shard)) continue;
            end = End::kNoRoom;
            full_shard = shard;
          }
          if (end == End::kMoved && !(look(prepared[0]) && look(prepared[1])))
            end = End::kLookAgain;
          if (end == End::kMoved) {
            change(prepared[0]);
            if (outcomes[0].changed()) {
              change(prepared[1]);
            } else {
              end = End::kNotThere;
            }
          }
          for (const uint32_t shard : shards) state_->shard(shard).mutex.Unlock();
          return end == End::kMoved;
        });
    if (!status.ok()) return Fail(status);
    switch (end) {
      case End::kMoved:
        return true;
      case End::kNotThere:
        return false;
      case End::kLookAgain:
        break;
      case End::kNoRoom: {
        // For one event; another round finds out about the second.
        const int32_t patience =
            busy_timeout_ms < 0 ? state_->options.busy_timeout_ms : busy_timeout_ms;
        if (events_per_shard == 2 && committer_->HasRoom(state_->shard(full_shard))) {
          if (Status s = committer_->Commit(partitions); !s.ok()) return Fail(s);
          break;
        }
        if (Status s = committer_->WaitForRoom(full_shard, patience); !s.ok()) return Fail(s);
        break;
      }
    }
  }
}

}  // namespace tallystick
