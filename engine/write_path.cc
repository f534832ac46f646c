#include "engine/write_path.h"

#include "engine/base/assert.h"
#include "engine/counts/fold.h"
#include "engine/facts/text_list.h"
#include "engine/plain_string.h"

#include <algorithm>
#include <array>

namespace tallystick {
namespace {

Status Invalid(std::string message) {
  return Status::Error(StatusCode::kInvalidArgument, std::move(message));
}

// The id alone, of a key whose names are known to be good.
Status CheckEid(const EntityKey& key) {
  if (key.etype.empty()) {
    if (key.eid.size() > kPlainKeyBytesMax)
      return Invalid("a plain key is at most 65536 bytes long");
  } else if (key.eid.empty() || key.eid.size() > kEidBytesMax) {
    return Invalid("an entity id is 1 to 512 bytes");
  }
  return Status();
}

bool IsPlainMetric(std::string_view metric) {
  return metric == kPlainSetMetric || metric == kPlainBitsMetric;
}

}  // namespace

Status CheckEntityKey(const EntityKey& key) {
  if (!key.etype.empty() && !Catalog::ValidName(key.etype))
    return Invalid("an entity type is 1 to 64 of A-Z a-z 0-9 _ -");
  return CheckEid(key);
}

Status CheckFactKey(const FactKey& key) {
  if (key.etype.empty()) {
    if (!IsPlainMetric(key.metric)) return Invalid("a plain key has only the metrics set and bits");
  } else if (!Catalog::ValidName(key.metric)) {
    return Invalid("a metric is 1 to 64 of A-Z a-z 0-9 _ -");
  }
  return CheckEntityKey(key.entity());
}

Status IdsRefuseBulk() {
  return Invalid("the ids of this entity type are in a dictionary: add facts one by one");
}

Status CheckText(const FactKey& key, std::string_view text) {
  if (!key.etype.empty() || key.metric != kPlainSetMetric) {
    return Invalid("only plain sets have members that are no numbers");
  }
  if (text.size() > kPlainValueBytesMax) return Invalid("a member is at most 512 MB");
  if (CanonicalNumber(text)) return Invalid("a member that is a number is a uid");
  return Status();
}

WritePath::WritePath(EngineState* state, Committer* committer, EntityLoader* loader, Replay* replay,
                     std::function<void(uint32_t)> wake_aggregator)
    : state_(state),
      committer_(committer),
      loader_(loader),
      replay_(replay),
      wake_aggregator_(std::move(wake_aggregator)) {}

// ---- Finding
// -------------------------------------------------------------------------------------

Status WritePath::Satisfy(Located& at, const Need& need,
                          int32_t busy_timeout_ms) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  if (need.what == Need::What::kChunk) {
    return loader_->EnsureChunk(at.shard, at.entity, need.metric, need.chunk);
  }
  at.shard.mutex.Unlock();
  const Status status = committer_->WaitForRoom(
      at.shard_index, busy_timeout_ms < 0 ? state_->options.busy_timeout_ms : busy_timeout_ms);
  at.shard.mutex.Lock();
  return status;
}

Status WritePath::WithEntity(const EntityKey& key, bool for_write, int32_t busy_timeout_ms,
                             const std::function<Need(Located&)>& run)
    TALLY_NO_THREAD_SAFETY_ANALYSIS {
  const EtypeInfo* etype = state_->catalog.AddEtype(key.etype);
  if (etype == nullptr) return Invalid("too many entity types (at most 60000)");
  const uint64_t hash = Catalog::HashEntity(*etype, key.eid);
  const uint32_t shard_index = state_->ShardOf(hash);
  if (Status s = replay_->Ensure(state_->PartitionOf(shard_index)); !s.ok()) return s;
  Located at{state_->shard(shard_index), shard_index, *etype, hash, Eid(key.eid), nullptr};
  MutexLock lock(at.shard.mutex);
  for (;;) {
    if (for_write && state_->read_only()) return state_->ReadOnlyError();
    if (Status s = loader_->Ensure(at.shard, *etype, hash, at.eid); !s.ok()) return s;
    at.entity = at.shard.table.Find(hash, etype->id, at.eid);
    const Need need = run(at);
    if (need.what == Need::What::kDone) {
      if (at.entity != nullptr) Settle(*state_, at.shard, at.entity);
      return Status();
    }
    if (Status s = Satisfy(at, need, busy_timeout_ms); !s.ok()) return s;
  }
}

