// WritePath: plain keys and their expiry.
#include "engine/counts/fold.h"
#include "engine/plain_string.h"
#include "engine/write_path.h"

namespace tallystick {

void WritePath::SetExpiry(Shard& shard, Entity& entity,
                          uint64_t expire_at_ms) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  PlainState& plain = *entity.plain();
  // The old stamp may be gone from `plain` already: entries are found by entity when they differ.
  if (plain.indexed_expiry_ms != 0) shard.expiries.erase({plain.indexed_expiry_ms, &entity});
  plain.indexed_expiry_ms = expire_at_ms;
  plain.expire_at_ms = expire_at_ms;
  if (expire_at_ms != 0) shard.expiries.emplace(expire_at_ms, &entity);
}

void WritePath::ExpireIfDue(Located& at, uint64_t now_ms) {
  Entity* entity = at.entity;
  if (entity == nullptr || entity->plain() == nullptr || entity->plain()->expire_at_ms == 0 ||
      entity->plain()->expire_at_ms > now_ms || state_->read_only()) {
    return;
  }
  BecomeNothing(*entity);
  SetExpiry(at.shard, *entity, 0);
  Event event;
  event.kind = EventKind::kPlainDelete;
  Push(at, event, nullptr);
}

Result<PlainSetOutcome> WritePath::PlainSet(std::string_view key, std::string_view value,
                                            const PlainSetOptions& set, int32_t busy_timeout_ms,
                                            Ticket* ticket) {
  if (Status s = CheckEntityKey({"", key}); !s.ok()) return Fail(std::move(s));
  if (value.size() > kPlainValueBytesMax)
    return Fail(StatusCode::kInvalidArgument, "a value is at most 512 MB");
  PlainSetOutcome outcome;
  Status wrong;
  const Status status = WithEntity({"", key}, true, busy_timeout_ms, [&](Located& at) -> Need {
    if (!committer_->HasRoom(at.shard)) return Need::Room();
    const uint64_t now_ms = NowMs();
    ExpireIfDue(at, now_ms);
    PlainState* plain = at.entity != nullptr ? at.entity->plain() : nullptr;
    const PlainType type = plain != nullptr ? plain->type : PlainType::kNone;
    if (set.return_old && type != PlainType::kNone) {
      if (type == PlainType::kSet) {
        wrong = Status::Error(StatusCode::kWrongType, "the key holds a set");
        return Need::Done();
      }
      if (type == PlainType::kString) {
        outcome.old = plain->value;
      } else {
        const MetricSet* bits = at.entity->FindSet(kBitsMetric);
        if (bits != nullptr) {
          if (const auto absent = bits->set.FirstAbsent({}))
            return Need::Chunk(kBitsMetric, *absent);
        }
        outcome.old = BitsAsString(bits, plain->bits_bytes);
      }
    }
    if ((set.only_if_absent && type != PlainType::kNone) ||
        (set.only_if_present && type == PlainType::kNone)) {
      NoteRead(at, ticket);
      return Need::Done();
    }
    const uint64_t expire_at_ms =
        set.keep_expiry && plain != nullptr ? plain->expire_at_ms : set.expire_at_ms;
    Entity& entity = Create(at, kNoSlot);
    if (expire_at_ms != 0 && expire_at_ms <= now_ms) {  // already over: as if deleted
      BecomeNothing(entity);
      SetExpiry(at.shard, entity, 0);
      Event event;
      event.kind = EventKind::kPlainDelete;
      Push(at, event, ticket);
    } else {
      BecomePlainString(entity, value, expire_at_ms);
      SetExpiry(at.shard, entity, expire_at_ms);
      Event event;
      event.kind = EventKind::kPlainString;
      event.uid = expire_at_ms;
      event.payload = new std::string(value);
      Push(at, event, ticket);
    }
    outcome.stored = true;
    return Need::Done();
  });
  if (!status.ok()) return Fail(status);
  if (!wrong.ok()) return Fail(wrong);
  return outcome;
}

Result<bool> WritePath::PlainDelete(std::string_view key, int32_t busy_timeout_ms, Ticket* ticket) {
  if (Status s = CheckEntityKey({"", key}); !s.ok()) return Fail(std::move(s));
  bool existed = false;
  const Status status = WithEntity({"", key}, true, busy_timeout_ms, [&](Located& at) -> Need {
    if (!committer_->HasRoom(at.shard)) return Need::Room();
    ExpireIfDue(at, NowMs());
    if (at.entity == nullptr || !at.entity->plain() ||
        at.entity->plain()->type == PlainType::kNone) {
      NoteRead(at, ticket);
      return Need::Done();
    }
    existed = true;
    BecomeNothing(*at.entity);
    SetExpiry(at.shard, *at.entity, 0);
    Event event;
    event.kind = EventKind::kPlainDelete;
    Push(at, event, ticket);
    return Need::Done();
  });
  if (!status.ok()) return Fail(status);
  return existed;
}

size_t WritePath::ExpireDue(uint32_t shard_index, size_t max) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  Shard& shard = state_->shard(shard_index);
  const uint64_t now_ms = NowMs();
  size_t expired = 0;
  MutexLock lock(shard.mutex);
  while (expired < max && !shard.expiries.empty() && shard.expiries.begin()->first <= now_ms &&
         committer_->HasRoom(shard) && !state_->read_only()) {
    Entity* entity = shard.expiries.begin()->second;
    const EidText eid = entity->eid();
    Located at{shard,          shard_index, state_->catalog.etype(kPlainEtype),
               entity->hash(), Eid(eid),    entity};
    ExpireIfDue(at, now_ms);
    ++expired;
  }
  return expired;
}

}  // namespace tallystick
