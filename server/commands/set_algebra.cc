// SRANDMEMBER, SPOP, SMOVE; SINTER, SUNION, SDIFF, their STORE forms, SINTERCARD; and the same on
// facts under their own names.
#include <algorithm>

#include "server/commands/handlers.h"
#include "server/commands/key_access.h"
#include "server/commands/set_view.h"
#include "server/commands/user_ids.h"
#include "server/error_reply.h"
#include "server/key_templates.h"
#include "server/resp/number.h"
#include "server/server_state.h"

namespace tallystick::server {

namespace {

// Of all sets together: more is done on a worker thread.
constexpr uint64_t kInlineMembersMax = 4096;
constexpr size_t kPageMembers = 1u << 16;

Result<bool> IsLarge(CommandContext& c, std::span<const FactKey> keys) {
  uint64_t members = 0;
  for (const FactKey& key : keys) {
    const Result<uint64_t> card = c.engine().Cardinality(key, {}, c.ticket);
    if (!card) return Fail(card.error());
    members += *card;
  }
  return members > kInlineMembersMax;
}

// Members of different namespaces of ids have nothing in common, though their uids may be equal.
Status CheckComparable(CommandContext& c, std::span<const FactKey> keys) {
  for (const FactKey& key : keys) {
    if (c.server.engine().IdNamespace(key.etype) !=
        c.server.engine().IdNamespace(keys.front().etype)) {
      return Status::Error(StatusCode::kInvalidArgument,
                           "members of these keys are ids of different namespaces");
    }
  }
  return {};
}

// The sets behind keys[0], keys[1] ...
Status ResolveSets(CommandContext& c, std::span<const std::string_view> names,
                   std::vector<FactKey>* keys) {
  for (std::string_view name : names) {
    const Result<SetView> set = ResolveSetForRead(c, name);
    if (!set) return set.error();
    keys->push_back(set->key);
  }
  return CheckComparable(c, *keys);
}

// Up to `limit` members of a combination. False: more than a reply may hold.
Result<bool> Gather(CommandContext& c, SetOp op, std::span<const FactKey> keys, uint64_t limit,
                    Members* members) {
  std::optional<uint64_t> from = 0;
  while (from && members->size() < limit) {
    const auto next = c.engine().Combine(op, keys, *from,
                                         std::min<uint64_t>(kPageMembers, limit - members->size()),
                                         &members->uids, c.ticket);
    if (!next) return Fail(next.error());
    from = *next;
    if (members->uids.size() > kMembersMax) return false;
  }
  ReplyRoom room;
  from = 0;
  while (from && members->size() < limit) {
    const auto next =
        c.engine().CombineTexts(op, keys, *from, kPageMembers, &members->texts, c.ticket);
    if (!next) return Fail(next.error());
    from = *next;
    if (!room.Fits(*members)) return false;
  }
  if (members->size() > limit) members->texts.resize(limit - members->uids.size());
  return true;
}

Result<uint64_t> CountInter(CommandContext& c, std::span<const FactKey> keys, uint64_t limit) {
  uint64_t count = 0;
  std::vector<uint64_t> uids;
  std::optional<uint64_t> from = 0;
  while (from && (limit == 0 || count < limit)) {
    uids.clear();
    const auto next = c.engine().Combine(SetOp::kInter, keys, *from, kPageMembers, &uids, c.ticket);
    if (!next) return Fail(next.error());
    from = *next;
    count += uids.size();
  }
  std::vector<std::string> texts;
  from = 0;
  while (from && (limit == 0 || count < limit)) {
    texts.clear();
    const auto next =
        c.engine().CombineTexts(SetOp::kInter, keys, *from, kPageMembers, &texts, c.ticket);
    if (!next) return Fail(next.error());
    from = *next;
    count += texts.size();
  }
  return limit == 0 ? count : std::min(count, limit);
}

Flow ReplyCombined(CommandContext& c, SetOp op, std::span<const FactKey> keys, uint64_t limit,
                   bool as_set) {
  const Result<bool> large = IsLarge(c, keys);
  if (!large) return c.Fail(large.error());
  if (*large && !c.slow_lane) return Flow::kSlowLane;
  Members members;
  const Result<bool> fits = Gather(c, op, keys, limit, &members);
  if (!fits) return c.Fail(fits.error());
  if (!*fits) return c.Error(error::kReplyTooLarge);
  if (Status s = NameMembers(c, keys.front(), &members); !s.ok()) return c.Fail(s);
  if (!ReplyRoom().Fits(members)) return c.Error(error::kReplyTooLarge);
  if (as_set) {
    c.reply().Set(members.size());
  } else {
    c.reply().Array(members.size());
  }
  WriteMembers(&c.writer, members);
  return Flow::kNext;
}

Flow ReplyCount(CommandContext& c, std::span<const FactKey> keys, uint64_t limit) {
  const Result<bool> large = IsLarge(c, keys);
  if (!large) return c.Fail(large.error());
  if (*large && !c.slow_lane) return Flow::kSlowLane;
  const Result<uint64_t> count = CountInter(c, keys, limit);
  if (!count) return c.Fail(count.error());
  c.reply().Unsigned(*count);
  return Flow::kNext;
}

Flow CombineSets(CommandContext& c, SetOp op) {
  std::vector<FactKey> keys;
  const Status status = ResolveSets(c, c.args.subspan(1), &keys);
  if (!status.ok()) return c.Fail(status);
  return ReplyCombined(c, op, keys, UINT64_MAX, true);
}

Flow StoreSets(CommandContext& c, SetOp op) {
  const Result<KeyView> view = ResolveKey(c, c.args[1]);
  if (!view) return c.Fail(view.error());
  std::vector<FactKey> keys;
  const Status status = ResolveSets(c, c.args.subspan(2), &keys);
  if (!status.ok()) return c.Fail(status);
  const std::optional<FactKey> target = SetOf(*view);
  if (!target) return c.Error(error::kWrongType);
  keys.push_back(*target);
  for (const FactKey& key : keys) {
    if (HasIds(c, key)) return c.Error(error::kStoreOfIds);
  }
  keys.pop_back();
  const Result<bool> large = IsLarge(c, keys);
  if (!large) return c.Fail(large.error());
  if (*large && !c.slow_lane) return Flow::kSlowLane;
  const Result<uint64_t> members = c.engine().StoreCombined(op, keys, *target, MemberLabels(*view),
                                                            CommandContext::Deferred(), c.ticket);
  if (!members) return c.Fail(members.error());
  c.reply().Unsigned(*members);
  return Flow::kNext;
}

// numkeys key [key ...] [LIMIT n] from args[1] on; empty text: fine, else the error.
std::string_view ParseCounted(const CommandContext& c, size_t* keys, uint64_t* limit) {
  const std::optional<int64_t> numkeys = ParseInt64(c.args[1]);
  if (!numkeys || *numkeys < 1) return error::kNumkeysZero;
  if (static_cast<uint64_t>(*numkeys) > c.argc() - 2) return error::kNumkeysTooMany;
  *keys = static_cast<size_t>(*numkeys);
  for (size_t i = 2 + *keys; i < c.argc(); i += 2) {
    if (!c.Is(i, "LIMIT") || i + 1 == c.argc()) return error::kSyntax;
    const std::optional<int64_t> given = ParseInt64(c.args[i + 1]);
    if (!given || *given < 0) return error::kLimitNegative;
    *limit = static_cast<uint64_t>(*given);
  }
  return {};
}

// FACT.INTER and the like: fact keys.
Flow CombineFacts(CommandContext& c, SetOp op, bool count_only) {
  size_t count = 0;
  uint64_t limit = 0;
  const std::string_view wrong = ParseCounted(c, &count, &limit);
  if (!wrong.empty()) return c.Error(wrong);
  std::vector<FactKey> keys;
  for (std::string_view name : c.args.subspan(2, count)) {
    const std::optional<FactKey> key = ParseFactKey(name);
    if (!key) return c.Error(error::kFactKey);
    keys.push_back(*key);
  }
  if (Status s = CheckComparable(c, keys); !s.ok()) return c.Fail(s);
  if (count_only) return ReplyCount(c, keys, limit);
  return ReplyCombined(c, op, keys, limit == 0 ? UINT64_MAX : limit, false);
}

}  // namespace

namespace {

Flow ReplyOne(CommandContext& c, const Members& members) {
  if (members.size() == 0) {
    c.reply().Null();
  } else if (members.uids.empty()) {
    c.reply().Bulk(members.texts.front());
  } else {
    c.reply().BulkNumber(members.uids.front());
  }
  return Flow::kNext;
}

}  // namespace

Flow SRandMember(CommandContext& c) {
  if (c.argc() > 3) return c.Error(error::kSyntax);
  int64_t count = 1;
  if (c.argc() == 3) {
    const std::optional<int64_t> given = ParseInt64(c.args[2]);
    if (!given) return c.Error(error::kNotInteger);
    if (*given == INT64_MIN) return c.Error(error::kRange);
    count = *given;
  }
  const Result<SetView> set = ResolveSetForRead(c, c.args[1]);
  if (!set) return c.Fail(set.error());
  const uint64_t wanted = static_cast<uint64_t>(count < 0 ? -count : count);
  const Result<uint64_t> size = c.engine().Cardinality(set->key, {}, c.ticket);
  if (!size) return c.Fail(size.error());
  const uint64_t answers = count < 0 && *size > 0 ? wanted : std::min(wanted, *size);
  if (answers > kMembersMax) return c.Error(error::kReplyTooLarge);
  if (answers > kInlineMembersMax && !c.slow_lane) return Flow::kSlowLane;
  Members members;
  const Status status = c.engine().Sample(set->key, wanted, count > 0, &members, c.ticket);
  if (!status.ok()) return c.Fail(status);
  if (Status s = NameMembers(c, set->key, &members); !s.ok()) return c.Fail(s);
  if (!ReplyRoom().Fits(members)) return c.Error(error::kReplyTooLarge);
  if (c.argc() == 2) return ReplyOne(c, members);
  c.reply().Array(members.size());
  WriteMembers(&c.writer, members);
  return Flow::kNext;
}

Flow SPop(CommandContext& c) {
  if (c.argc() > 3) return c.Error(error::kSyntax);
  uint64_t count = 1;
  if (c.argc() == 3) {
    const std::optional<int64_t> given = ParseInt64(c.args[2]);
    if (!given || *given < 0) return c.Error(error::kNotPositive);
    count = static_cast<uint64_t>(*given);
  }
  const Result<SetView> set = ResolveSetForRead(c, c.args[1]);
  if (!set) return c.Fail(set.error());
  if (count > kInlineMembersMax) {
    const Result<uint64_t> size = c.engine().Cardinality(set->key, {}, c.ticket);
    if (!size) return c.Fail(size.error());
    if (std::min(count, *size) > kMembersMax) return c.Error(error::kReplyTooLarge);
    if (*size > kInlineMembersMax && !c.slow_lane) return Flow::kSlowLane;
  }
  Members members;
  const Status status =
      c.engine().TakeRandom(set->key, count, &members, CommandContext::Deferred(), c.ticket);
  if (!status.ok()) return c.Fail(status);
  if (Status s = NameMembers(c, set->key, &members); !s.ok()) return c.Fail(s);
  if (c.argc() == 2) return ReplyOne(c, members);
  c.reply().Set(members.size());
  WriteMembers(&c.writer, members);
  return Flow::kNext;
}

Flow SMove(CommandContext& c) {
  const Result<SetView> from = ResolveSetForRead(c, c.args[1]);
  if (!from) return c.Fail(from.error());
  const Result<uint64_t> members = c.engine().Cardinality(from->key, {}, c.ticket);
  if (!members) return c.Fail(members.error());
  if (*members == 0) {
    c.reply().Integer(0);
    return Flow::kNext;
  }
  const Result<SetView> to = ResolveSetForRead(c, c.args[2]);
  if (!to) return c.Fail(to.error());
  const std::string_view member = c.args[3];
  const auto may_have = [&](const SetView& set) {
    return set.view.face == Face::kPlain || HasIds(c, set.key) || ParseUint64(member);
  };
  if (!may_have(*from)) {
    c.reply().Integer(0);
    return Flow::kNext;
  }
  // The operation on the member of one of the sets, under the number that it has there.
  const auto op_on = [&](FactOpKind kind, const SetView& set, SetLabels labels) -> Result<FactOp> {
    if (!HasIds(c, set.key)) return MemberOp(kind, labels, set.key, member);
    const auto uids = UidsOf(c, set.key, {&member, 1}, kind == FactOpKind::kSet);
    if (!uids) return Fail(uids.error());
    return FactOp{.kind = kind, .labels = labels, .key = set.key, .uid = (*uids)->front()};
  };
  const Result<FactOp> has = op_on(FactOpKind::kHas, *from, {});
  if (!has) return c.Fail(has.error());
  FactOutcome held;
  const Status status =
      c.engine().Apply({&*has, 1}, {&held, 1}, CommandContext::Deferred(), c.ticket);
  if (!status.ok()) return c.Fail(status);
  if (held.error != StatusCode::kOk) return c.Fail(Status::Error(held.error, ""));
  bool moved = held.before;
  if (held.before && c.args[1] != c.args[2]) {
    if (!may_have(*to)) return c.Error(error::kMember);
    const Result<FactOp> put = op_on(FactOpKind::kSet, *to, MemberLabels(to->view));
    if (!put) return c.Fail(put.error());
    const Result<bool> done = c.engine().Move(*has, *put, CommandContext::Deferred(), c.ticket);
    if (!done) return c.Fail(done.error());
    moved = *done;
  }
  c.reply().Integer(moved ? 1 : 0);
  return Flow::kNext;
}

Flow SInter(CommandContext& c) {
  return CombineSets(c, SetOp::kInter);
}
Flow SUnion(CommandContext& c) {
  return CombineSets(c, SetOp::kUnion);
}
Flow SDiff(CommandContext& c) {
  return CombineSets(c, SetOp::kDiff);
}
Flow SInterStore(CommandContext& c) {
  return StoreSets(c, SetOp::kInter);
}
Flow SUnionStore(CommandContext& c) {
  return StoreSets(c, SetOp::kUnion);
}
Flow SDiffStore(CommandContext& c) {
  return StoreSets(c, SetOp::kDiff);
}

Flow SInterCard(CommandContext& c) {
  size_t count = 0;
  uint64_t limit = 0;
  const std::string_view wrong = ParseCounted(c, &count, &limit);
  if (!wrong.empty()) return c.Error(wrong);
  std::vector<FactKey> keys;
  const Status status = ResolveSets(c, c.args.subspan(2, count), &keys);
  if (!status.ok()) return c.Fail(status);
  return ReplyCount(c, keys, limit);
}

Flow FactInter(CommandContext& c) {
  return CombineFacts(c, SetOp::kInter, false);
}
Flow FactUnion(CommandContext& c) {
  return CombineFacts(c, SetOp::kUnion, false);
}
Flow FactDiff(CommandContext& c) {
  return CombineFacts(c, SetOp::kDiff, false);
}
Flow FactInterCard(CommandContext& c) {
  return CombineFacts(c, SetOp::kInter, true);
}

}  // namespace tallystick::server
