// WritePath: changes of many facts of one set as one event.
#include "engine/base/assert.h"
#include "engine/counts/fold.h"
#include "engine/facts/chunk_list.h"
#include "engine/facts/text_list.h"
#include "engine/plain_string.h"
#include "engine/write_path.h"

namespace tallystick {
namespace {

// The first chunk on disk that one of these uids needs.
std::optional<uint64_t> AbsentChunk(const FactSet& set, const std::vector<uint64_t>& uids) {
  std::optional<uint64_t> last;
  for (const uint64_t uid : uids) {
    if (last == ChunkOf(uid)) continue;
    last = ChunkOf(uid);
    if (set.IsAbsent(*last)) return last;
  }
  return std::nullopt;
}

Event EventOf(const WritePath::Change& change, uint8_t metric) {
  Event event;
  event.metric = metric;
  event.label_any = change.labels.any;
  event.label_first = change.labels.first;
  event.delta =
      static_cast<int64_t>(change.added.size()) - static_cast<int64_t>(change.removed.size());
  if (!change.removed_texts.empty()) {
    event.kind = EventKind::kMembersChange;
    event.delta -= static_cast<int64_t>(change.removed_texts.size());
    std::string uids;
    if (!change.added.empty() || !change.removed.empty()) {
      EncodeChange(change.added, change.removed, &uids);
    }
    MembersChange members;
    members.uids = uids;
    members.removed.assign(change.removed_texts.begin(), change.removed_texts.end());
    event.payload = new std::string;
    EncodeMembersChange(members, event.payload);
    return event;
  }
  const bool single = change.added.size() + change.removed.size() == 1;
  const uint64_t uid = change.added.empty() ? (single ? change.removed[0] : 0) : change.added[0];
  if (single && change.bits_bytes <= uid / 8 + 1) {
    event.kind = EventKind::kFlip;
    event.uid = uid;
  } else {
    event.kind = EventKind::kBulkChange;
    event.uid = change.bits_bytes;
    event.payload = new std::string;
    EncodeChange(change.added, change.removed, event.payload);
  }
  return event;
}

}  // namespace

Status WritePath::ChangeSet(const FactKey& key, int32_t busy_timeout_ms, Ticket* ticket,
                            const Decide& decide) {
  if (Status s = CheckFactKey(key); !s.ok()) return s;
  const auto metric = state_->catalog.AddMetric(key.metric);
  if (!metric) {
    return Status::Error(StatusCode::kInvalidArgument, "too many metrics (at most 250)");
  }
  Status refused;
  const Status status = WithEntity(key.entity(), true, busy_timeout_ms, [&](Located& at) -> Need {
    if (!committer_->HasRoom(at.shard)) return Need::Room();
    const bool plain_key = at.etype.id == kPlainEtype;
    Current now{nullptr, nullptr};
    if (plain_key) {
      ExpireIfDue(at, NowMs());
      if (at.entity != nullptr && at.entity->plain() &&
          at.entity->plain()->type != PlainType::kNone) {
        now.plain = at.entity->plain();
      }
      const bool wants_set = *metric == kSetMetric;
      if (now.plain != nullptr && wants_set != (now.plain->type == PlainType::kSet)) {
        refused = Status::Error(StatusCode::kWrongType, "the key holds another kind of value");
        return Need::Done();
      }
    }
    const MetricSet* held = at.entity != nullptr ? at.entity->FindSet(*metric) : nullptr;
    if (held != nullptr && !held->set.empty()) now.set = &held->set;

    Change change;
    if (const auto chunk = decide(now, &change)) return Need::Chunk(*metric, *chunk);
    if (at.etype.ids != nullptr && !change.added.empty()) {
      refused = IdsRefuseBulk();
      return Need::Done();
    }
    if (change.value) {
      TALLY_ASSERT(now.plain != nullptr && now.plain->type == PlainType::kString);
      if (*change.value == now.plain->value) {
        NoteRead(at, ticket);
        return Need::Done();
      }
      Event event;
      event.kind = EventKind::kPlainString;
      event.uid = now.plain->expire_at_ms;
      event.payload = new std::string(std::move(*change.value));
      Create(at, kNoSlot);
      BecomePlainString(*at.entity, *event.payload, event.uid);
      Push(at, event, ticket);
      return Need::Done();
    }
    if (now.set != nullptr) {
      auto absent = AbsentChunk(*now.set, change.added);
      if (!absent) absent = AbsentChunk(*now.set, change.removed);
      if (absent) return Need::Chunk(*metric, *absent);
    }
    const bool grows = plain_key && *metric == kBitsMetric && change.bits_bytes > 0 &&
                       (now.plain == nullptr || now.plain->bits_bytes < change.bits_bytes);
    if (change.added.empty() && change.removed.empty() && change.removed_texts.empty()) {
      if (!grows) {
        NoteRead(at, ticket);
        return Need::Done();
      }
      Create(at, kNoSlot);
      NotePlainFlip(*at.entity, kBitsMetric, (change.bits_bytes - 1) * 8);
      Event event;
      event.kind = EventKind::kPlainLength;
      event.metric = kBitsMetric;
      event.uid = change.bits_bytes;
      Push(at, event, ticket);
      return Need::Done();
    }

    Entity& entity = Create(at, SlotOf(at.etype, EventKind::kBulkChange, *metric));
    MetricSet& changed = entity.SetFor(*metric);
    for (const uint64_t uid : change.added) TALLY_ASSERT(changed.set.Add(uid));
    for (const uint64_t uid : change.removed) TALLY_ASSERT(changed.set.Remove(uid));
    for (const std::string& text : change.removed_texts) {
      TALLY_ASSERT(plain_key && entity.plain()->texts->Remove(text));
    }
    changed.JoinLabels(change.labels);
    changed.ForgetIfEmpty();
    if (plain_key) {
      if (*metric == kBitsMetric) {
        uint64_t last_byte = change.bits_bytes == 0 ? 0 : change.bits_bytes - 1;
        if (!change.added.empty()) last_byte = std::max(last_byte, change.added.back() / 8);
        change.bits_bytes = last_byte + 1;
        NotePlainFlip(entity, *metric, last_byte * 8);
      } else {
        NotePlainFlip(entity, *metric, 0);
      }
      if (entity.plain()->type == PlainType::kNone) SetExpiry(at.shard, entity, 0);
    }
    Push(at, EventOf(change, *metric), ticket);
    return Need::Done();
  });
  return status.ok() ? refused : status;
}

Status WritePath::PlainReplace(std::string_view key, std::string_view metric, PlainContent content,
                               int32_t busy_timeout_ms, Ticket* ticket) {
  if (Status s = CheckFactKey({metric, "", key}); !s.ok()) return s;
  const uint8_t number = metric == kPlainBitsMetric ? kBitsMetric : kSetMetric;
  const bool has_texts = content.texts != nullptr && !content.texts->empty();
  const bool nothing =
      number == kBitsMetric ? content.bits_bytes == 0 : content.set.empty() && !has_texts;
  if (nothing) {
    const Result<bool> deleted = PlainDelete(key, busy_timeout_ms, ticket);
    return deleted ? Status() : deleted.error();
  }
  return WithEntity({"", key}, true, busy_timeout_ms, [&](Located& at) -> Need {
    if (!committer_->HasRoom(at.shard)) return Need::Room();
    ExpireIfDue(at, NowMs());
    Entity& entity = Create(at, kNoSlot);
    Event event;
    event.kind = has_texts ? EventKind::kPlainMembers : EventKind::kPlainReplace;
    event.metric = number;
    event.uid = content.bits_bytes;
    event.payload = new std::string;
    if (has_texts) {
      EncodeMembers(content.list, *content.texts, event.payload);
    } else {
      *event.payload = std::move(content.list);
    }
    BecomePlainSet(entity, number, std::move(content.set), content.bits_bytes,
                   std::move(content.texts));
    SetExpiry(at.shard, entity, 0);
    Push(at, event, ticket);
    return Need::Done();
  });
}

}  // namespace tallystick