void WritePath::NoteRead(const Located& at, Ticket* ticket) const {
  if (ticket == nullptr || at.entity == nullptr || state_->durability != Durability::kAlways)
    return;
  if (const uint64_t last = LastSequence(*at.entity); last != 0) ticket->Add(at.shard_index, last);
}

Entity& WritePath::Create(Located& at, uint8_t slot) {
  at.shard.mutex.AssumeHeld();
  if (at.entity == nullptr) {
    at.entity = at.shard.table.Insert(
        std::make_unique<Entity>(at.hash, at.shard_index, at.etype.id, at.eid));
  }
  OpenBucket(at.etype, *at.entity, at.shard.sequence);
  if (slot != kNoSlot) SumsOfSlot(at.etype, *at.entity, slot);
  return *at.entity;
}

void WritePath::Push(Located& at, Event event, Ticket* ticket) {
  at.shard.mutex.AssumeHeld();
  Partition& p = state_->PartitionOf(at.shard_index);
  event.shard = at.shard_index;
  event.sequence = ++at.shard.sequence;
  event.entity = at.entity;
  Activity& activity = Activity::Of(*at.entity);
  activity.last_sequence = event.sequence;
  ++activity.pins;
  if (const uint8_t slot = SlotOf(at.etype, event.kind, event.metric); slot != kNoSlot) {
    SumsOfSlot(at.etype, *at.entity, slot).in_flight += event.delta;
  }
  at.shard.in_flight.fetch_add(1, std::memory_order_relaxed);
  if (!at.shard.watches.empty()) NoteForWatches(at, event);
  p.ring.Push(at.shard_index - p.first_shard, event);
  if (ticket != nullptr) ticket->Add(at.shard_index, event.sequence);
  if (p.idle.load(std::memory_order_relaxed) && p.idle.exchange(false)) wake_aggregator_(p.index);
}

// ---- Facts
// ---------------------------------------------------------------------------------------

Status WritePath::Prepare(const FactOp& op, const Prepared* before, Prepared* prepared) {
  // A batch tends to repeat its names.
  const bool same_names = before != nullptr && before->metric_known &&
                          before->op->key.metric == op.key.metric &&
                          before->op->key.etype == op.key.etype;
  if (Status s = same_names ? CheckEid(op.key.entity()) : CheckFactKey(op.key); !s.ok()) return s;
  const bool bits = op.key.etype.empty() && op.key.metric == kPlainBitsMetric;
  if (bits && op.uid > kPlainBitMax) return Invalid("a plain bitmap has bits 0 to 4294967295");
  TALLY_ASSERT(op.labels.any < 16 && op.labels.first < 16);
  if (op.is_text) {
    if (Status s = CheckText(op.key, op.text); !s.ok()) return s;
  }
  if (same_names) {
    prepared->etype = before->etype;
    prepared->metric = before->metric;
    prepared->metric_known = true;
  } else {
    prepared->etype = state_->catalog.AddEtype(op.key.etype);
    if (prepared->etype == nullptr) return Invalid("too many entity types (at most 60000)");
    const auto metric = op.kind == FactOpKind::kSet || op.kind == FactOpKind::kToggle
                            ? state_->catalog.AddMetric(op.key.metric)
                            : state_->catalog.FindMetric(op.key.metric);
    if (!metric && op.kind != FactOpKind::kHas && op.kind != FactOpKind::kClear) {
      return Invalid("too many metrics (at most 250)");
    }
    prepared->metric_known = metric.has_value();
    prepared->metric = metric.value_or(0);
  }
  prepared->eid = Eid(op.key.eid);
  prepared->hash = Catalog::HashEntity(*prepared->etype, op.key.eid);
  prepared->shard = state_->ShardOf(prepared->hash);
  return Status();
}

