// FACT.*: facts under their own names, metric:etype:eid.
#include <algorithm>

#include "server/commands/handlers.h"
#include "server/commands/key_access.h"
#include "server/commands/member_scan.h"
#include "server/commands/set_view.h"
#include "server/commands/user_ids.h"
#include "server/error_reply.h"
#include "server/key_templates.h"
#include "server/resp/number.h"
#include "server/server_state.h"

namespace tallystick::server {

namespace {

// Larger sets are read on a worker thread, and larger images too.
constexpr uint64_t kInlineMembersMax = 4096;
constexpr size_t kInlineImageBytesMax = 4096;
constexpr size_t kExportBytesDefault = 1u << 20;
constexpr SetLabels kFactLabels{.any = kLabelChunkFace, .first = 0};

void AddToBatch(CommandContext& c, const FactKey& key, std::span<const uint64_t> uids,
                FactOpKind kind, FactBatch::Reply reply) {
  const bool adds = kind == FactOpKind::kSet || kind == FactOpKind::kToggle;
  c.batch.Open(reply, uids.size(), kind != FactOpKind::kHas);
  for (const uint64_t uid : uids) {
    c.batch.Add({.kind = kind, .labels = adds ? kFactLabels : SetLabels{}, .key = key, .uid = uid});
  }
}

// FACT.ADD and FACT.REM: key [WITHCOUNT] uid [uid ...].
Flow ChangeMany(CommandContext& c, FactOpKind kind) {
  const std::optional<FactKey> key = ParseFactKey(c.args[1]);
  if (!key) return c.Error(error::kFactKey);
  if (c.Is(2, "IDEM")) return c.Error(error::kSyntax);
  const bool with_count = c.Is(2, "WITHCOUNT");
  const auto uids = c.args.subspan(with_count ? 3 : 2);
  if (uids.empty()) return c.Error(ArityError(c.spec.name));
  const bool adds = kind == FactOpKind::kSet;
  if (HasIds(c, *key)) {
    const auto ordinals = UidsOf(c, *key, uids, adds);
    if (!ordinals) return c.Fail(ordinals.error());
    AddToBatch(c, *key, **ordinals, kind,
               with_count ? FactBatch::Reply::kChangedCount : FactBatch::Reply::kChanged);
    return Flow::kNext;
  }
  for (std::string_view uid : uids) {
    if (!ParseUint64(uid)) return c.Error(error::kUid);
  }
  c.batch.Open(with_count ? FactBatch::Reply::kChangedCount : FactBatch::Reply::kChanged,
               uids.size(), true);
  const SetLabels labels = adds ? kFactLabels : SetLabels{};
  for (std::string_view uid : uids) {
    c.batch.Add({.kind = kind, .labels = labels, .key = *key, .uid = *ParseUint64(uid)});
  }
  return Flow::kNext;
}

Flow One(CommandContext& c, FactOpKind kind, FactBatch::Reply reply) {
  const std::optional<FactKey> key = ParseFactKey(c.args[1]);
  if (!key) return c.Error(error::kFactKey);
  if (HasIds(c, *key)) {
    const auto ordinals = UidsOf(c, *key, c.args.subspan(2, 1),
                                 kind == FactOpKind::kSet || kind == FactOpKind::kToggle);
    if (!ordinals) return c.Fail(ordinals.error());
    AddToBatch(c, *key, **ordinals, kind, reply);
    return Flow::kNext;
  }
  const std::optional<uint64_t> uid = ParseUint64(c.args[2]);
  if (!uid) return c.Error(error::kUid);
  AddToBatch(c, *key, {&*uid, 1}, kind, reply);
  return Flow::kNext;
}

// The largest image of one reply: another server with these settings takes it back.
size_t ImageBytesMax(const CommandContext& c) {
  return std::clamp<uint64_t>(c.server.proto_max_bulk_len(), kImageBytesMin, kReplyBytesLimit);
}

void WriteNumber(ReplyWriter* out, std::string_view name, uint64_t value) {
  out->Bulk(name);
  out->Unsigned(value);
}

}  // namespace

Flow FactAdd(CommandContext& c) {
  return ChangeMany(c, FactOpKind::kSet);
}
Flow FactRem(CommandContext& c) {
  return ChangeMany(c, FactOpKind::kClear);
}

Flow FactSet(CommandContext& c) {
  if (c.args[3] != "0" && c.args[3] != "1") return c.Error(error::kBitValue);
  return One(c, c.args[3] == "1" ? FactOpKind::kSet : FactOpKind::kClear,
             FactBatch::Reply::kBefore);
}

Flow FactToggle(CommandContext& c) {
  return One(c, FactOpKind::kToggle, FactBatch::Reply::kToggled);
}

Flow FactHas(CommandContext& c) {
  return One(c, FactOpKind::kHas, FactBatch::Reply::kBefore);
}

Flow FactMHas(CommandContext& c) {
  const std::optional<FactKey> key = ParseFactKey(c.args[1]);
  if (!key) return c.Error(error::kFactKey);
  const auto uids = c.args.subspan(2);
  const auto known = UidsOf(c, *key, uids, false);
  if (!known) return c.Fail(known.error());
  if (!*known) return c.Error(error::kUid);
  AddToBatch(c, *key, **known, FactOpKind::kHas, FactBatch::Reply::kBits);
  return Flow::kNext;
}

Flow FactCard(CommandContext& c) {
  const std::optional<FactKey> key = ParseFactKey(c.args[1]);
  if (!key) return c.Error(error::kFactKey);
  const Result<uint64_t> facts = c.engine().Cardinality(*key, {}, c.ticket);
  if (!facts) return c.Fail(facts.error());
  c.reply().Unsigned(*facts);
  return Flow::kNext;
}

Flow FactScan(CommandContext& c) {
  const std::optional<FactKey> key = ParseFactKey(c.args[1]);
  if (!key) return c.Error(error::kFactKey);
  const std::optional<uint64_t> cursor = ParseMemberCursor(c.args[2]);
  if (!cursor) return c.Error(error::kInvalidCursor);
  uint64_t count = kScanCountDefault;
  if (c.argc() != 3) {
    if (c.argc() != 5 || !c.Is(3, "COUNT")) return c.Error(error::kSyntax);
    const std::optional<int64_t> wanted = ParseInt64(c.args[4]);
    if (!wanted) return c.Error(error::kNotInteger);
    if (*wanted < 1) return c.Error(error::kSyntax);
    count = static_cast<uint64_t>(*wanted);
  }
  Members members;
  const Result<uint64_t> next = ScanPage(c, *key, *cursor, count, &members.uids);
  if (!next) return c.Fail(next.error());
  if (Status s = NameMembers(c, *key, &members); !s.ok()) return c.Fail(s);
  ReplyWriter& out = c.reply();
  out.Array(2);
  out.BulkNumber(*next);
  out.Array(members.size());
  WriteMembers(&out, members);
  return Flow::kNext;
}

Flow FactStat(CommandContext& c) {
  const std::optional<FactKey> key = ParseFactKey(c.args[1]);
  if (!key) return c.Error(error::kFactKey);
  const Result<Engine::SetInfo> info = c.engine().GetSetInfo(*key, c.ticket);
  if (!info) return c.Fail(info.error());
  ReplyWriter& out = c.reply();
  out.Map(5);
  WriteNumber(&out, "card", info->cardinality);
  out.Bulk("chunks");
  out.Map(5);
  WriteNumber(&out, "sparse", info->chunks_sparse);
  WriteNumber(&out, "array", info->chunks_array);
  WriteNumber(&out, "roaring", info->chunks_roaring);
  WriteNumber(&out, "dense", info->chunks_dense);
  WriteNumber(&out, "on_disk", info->chunks_on_disk);
  WriteNumber(&out, "bytes", info->memory_bytes);
  WriteNumber(&out, "resident", info->resident ? 1 : 0);
  WriteNumber(&out, "sequence", info->sequence);
  return Flow::kNext;
}

// A cursor is the number of a container of 65,536 uids (so it fits 53 bits), 0 begins and ends.
Flow FactExport(CommandContext& c) {
  constexpr uint64_t kContainerUids = 65536;
  const std::optional<FactKey> key = ParseFactKey(c.args[1]);
  if (!key) return c.Error(error::kFactKey);
  const bool by_parts = c.argc() > 2;
  size_t bytes_max = ImageBytesMax(c);
  uint64_t cursor = 0;
  if (by_parts) {
    if (!c.Is(2, "CURSOR") || c.argc() % 2 != 0 || c.argc() > 6) return c.Error(error::kSyntax);
    const std::optional<uint64_t> from = ParseUint64(c.args[3]);
    if (!from || *from > UINT64_MAX / kContainerUids) return c.Error(error::kInvalidCursor);
    cursor = *from;
    size_t wanted = std::min(kExportBytesDefault, bytes_max);
    if (c.argc() == 6) {
      if (!c.Is(4, "BYTES")) return c.Error(error::kSyntax);
      const std::optional<uint64_t> given = ParseUint64(c.args[5]);
      if (!given || *given < kImageBytesMin || *given > bytes_max)
        return c.Error(error::kExportBytes);
      wanted = *given;
    }
    bytes_max = wanted;
  }
  const Result<uint64_t> members = c.engine().Cardinality(*key, {}, c.ticket);
  if (!members) return c.Fail(members.error());
  if (*members > kInlineMembersMax && !c.slow_lane) return Flow::kSlowLane;
  const Result<Exported> part =
      c.engine().Export(*key, cursor * kContainerUids, bytes_max, c.ticket);
  if (!part) return c.Fail(part.error());
  if (!by_parts && part->next) return c.Error(error::kExportTooLarge);
  ReplyWriter& out = c.reply();
  if (by_parts) {
    out.Array(2);
    out.BulkNumber(part->next ? *part->next / kContainerUids : 0);
  }
  out.Bulk(part->image);
  return Flow::kNext;
}

Flow FactImport(CommandContext& c) {
  const std::optional<FactKey> key = ParseFactKey(c.args[1]);
  if (!key) return c.Error(error::kFactKey);
  const bool replace = c.argc() == 4 && c.Is(3, "REPLACE");
  if (c.argc() > 3 && !replace) return c.Error(error::kSyntax);
  const Result<uint64_t> members = c.engine().Cardinality(*key, {}, c.ticket);
  if (!members) return c.Fail(members.error());
  if ((c.args[2].size() > kInlineImageBytesMax || *members > kInlineMembersMax) && !c.slow_lane)
    return Flow::kSlowLane;
  const Result<BulkOutcome> outcome =
      c.engine().Import(*key, c.args[2], replace ? ImportMode::kReplace : ImportMode::kAdd,
                        kFactLabels, CommandContext::Deferred(), c.ticket);
  if (!outcome) return c.Fail(outcome.error());
  ReplyWriter& out = c.reply();
  out.Array(2);
  out.Unsigned(outcome->added);
  out.Unsigned(outcome->removed);
  return Flow::kNext;
}

}  // namespace tallystick::server
