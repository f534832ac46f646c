// SRANDMEMBER, SPOP, SMOVE; SINTER, SUNION, SDIFF, their STORE forms, SINTERCARD; and the same on
// facts under their own names.
#include <algorithm>

#include "server/commands/handlers.h"
#include "server/commands/key_access.h"
#include "server/commands/set_view.h"
#include "server/error_reply.h"
#include "server/key_templates.h"
#include "server/resp/number.h"

namespace tallystick::server {

namespace {

// Of all sets together: more is done on a worker thread.
constexpr uint64_t kInlineMembersMax = 4096;
constexpr uint64_t kMembersMax = kReplyBytesLimit / 27;  // "$20", CR LF, 20 digits, CR LF
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

// The sets behind keys[0], keys[1] ...
Status ResolveSets(CommandContext& c, std::span<const std::string_view> names,
                   std::vector<FactKey>* keys) {
  for (std::string_view name : names) {
    const Result<SetView> set = ResolveSetForRead(c, name);
    if (!set) return set.error();
    keys->push_back(set->key);
  }
  return {};
}

// Up to `limit` members of a combination. False: more than a reply may hold.
Result<bool> Gather(CommandContext& c, SetOp op, std::span<const FactKey> keys, uint64_t limit,
                    std::vector<uint64_t>* uids) {
  std::optional<uint64_t> from = 0;
  while (from && uids->size() < limit) {
    const auto next = c.engine().Combine(
        op, keys, *from, std::min<uint64_t>(kPageMembers, limit - uids->size()), uids, c.ticket);
    if (!next) return Fail(next.error());
    from = *next;
    if (uids->size() > kMembersMax) return false;
  }
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
  return limit == 0 ? count : std::min(count, limit);
}

Flow ReplyCombined(CommandContext& c, SetOp op, std::span<const FactKey> keys, uint64_t limit,
                   bool as_set) {
  const Result<bool> large = IsLarge(c, keys);
  if (!large) return c.Fail(large.error());
  if (*large && !c.slow_lane) return Flow::kSlowLane;
  std::vector<uint64_t> uids;
  const Result<bool> fits = Gather(c, op, keys, limit, &uids);
  if (!fits) return c.Fail(fits.error());
  if (!*fits) return c.Error(error::kReplyTooLarge);
  if (as_set) {
    c.reply().Set(uids.size());
  } else {
    c.reply().Array(uids.size());
  }
  for (uint64_t uid : uids) c.writer.BulkNumber(uid);
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
  if (count_only) return ReplyCount(c, keys, limit);
  return ReplyCombined(c, op, keys, limit == 0 ? UINT64_MAX : limit, false);
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
  const Result<uint64_t> members = c.engine().Cardinality(set->key, {}, c.ticket);
  if (!members) return c.Fail(members.error());
  const uint64_t answers = count < 0 && *members > 0 ? wanted : std::min(wanted, *members);
  if (answers > kMembersMax) return c.Error(error::kReplyTooLarge);
  if (answers > kInlineMembersMax && !c.slow_lane) return Flow::kSlowLane;
  std::vector<uint64_t> uids;
  const Status status = c.engine().Sample(set->key, wanted, count > 0, &uids, c.ticket);
  if (!status.ok()) return c.Fail(status);
  if (c.argc() == 2) {
    if (uids.empty()) {
      c.reply().Null();
    } else {
      c.reply().BulkNumber(uids.front());
    }
    return Flow::kNext;
  }
  c.reply().Array(uids.size());
  for (uint64_t uid : uids) c.writer.BulkNumber(uid);
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
    const Result<uint64_t> members = c.engine().Cardinality(set->key, {}, c.ticket);
    if (!members) return c.Fail(members.error());
    if (std::min(count, *members) > kMembersMax) return c.Error(error::kReplyTooLarge);
    if (*members > kInlineMembersMax && !c.slow_lane) return Flow::kSlowLane;
  }
  std::vector<uint64_t> uids;
  const Status status =
      c.engine().TakeRandom(set->key, count, &uids, CommandContext::Deferred(), c.ticket);
  if (!status.ok()) return c.Fail(status);
  if (c.argc() == 2) {
    if (uids.empty()) {
      c.reply().Null();
    } else {
      c.reply().BulkNumber(uids.front());
    }
    return Flow::kNext;
  }
  c.reply().Set(uids.size());
  for (uint64_t uid : uids) c.writer.BulkNumber(uid);
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
  const std::optional<uint64_t> uid = ParseUint64(c.args[3]);
  if (!uid) {
    c.reply().Integer(0);
    return Flow::kNext;
  }
  const Result<bool> member = c.engine().Has(from->key, *uid);
  if (!member) return c.Fail(member.error());
  const bool same = c.args[1] == c.args[2];
  if (*member && !same) {
    // Added first: a crash between the two leaves the member in both sets rather than in none.
    const FactOp ops[] = {
        {.kind = FactOpKind::kSet, .labels = MemberLabels(to->view), .key = to->key, .uid = *uid},
        {.kind = FactOpKind::kClear, .labels = {}, .key = from->key, .uid = *uid}};
    for (const FactOp& op : ops) {
      FactOutcome outcome;
      const Status status =
          c.engine().Apply({&op, 1}, {&outcome, 1}, CommandContext::Deferred(), c.ticket);
      if (!status.ok()) return c.Fail(status);
      if (outcome.error != StatusCode::kOk) return c.Fail(Status::Error(outcome.error, ""));
    }
  }
  c.reply().Integer(*member ? 1 : 0);
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