void WritePath::Apply(std::span<const FactOp> ops, std::span<FactOutcome> outcomes,
                      int32_t busy_timeout_ms, Ticket* ticket) {
  TALLY_ASSERT(ops.size() == outcomes.size());
  const auto prepare = [&](size_t i, const Prepared* before, Prepared* p) {
    outcomes[i] = FactOutcome{};
    p->op = &ops[i];
    p->outcome = &outcomes[i];
    const Status s = Prepare(ops[i], before, p);
    if (!s.ok()) outcomes[i].error = s.code();
    return s.ok();
  };
  if (ops.size() == 1) {
    Prepared one;
    const Prepared* const only = &one;
    if (prepare(0, nullptr, &one)) ApplyGroup({&only, 1}, busy_timeout_ms, ticket);
    return;
  }
  // By shard, and within it in the given order: operations on one key keep theirs.
  struct ByShard {
    uint32_t shard;
    uint32_t index;
    auto operator<=>(const ByShard&) const = default;
  };
  TALLY_ASSERT(ops.size() <= UINT32_MAX);
  std::vector<Prepared> given(ops.size());
  std::vector<ByShard> order;
  order.reserve(ops.size());
  for (uint32_t i = 0; i < ops.size(); ++i) {
    if (prepare(i, i > 0 ? &given[i - 1] : nullptr, &given[i])) {
      order.push_back({given[i].shard, i});
    }
  }
  std::sort(order.begin(), order.end());
  std::vector<const Prepared*> prepared;
  prepared.reserve(order.size());
  for (const ByShard& next : order) prepared.push_back(&given[next.index]);
  const PreparedSpan all(prepared);
  for (size_t begin = 0; begin < all.size(); begin += kWindow) {
    ApplyWindow(all.subspan(begin, std::min(kWindow, all.size() - begin)), busy_timeout_ms, ticket);
  }
}

// Group prefetching (Chen et al., "Improving hash join performance through prefetching", 2004): the
// cache misses of the window's look-ups overlap. A shard that is not free at once is left for
// afterwards, so nobody waits for one lock while holding others.
void WritePath::ApplyWindow(PreparedSpan window, int32_t busy_timeout_ms,
                            Ticket* ticket) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  struct Group {
    PreparedSpan ops;
    bool locked = false;
    size_t done = 0;
  };
  std::array<Group, kWindow> groups;
  size_t count = 0;
  for (size_t begin = 0; begin < window.size();) {
    size_t end = begin + 1;
    while (end < window.size() && window[end]->shard == window[begin]->shard) ++end;
    groups[count++].ops = window.subspan(begin, end - begin);
    begin = end;
  }
  // One entity that many operations are about needs one prefetch.
  const auto for_entities = [](const Group& group, auto&& run) {
    for (size_t i = 0; i < group.ops.size(); ++i) {
      if (i == 0 || group.ops[i]->hash != group.ops[i - 1]->hash) run(*group.ops[i]);
    }
  };
  for (Group& group : std::span(groups).first(count)) {
    const uint32_t shard_index = group.ops[0]->shard;
    if (state_->PartitionOf(shard_index).replay.load(std::memory_order_acquire) !=
        ReplayState::kReady) {
      continue;
    }
    Shard& shard = state_->shard(shard_index);
    group.locked = shard.mutex.TryLock();
    if (!group.locked) continue;
    for_entities(group, [&](const Prepared& p)
                            TALLY_NO_THREAD_SAFETY_ANALYSIS { shard.table.PrefetchSlot(p.hash); });
  }
  const auto for_locked = [&](auto&& run) {
    for (Group& group : std::span(groups).first(count)) {
      if (group.locked) run(group, state_->shard(group.ops[0]->shard));
    }
  };
  for_locked([&](Group& group, Shard& shard) {
    for_entities(group, [&](const Prepared& p) TALLY_NO_THREAD_SAFETY_ANALYSIS {
      shard.table.PrefetchEntity(p.hash);
    });
  });
  for_locked([&](Group& group, Shard& shard) {
    for_entities(group, [&](const Prepared& p) TALLY_NO_THREAD_SAFETY_ANALYSIS {
      const Entity* entity = shard.table.Find(p.hash, p.etype->id, p.eid);
      const MetricSet* set =
          entity != nullptr && p.metric_known ? entity->FindSet(p.metric) : nullptr;
      if (set != nullptr) set->set.Prefetch();
    });
  });
  for_locked([&](Group& group, Shard& shard) TALLY_NO_THREAD_SAFETY_ANALYSIS {
    for (const Prepared* p : group.ops) {
      if (!ApplyIfAtHand(shard, *p, ticket)) break;
      ++group.done;
    }
    shard.mutex.Unlock();
  });
  for (const Group& group : std::span(groups).first(count)) {
    if (group.done < group.ops.size()) {
      ApplyGroup(group.ops.subspan(group.done), busy_timeout_ms, ticket);
    }
  }
}

