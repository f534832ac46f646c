#include "engine/recovery/tail.h"

#include "engine/base/assert.h"
#include "engine/base/coding.h"
#include "engine/counts/fold.h"
#include "engine/events/batch_codec.h"
#include "engine/facts/chunk_list.h"
#include "engine/facts/text_list.h"

namespace tallystick {
namespace {

Status Contradiction(const TailEvent& event, const char* what) {
  return Status::Error(StatusCode::kCorruption,
                       "the journal and the stored image disagree at sequence " +
                           std::to_string(event.sequence) + ": " + what);
}

Status Flip(MetricSet& set, uint64_t uid, bool add, const TailEvent& event,
            const std::function<Status(MetricSet&, uint64_t)>& fetch_chunk) {
  if (const auto absent = set.set.FirstAbsent({uid, uid})) {
    if (Status s = fetch_chunk(set, *absent); !s.ok()) return s;
  }
  const bool changed = add ? set.set.Add(uid) : set.set.Remove(uid);
  return changed ? Status() : Contradiction(event, "a fact was already so");
}

Status FlipAll(MetricSet& set, std::string_view chunk_list, bool add, const TailEvent& event,
               const std::function<Status(MetricSet&, uint64_t)>& fetch_chunk) {
  Status status;
  const bool valid = ReadChunkList(chunk_list, [&](uint64_t chunk, const ChunkBits& bits) {
    ForEachBit(bits.data(), 0, kChunkBits - 1, [&](uint32_t bit) {
      if (status.ok()) status = Flip(set, FirstUidOf(chunk) + bit, add, event, fetch_chunk);
    });
    return status.ok();
  });
  if (!status.ok() || valid) return status;
  return Contradiction(event, "a bulk change is malformed");
}

Status FlipMany(std::string_view change, const TailEvent& event,
                const std::function<Status(MetricSet&, uint64_t)>& fetch_chunk, Entity* entity) {
  std::string_view added;
  std::string_view removed;
  if (!SplitChange(change, &added, &removed)) {
    return Contradiction(event, "a bulk change is malformed");
  }
  MetricSet& set = entity->SetFor(event.metric);
  if (Status s = FlipAll(set, added, true, event, fetch_chunk); !s.ok()) return s;
  if (Status s = FlipAll(set, removed, false, event, fetch_chunk); !s.ok()) return s;
  set.JoinLabels({event.label_any, event.label_first});
  set.ForgetIfEmpty();
  return Status();
}

Status ChangeMembers(const Catalog& catalog, const TailEvent& event,
                     const std::function<Status(MetricSet&, uint64_t)>& fetch_chunk,
                     Entity* entity) {
  MembersChange change;
  if (!DecodeMembersChange(event.payload_view(), &change)) {
    return Contradiction(event, "a change of members is malformed");
  }
  if (!change.uids.empty()) {
    if (Status s = FlipMany(change.uids, event, fetch_chunk, entity); !s.ok()) return s;
  }
  TextSet& texts = MakeTexts(catalog, *entity);
  bool changed = true;
  for (const std::string_view text : change.added) changed = changed && texts.Add(text);
  for (const std::string_view text : change.removed) changed = changed && texts.Remove(text);
  if (!changed) return Contradiction(event, "a member was already so");
  NotePlainFlip(*entity, kSetMetric, 0);
  return Status();
}

Status BulkChange(const EtypeInfo& etype, const TailEvent& event,
                  const std::function<Status(MetricSet&, uint64_t)>& fetch_chunk, Entity* entity) {
  if (Status s = FlipMany(event.payload_view(), event, fetch_chunk, entity); !s.ok()) return s;
  if (etype.id == kPlainEtype) {
    NotePlainFlip(*entity, event.metric, event.uid == 0 ? 0 : (event.uid - 1) * 8);
  }
  return Status();
}

}  // namespace

Status AppendTail(Catalog* catalog, std::span<const JournalEvent> events,
                  std::vector<TailEvent>* tail) {
  const auto has_metric = [](const JournalEvent& event) {
    return event.kind == EventKind::kFlip || event.kind == EventKind::kCounter ||
           event.kind == EventKind::kBulkClear || event.kind == EventKind::kBulkChange ||
           event.kind == EventKind::kPlainReplace || event.kind == EventKind::kMembersChange ||
           event.kind == EventKind::kPlainMembers;
  };
  std::optional<uint8_t> metric;
  std::string_view metric_name;
  if (tail->empty()) tail->reserve(events.size());
  for (const JournalEvent& event : events) {
    TailEvent& added = tail->emplace_back();
    added.kind = event.kind;
    added.label_any = event.label_any;
    added.label_first = event.label_first;
    added.sequence = event.sequence;
    added.uid = event.uid;
    added.delta = event.delta;
    if (!event.payload.empty()) added.payload = std::make_unique<std::string>(event.payload);
    if (!has_metric(event)) continue;
    if (!metric || event.metric != metric_name) {
      metric_name = event.metric;
      metric = Catalog::ValidName(metric_name) ? catalog->AddMetric(metric_name) : std::nullopt;
      if (!metric) {
        return Status::Error(StatusCode::kCorruption, "the journal names an impossible metric");
      }
    }
    added.metric = *metric;
  }
  return Status();
}

void PackTail(std::span<const TailEvent> events, uint64_t after, std::string* packed) {
  constexpr size_t kUsualBytes = 12;
  packed->reserve(packed->size() + events.size() * kUsualBytes);
  for (const TailEvent& event : events) {
    char head[3 + 4 * kVarintBytesMax];
    head[0] = static_cast<char>(event.kind);
    head[1] = static_cast<char>(event.metric);
    head[2] = static_cast<char>(event.label_any | event.label_first << 4);
    char* end = StoreVarint(head + 3, event.sequence - after);
    end = StoreVarint(end, event.uid);
    end = StoreVarint(end, ZigZag(event.delta));
    end = StoreVarint(end, event.payload_view().size());
    packed->append(head, static_cast<size_t>(end - head));
    packed->append(event.payload_view());
    after = event.sequence;
  }
}

std::vector<TailEvent> UnpackTail(std::string_view packed) {
  std::vector<TailEvent> events;
  ByteReader reader(packed);
  uint64_t sequence = 0;
  while (reader.remaining() > 0) {
    TailEvent& event = events.emplace_back();
    std::string_view head, payload;
    uint64_t distance = 0, payload_bytes = 0;
    TALLY_ASSERT(reader.Raw(3, &head) && reader.Varint(&distance) && reader.Varint(&event.uid) &&
                 reader.SignedVarint(&event.delta) && reader.Varint(&payload_bytes) &&
                 reader.Raw(payload_bytes, &payload));
    event.kind = static_cast<EventKind>(head[0]);
    event.metric = static_cast<uint8_t>(head[1]);
    event.label_any = static_cast<uint8_t>(head[2] & 15);
    event.label_first = static_cast<uint8_t>(static_cast<uint8_t>(head[2]) >> 4);
    event.sequence = sequence += distance;
    if (!payload.empty()) event.payload = std::make_unique<std::string>(payload);
  }
  return events;
}

Status ApplyTail(const Catalog& catalog, const EtypeInfo& etype, const std::vector<TailEvent>& tail,
                 uint64_t after,
                 const std::function<Status(MetricSet&, uint64_t chunk)>& fetch_chunk,
                 FactState* facts) {
  Entity entity(0, 0, etype.id, Eid("0"));  // borrows the state, for the shared code
  entity.Adopt(std::move(*facts));
  Status status;
  for (const TailEvent& event : tail) {
    if (event.sequence <= after) continue;
    switch (event.kind) {
      case EventKind::kFlip: {
        MetricSet& set = entity.SetFor(event.metric);
        status = Flip(set, event.uid, event.delta > 0, event, fetch_chunk);
        if (!status.ok()) break;
        set.JoinLabels({event.label_any, event.label_first});
        set.ForgetIfEmpty();
        if (etype.id == kPlainEtype) NotePlainFlip(entity, event.metric, event.uid);
        break;
      }
      case EventKind::kCounter:
        entity.SetCounter(event.metric, entity.CounterValue(event.metric) + event.delta);
        break;
      case EventKind::kReset: {
        std::vector<ResetSlot> slots;
        if (!DecodeReset(event.payload_view(), &slots)) {
          status = Contradiction(event, "a reset is malformed");
          break;
        }
        for (const ResetSlot& reset : slots) {
          const auto name = catalog.FindMetric(reset.slot);
          if (name) entity.SetCounter(*name, reset.counter_part);
        }
        break;
      }
      case EventKind::kBulkClear: {
        std::vector<uint64_t> uids;
        if (!DecodeUids(event.payload_view(), &uids)) {
          status = Contradiction(event, "a bulk change is malformed");
          break;
        }
        MetricSet& set = entity.SetFor(event.metric);
        for (const uint64_t uid : uids) {
          status = Flip(set, uid, false, event, fetch_chunk);
          if (!status.ok()) break;
        }
        set.ForgetIfEmpty();
        if (status.ok() && etype.id == kPlainEtype && !uids.empty()) {
          NotePlainFlip(entity, event.metric, uids.front());
        }
        break;
      }
      case EventKind::kBulkChange:
        status = BulkChange(etype, event, fetch_chunk, &entity);
        break;
      case EventKind::kPlainReplace: {
        FactSet set;
        const bool valid = SetFromChunkList(event.payload_view(), &set) &&
                           (event.metric == kBitsMetric ? event.uid > 0 : !set.empty());
        if (valid) {
          BecomePlainSet(entity, event.metric, std::move(set), event.uid, nullptr);
        } else {
          status = Contradiction(event, "the value of a plain key is malformed");
        }
        break;
      }
      case EventKind::kMembersChange:
        status = ChangeMembers(catalog, event, fetch_chunk, &entity);
        break;
      case EventKind::kPlainMembers: {
        FactSet set;
        std::string_view list;
        auto texts = std::make_unique<TextSet>(catalog.text_seed());
        if (DecodeMembers(event.payload_view(), &list, texts.get()) &&
            SetFromChunkList(list, &set) && !texts->empty()) {
          BecomePlainSet(entity, kSetMetric, std::move(set), 0, std::move(texts));
        } else {
          status = Contradiction(event, "the value of a plain key is malformed");
        }
        break;
      }
      case EventKind::kPlainString:
        BecomePlainString(entity, event.payload_view(), event.uid);
        break;
      case EventKind::kPlainDelete:
        BecomeNothing(entity);
        break;
      case EventKind::kPlainLength:
        entity.MakePlain().type = PlainType::kBits;
        entity.MakePlain().bits_bytes = std::max(entity.MakePlain().bits_bytes, event.uid);
        break;
      case EventKind::kWipe:
        break;  // resolved before: events up to a wipe are not applied
    }
    if (!status.ok()) break;
  }
  *facts = entity.Release();
  return status;
}

}  // namespace tallystick
