// Sets: plain ones, and the set face of likes, whose members are all uids.
#include <algorithm>

#include "server/commands/handlers.h"
#include "server/commands/key_access.h"
#include "server/commands/member_scan.h"
#include "server/commands/set_view.h"
#include "server/commands/user_ids.h"
#include "server/error_reply.h"
#include "server/glob.h"
#include "server/resp/number.h"
#include "server/server_state.h"

namespace tallystick::server {

namespace {

// Sets larger than this are read on a worker thread.
constexpr uint64_t kInlineMembersMax = 4096;

// Whether the set may have all these: the face of likes whose uids are numbers has numbers only.
bool MayHave(CommandContext& c, const SetView& set, std::span<const std::string_view> members) {
  return set.view.face == Face::kPlain || HasIds(c, set.key) ||
         std::all_of(members.begin(), members.end(),
                     [](std::string_view member) { return ParseUint64(member).has_value(); });
}

Flow AddMembers(CommandContext& c, const SetView& set, std::span<const std::string_view> members,
                FactOpKind kind, FactBatch::Reply reply) {
  const bool write = kind != FactOpKind::kHas;
  const SetLabels labels = kind == FactOpKind::kSet ? MemberLabels(set.view) : SetLabels{};
  if (HasIds(c, set.key)) {
    const auto uids = UidsOf(c, set.key, members, kind == FactOpKind::kSet);
    if (!uids) return c.Fail(uids.error());
    c.batch.Open(reply, members.size(), write);
    for (const uint64_t uid : **uids) {
      c.batch.Add({.kind = kind, .labels = labels, .key = set.key, .uid = uid});
    }
    return Flow::kNext;
  }
  c.batch.Open(reply, members.size(), write);
  for (std::string_view member : members) c.batch.Add(MemberOp(kind, labels, set.key, member));
  return Flow::kNext;
}

// SREM, SISMEMBER, SMISMEMBER of likes with members that are no uids: those cannot be in the set.
// `outcome` gets the bit (or, for SREM, whether it changed) of each member, in order.
Status RunMixed(CommandContext& c, const SetView& set, std::span<const std::string_view> members,
                FactOpKind kind, std::vector<bool>* outcome) {
  const Result<SetView> typed = ResolveSetForRead(c, c.args[1]);
  if (!typed) return typed.error();
  for (std::string_view member : members) {
    const std::optional<uint64_t> uid = ParseUint64(member);
    if (!uid) {
      outcome->push_back(false);
      continue;
    }
    const FactOp op{.kind = kind, .labels = {}, .key = set.key, .uid = *uid};
    FactOutcome one;
    const Status status =
        c.engine().Apply({&op, 1}, {&one, 1}, CommandContext::Deferred(), c.ticket);
    if (!status.ok()) return status;
    if (one.error != StatusCode::kOk) return Status::Error(one.error, "");
    outcome->push_back(one.before);
  }
  return {};
}

}  // namespace

Flow SAdd(CommandContext& c) {
  const Result<SetView> set = ResolveSet(c, c.args[1]);
  if (!set) return c.Fail(set.error());
  const auto members = c.args.subspan(2);
  if (!MayHave(c, *set, members)) return c.Error(error::kMember);
  return AddMembers(c, *set, members, FactOpKind::kSet, FactBatch::Reply::kChanged);
}

Flow SRem(CommandContext& c) {
  const Result<SetView> set = ResolveSet(c, c.args[1]);
  if (!set) return c.Fail(set.error());
  const auto members = c.args.subspan(2);
  if (MayHave(c, *set, members)) {
    return AddMembers(c, *set, members, FactOpKind::kClear, FactBatch::Reply::kChanged);
  }
  std::vector<bool> removed;
  const Status status = RunMixed(c, *set, members, FactOpKind::kClear, &removed);
  if (!status.ok()) return c.Fail(status);
  c.reply().Integer(std::count(removed.begin(), removed.end(), true));
  return Flow::kNext;
}

Flow SIsMember(CommandContext& c) {
  const Result<SetView> set = ResolveSet(c, c.args[1]);
  if (!set) return c.Fail(set.error());
  const auto members = c.args.subspan(2);
  if (MayHave(c, *set, members)) {
    return AddMembers(c, *set, members, FactOpKind::kHas, FactBatch::Reply::kBefore);
  }
  std::vector<bool> bits;
  const Status status = RunMixed(c, *set, members, FactOpKind::kHas, &bits);
  if (!status.ok()) return c.Fail(status);
  c.reply().Integer(0);
  return Flow::kNext;
}

Flow SMIsMember(CommandContext& c) {
  const Result<SetView> set = ResolveSet(c, c.args[1]);
  if (!set) return c.Fail(set.error());
  const auto members = c.args.subspan(2);
  if (MayHave(c, *set, members)) {
    return AddMembers(c, *set, members, FactOpKind::kHas, FactBatch::Reply::kBits);
  }
  std::vector<bool> bits;
  const Status status = RunMixed(c, *set, members, FactOpKind::kHas, &bits);
  if (!status.ok()) return c.Fail(status);
  c.reply().Array(bits.size());
  for (bool bit : bits) c.writer.Integer(bit ? 1 : 0);
  return Flow::kNext;
}

Flow SCard(CommandContext& c) {
  const Result<SetView> set = ResolveSetForRead(c, c.args[1]);
  if (!set) return c.Fail(set.error());
  const Result<uint64_t> members = c.engine().Cardinality(set->key, {}, c.ticket);
  if (!members) return c.Fail(members.error());
  c.reply().Unsigned(*members);
  return Flow::kNext;
}

Flow SMembers(CommandContext& c) {
  const Result<SetView> set = ResolveSetForRead(c, c.args[1]);
  if (!set) return c.Fail(set.error());
  const Result<uint64_t> size = c.engine().Cardinality(set->key, {}, c.ticket);
  if (!size) return c.Fail(size.error());
  if (*size > kMembersMax) return c.Error(error::kReplyTooLarge);
  if (*size > kInlineMembersMax && !c.slow_lane) return Flow::kSlowLane;
  Members members;
  members.uids.reserve(*size);
  // The set may grow meanwhile: stop at the limit, not at the number read above.
  std::optional<uint64_t> from = 0;
  while (from) {
    const auto next = c.engine().Scan(set->key, *from, kInlineMembersMax, &members.uids, c.ticket);
    if (!next) return c.Fail(next.error());
    if (members.uids.size() > kMembersMax) return c.Error(error::kReplyTooLarge);
    from = *next;
  }
  ReplyRoom room;
  from = 0;
  while (from) {
    const auto next =
        c.engine().ScanTexts(set->key, *from, kInlineMembersMax, &members.texts, c.ticket);
    if (!next) return c.Fail(next.error());
    if (!room.Fits(members)) return c.Error(error::kReplyTooLarge);
    from = *next;
  }
  if (Status s = NameMembers(c, set->key, &members); !s.ok()) return c.Fail(s);
  if (!ReplyRoom().Fits(members)) return c.Error(error::kReplyTooLarge);
  c.reply().Set(members.size());
  WriteMembers(&c.writer, members);
  return Flow::kNext;
}

Flow SScan(CommandContext& c) {
  const std::optional<uint64_t> cursor = ParseMemberCursor(c.args[2]);
  if (!cursor) return c.Error(error::kInvalidCursor);
  const Result<SetView> set = ResolveSetForRead(c, c.args[1]);
  if (!set) return c.Fail(set.error());
  uint64_t count = kScanCountDefault;
  std::optional<std::string_view> pattern;
  for (size_t i = 3; i < c.argc(); i += 2) {
    if (c.Is(i, "COUNT") && i + 1 < c.argc()) {
      const std::optional<int64_t> wanted = ParseInt64(c.args[i + 1]);
      if (!wanted) return c.Error(error::kNotInteger);
      if (*wanted < 1) return c.Error(error::kSyntax);
      count = static_cast<uint64_t>(*wanted);
    } else if (c.Is(i, "MATCH") && i + 1 < c.argc()) {
      pattern = c.args[i + 1];
      if (pattern->size() > kPatternBytesMax) return c.Error(error::kPatternTooLong);
    } else {
      return c.Error(error::kSyntax);
    }
  }
  Members members;
  const Result<uint64_t> next = set->view.face == Face::kPlain
                                    ? ScanPlainPage(c, set->key, *cursor, count, &members)
                                    : ScanPage(c, set->key, *cursor, count, &members.uids);
  if (!next) return c.Fail(next.error());
  if (Status s = NameMembers(c, set->key, &members); !s.ok()) return c.Fail(s);
  if (!ReplyRoom().Fits(members)) return c.Error(error::kReplyTooLarge);
  if (pattern) {
    std::erase_if(members.uids,
                  [&pattern](uint64_t uid) { return !GlobMatch(*pattern, std::to_string(uid)); });
    std::erase_if(members.texts,
                  [&pattern](const std::string& text) { return !GlobMatch(*pattern, text); });
  }
  ReplyWriter& out = c.reply();
  out.Array(2);
  out.BulkNumber(*next);
  out.Array(members.size());
  WriteMembers(&out, members);
  return Flow::kNext;
}

}  // namespace tallystick::server