// False, and nothing has changed, when something must be loaded or waited for.
bool WritePath::ApplyIfAtHand(Shard& shard, const Prepared& p, Ticket* ticket) {
  shard.mutex.AssumeHeld();
  if (p.op->kind != FactOpKind::kHas && state_->read_only()) return false;
  Located at{shard, p.shard, *p.etype, p.hash, p.eid, nullptr};
  at.entity = shard.table.Find(p.hash, p.etype->id, at.eid);
  const bool at_hand =
      at.entity != nullptr ? at.entity->residency() == Residency::kResident : shard.index_complete;
  if (!at_hand) return false;
  const Need need = ApplyOne(at, *p.op, p.metric, p.metric_known, p.outcome, ticket);
  if (need.what != Need::What::kDone) return false;
  if (at.entity != nullptr) Settle(*state_, shard, at.entity);
  return true;
}

void WritePath::ApplyGroup(PreparedSpan group, int32_t busy_timeout_ms,
                           Ticket* ticket) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  const uint32_t shard_index = group[0]->shard;
  Shard& shard = state_->shard(shard_index);
  if (const Status s = replay_->Ensure(state_->PartitionOf(shard_index)); !s.ok()) {
    for (const Prepared* p : group) p->outcome->error = s.code();
    return;
  }
  MutexLock lock(shard.mutex);
  for (const Prepared* next : group) {
    const Prepared& p = *next;
    while (!ApplyIfAtHand(shard, p, ticket)) {
      Status status;
      if (p.op->kind != FactOpKind::kHas && state_->read_only()) {
        status = Status::Error(StatusCode::kReadOnly, "");
      } else {
        status = loader_->Ensure(shard, *p.etype, p.hash, p.eid);
      }
      if (status.ok()) {
        // Everything of the entity is known now, chunks and room in the ring excepted.
        Located at{shard, shard_index, *p.etype, p.hash, p.eid, nullptr};
        at.entity = shard.table.Find(p.hash, p.etype->id, at.eid);
        const Need need = ApplyOne(at, *p.op, p.metric, p.metric_known, p.outcome, ticket);
        if (need.what == Need::What::kDone) {
          if (at.entity != nullptr) Settle(*state_, shard, at.entity);
          break;
        }
        status = Satisfy(at, need, busy_timeout_ms);
      }
      if (!status.ok()) {
        p.outcome->error = status.code();
        break;
      }
    }
  }
}

WritePath::Need WritePath::ApplyOne(Located& at, const FactOp& op, uint8_t metric,
                                    bool metric_known, FactOutcome* outcome, Ticket* ticket) {
  const bool plain = at.etype.id == kPlainEtype;
  const bool writes = op.kind != FactOpKind::kHas;
  if (writes && !committer_->HasRoom(at.shard)) return Need::Room();
  if (plain) {
    ExpireIfDue(at, NowMs());
    const PlainType type =
        at.entity != nullptr && at.entity->plain() ? at.entity->plain()->type : PlainType::kNone;
    const bool is_bits = op.key.metric == kPlainBitsMetric;
    if (type == PlainType::kString && is_bits) return ApplyToString(at, op, outcome, ticket);
    if (type == PlainType::kString || (type == PlainType::kSet && is_bits) ||
        (type == PlainType::kBits && !is_bits)) {
      outcome->error = StatusCode::kWrongType;
      return Need::Done();
    }
    if (op.is_text) return ApplyToText(at, op, outcome, ticket);
  }
  if (!metric_known) {  // a name that became known while the entity was loaded
    const auto found = state_->catalog.FindMetric(op.key.metric);
    metric_known = found.has_value();
    metric = found.value_or(0);
  }
  MetricSet* set = at.entity != nullptr && metric_known ? at.entity->FindSet(metric) : nullptr;
  if (set != nullptr) {
    if (const auto absent = set->set.FirstAbsent({op.uid, op.uid}))
      return Need::Chunk(metric, *absent);
  }
  const bool before = set != nullptr && set->set.Contains(op.uid);
  const bool after = op.kind == FactOpKind::kHas      ? before
                     : op.kind == FactOpKind::kToggle ? !before
                                                      : op.kind == FactOpKind::kSet;
  outcome->before = before;
  outcome->after = after;
  outcome->cardinality = set != nullptr ? set->set.cardinality() : 0;
  if (before == after) {
    if (plain && at.entity != nullptr && metric_known && metric == kSetMetric) {
      outcome->cardinality = PlainMembers(*at.entity);
    }
    // SETBIT k 100 0 makes a bitmap of 13 bytes: a change of length is a change.
    if (plain && writes && op.key.metric == kPlainBitsMetric) {
      const uint64_t bytes = op.uid / 8 + 1;
      const bool grows =
          at.entity == nullptr || !at.entity->plain() || at.entity->plain()->bits_bytes < bytes;
      if (grows) {
        PlainState& state = Create(at, kNoSlot).MakePlain();
        state.type = PlainType::kBits;
        state.bits_bytes = bytes;
        Event event;
        event.kind = EventKind::kPlainLength;
        event.metric = kBitsMetric;
        event.uid = bytes;
        Push(at, event, ticket);
        return Need::Done();
      }
    }
    NoteRead(at, ticket);
    return Need::Done();
  }
  // Checked here, because a wipe, which makes ordinals invalid, holds this shard's mutex too.
  if (at.etype.ids != nullptr && after && !at.etype.ids->Valid(op.uid)) {
    outcome->error = StatusCode::kInvalidArgument;
    return Need::Done();
  }
  Entity& entity = Create(at, SlotOf(at.etype, EventKind::kFlip, metric));
  MetricSet& changed = entity.SetFor(metric);
  const bool flipped = after ? changed.set.Add(op.uid) : changed.set.Remove(op.uid);
  TALLY_ASSERT(flipped);
  changed.JoinLabels(op.labels);
  changed.ForgetIfEmpty();
  outcome->cardinality = changed.set.cardinality();
  if (plain) {
    if (metric == kSetMetric) outcome->cardinality = PlainMembers(entity);
    NotePlainFlip(entity, metric, op.uid);
    if (entity.plain()->type == PlainType::kNone) SetExpiry(at.shard, entity, 0);
  }
  Event event;
  event.kind = EventKind::kFlip;
  event.metric = metric;
  event.label_any = op.labels.any;
  event.label_first = op.labels.first;
  event.uid = op.uid;
  event.delta = after ? 1 : -1;
  Push(at, event, ticket);
  return Need::Done();
}

WritePath::Need WritePath::ApplyToText(Located& at, const FactOp& op, FactOutcome* outcome,
                                       Ticket* ticket) {
  const bool before = at.entity != nullptr && at.entity->plain() != nullptr &&
                      at.entity->plain()->texts != nullptr &&
                      at.entity->plain()->texts->Contains(op.text);
  const bool after = op.kind == FactOpKind::kHas      ? before
                     : op.kind == FactOpKind::kToggle ? !before
                                                      : op.kind == FactOpKind::kSet;
  outcome->before = before;
  outcome->after = after;
  if (before != after) {
    Entity& entity = Create(at, kNoSlot);
    TextSet& texts = MakeTexts(state_->catalog, entity);
    TALLY_ASSERT(after ? texts.Add(op.text) : texts.Remove(op.text));
    NotePlainFlip(entity, kSetMetric, 0);
    if (entity.plain()->type == PlainType::kNone) SetExpiry(at.shard, entity, 0);
    MembersChange change;
    (after ? change.added : change.removed).push_back(op.text);
    Event event;
    event.kind = EventKind::kMembersChange;
    event.metric = kSetMetric;
    event.delta = after ? 1 : -1;
    event.payload = new std::string;
    EncodeMembersChange(change, event.payload);
    Push(at, event, ticket);
  } else {
    NoteRead(at, ticket);
  }
  outcome->cardinality = at.entity != nullptr ? PlainMembers(*at.entity) : 0;
  return Need::Done();
}

// A bit of a plain string: the string changes as a whole, in O(its length).
WritePath::Need WritePath::ApplyToString(Located& at, const FactOp& op, FactOutcome* outcome,
                                         Ticket* ticket) {
  PlainState& plain = *at.entity->plain();
  const bool before = StringBit(plain.value, op.uid);
  const bool after = op.kind == FactOpKind::kHas      ? before
                     : op.kind == FactOpKind::kToggle ? !before
                                                      : op.kind == FactOpKind::kSet;
  outcome->before = before;
  outcome->after = after;
  const bool grows = op.kind != FactOpKind::kHas && op.uid / 8 >= plain.value.size();
  if (before != after || grows) {
    std::string value = plain.value;
    SetStringBit(&value, op.uid, after);
    BecomePlainString(*at.entity, value, plain.expire_at_ms);
    Event event;
    event.kind = EventKind::kPlainString;
    event.uid = plain.expire_at_ms;
    event.payload = new std::string(std::move(value));
    Push(at, event, ticket);
  } else {
    NoteRead(at, ticket);
  }
  outcome->cardinality = StringBits(plain.value, {});
  return Need::Done();
}

Result<uint64_t> WritePath::ClearRange(const FactKey& key, UidRange range, int32_t busy_timeout_ms,
                                       Ticket* ticket) {
  if (Status s = CheckFactKey(key); !s.ok()) return Fail(std::move(s));
  if (range.first > range.last) return 0;
  uint64_t cleared = 0;
  Status wrong;
  const Status status = WithEntity(key.entity(), true, busy_timeout_ms, [&](Located& at) -> Need {
    const auto metric = state_->catalog.FindMetric(key.metric);
    if (at.etype.id == kPlainEtype) ExpireIfDue(at, NowMs());
    MetricSet* set = at.entity != nullptr && metric ? at.entity->FindSet(*metric) : nullptr;
    if (set == nullptr || set->set.empty()) {
      if (at.entity != nullptr && at.entity->plain() &&
          at.entity->plain()->type == PlainType::kString) {
        wrong = Status::Error(StatusCode::kWrongType, "the key holds a string");
      }
      NoteRead(at, ticket);
      return Need::Done();
    }
    if (!committer_->HasRoom(at.shard)) return Need::Room();
    if (const auto absent = set->set.FirstAbsent(range)) return Need::Chunk(*metric, *absent);
    if (set->set.CardinalityIn(range) == 0) {
      NoteRead(at, ticket);
      return Need::Done();
    }
    Entity& entity = Create(at, SlotOf(at.etype, EventKind::kBulkClear, *metric));
    set = entity.FindSet(*metric);
    std::vector<uint64_t> removed;
    cleared = set->set.RemoveRange(range, &removed);
    set->ForgetIfEmpty();
    if (at.etype.id == kPlainEtype) {
      NotePlainFlip(entity, *metric, removed.back());
      if (entity.plain()->type == PlainType::kNone) SetExpiry(at.shard, entity, 0);
    }
    Event event;
    event.kind = EventKind::kBulkClear;
    event.metric = *metric;
    event.delta = -static_cast<int64_t>(cleared);
    event.payload = new std::string;
    EncodeUids(removed, event.payload);
    Push(at, event, ticket);
    return Need::Done();
  });
  if (!status.ok()) return Fail(status);
  if (!wrong.ok()) return Fail(wrong);
  return cleared;
}

// ---- Counters
// ------------------------------------------------------------------------------------

Result<int64_t> WritePath::AddToCounter(const EntityKey& key, std::string_view slot_name,
                                        int64_t delta, int32_t busy_timeout_ms, Ticket* ticket) {
  if (Status s = CheckEntityKey(key); !s.ok()) return Fail(std::move(s));
  int64_t result = 0;
  Status refused;
  const Status status = WithEntity(key, true, busy_timeout_ms, [&](Located& at) -> Need {
    const auto name = state_->catalog.FindMetric(slot_name);
    const uint8_t slot = name ? at.etype.slot_of_name[*name] : kNoSlot;
    if (slot == kNoSlot || !(*at.etype.slots)[slot].has_counter) {
      refused = Invalid(slot == kNoSlot ? "the entity type has no slot of this name"
                                        : "the slot counts facts only and has no counter part");
      return Need::Done();
    }
    if (!committer_->HasRoom(at.shard)) return Need::Room();
    SlotSums sums[kSlotsMax];
    if (at.entity != nullptr) SumsFromFacts(at.etype, *at.entity, sums);
    int64_t counter = 0;
    if (__builtin_add_overflow(sums[slot].counter_part, delta, &counter) ||
        __builtin_add_overflow(sums[slot].value, delta, &result)) {
      refused = Status::Error(StatusCode::kOverflow, "increment or decrement would overflow");
      return Need::Done();
    }
    if (delta == 0) {
      NoteRead(at, ticket);
      return Need::Done();
    }
    Create(at, slot).SetCounter(*name, counter);
    Event event;
    event.kind = EventKind::kCounter;
    event.metric = *name;
    event.delta = delta;
    Push(at, event, ticket);
    return Need::Done();
  });
  if (!status.ok()) return Fail(status);
  if (!refused.ok()) return Fail(refused);
  return result;
}

Status WritePath::Rebuild(const EntityKey& key, int32_t busy_timeout_ms, Ticket* ticket,
                          Counts* before) {
  if (Status s = CheckEntityKey(key); !s.ok()) return s;
  Status damaged;
  const Status status = WithEntity(key, true, busy_timeout_ms, [&](Located& at) -> Need {
    if (at.entity == nullptr || at.etype.slots->empty()) return Need::Done();
    if (!committer_->HasRoom(at.shard)) return Need::Room();
    for (const MetricSet& set : at.entity->sets()) {
      if (const auto absent = set.set.FirstAbsent({})) return Need::Chunk(set.metric, *absent);
    }
    for (const MetricSet& set : at.entity->sets()) {
      // Recounts the members: the kept cardinality is only believed when it proves right.
      if (!set.set.IsValid())
        damaged = Status::Error(StatusCode::kCorruption, "a fact set is damaged in memory");
    }
    if (!damaged.ok()) return Need::Done();
    at.shard.mutex.AssumeHeld();
    const CountRecord now = RecordOf(at.etype, *at.entity, at.shard.sequence);
    before->slots = now.slots;
    before->values = now.values;
    before->sequence = now.sequence;
    Create(at, kNoSlot);
    OpenAllSlots(at.etype, *at.entity);
    SlotSums sums[kSlotsMax];
    SumsFromFacts(at.etype, *at.entity, sums);
    std::vector<ResetSlot> slots;
    for (uint32_t i = 0; i < now.slots; ++i) {
      slots.push_back(ResetSlot{(*at.etype.slots)[i].name, sums[i].value - sums[i].counter_part,
                                sums[i].counter_part});
    }
    Event event;
    event.kind = EventKind::kReset;
    event.payload = new std::string;
    EncodeReset(slots, event.payload);
    Push(at, event, ticket);
    return Need::Done();
  });
  return status.ok() ? damaged : status;
}

void WritePath::WipeShard(uint32_t shard_index) TALLY_NO_THREAD_SAFETY_ANALYSIS {
  Shard& shard = state_->shard(shard_index);
  Partition& p = state_->PartitionOf(shard_index);
  shard.expiries.clear();
  for (SetWatch* watch : shard.watches) watch->overrun = true;
  std::vector<Entity*> gone;
  shard.table.ForEach([&](Entity* e) {
    e->Adopt(FactState());
    const bool loading = e->residency() == Residency::kLoading;
    if (!loading) e->set_residency(Residency::kResident);
    Activity* activity = e->activity();
    if (activity != nullptr) {
      activity->tail.reset();
      activity->record_healed = false;
      if (activity->pins == 0) activity->bucket.Close();
      if (activity->pins != 0 || activity->holds != 0) return;
    }
    if (!loading) gone.push_back(e);
  });
  for (Entity* e : gone) shard.table.Erase(e);
  Event event;
  event.kind = EventKind::kWipe;
  event.shard = shard_index;
  event.sequence = ++shard.sequence;
  shard.wipe_sequence = event.sequence;
  if (!shard.index_complete) {  // what the store holds does not exist any more
    shard.index_complete = true;
    state_->shards_indexed.fetch_add(1);
  }
  // Past the bound by one, which the queue's own limit leaves room for.
  shard.in_flight.fetch_add(1, std::memory_order_relaxed);
  p.ring.Push(shard_index - p.first_shard, event);
}

}  // namespace tallystick
