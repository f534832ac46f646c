// COUNT.*: the counts of entities, and the proof that they are right.
#include <algorithm>

#include "server/commands/handlers.h"
#include "server/error_reply.h"
#include "server/key_templates.h"
#include "server/resp/number.h"
#include "server/server_state.h"

namespace tallystick::server {

namespace {

constexpr int32_t kSyncSliceMs =
    500;  // how soon a waiting COUNT.SYNC notices that the server stops
constexpr int64_t kSyncTimeoutMsMax = 3600 * 1000;

std::string_view SourceName(CountSource source) {
  switch (source) {
    case CountSource::kNone:
      return "none";
    case CountSource::kRecord:
      return "record";
    case CountSource::kFacts:
      return "rebuilt";
  }
  return "";
}

// Positions of the named slots in an entity type; of all when `names` is empty.
Result<std::vector<size_t>> FindSlots(CommandContext& c, std::string_view etype,
                                      std::span<const std::string_view> names) {
  const std::vector<SlotSpec>& slots = c.engine().Slots(etype);
  std::vector<size_t> positions;
  for (size_t i = 0; names.empty() && i < slots.size(); ++i) positions.push_back(i);
  for (std::string_view name : names) {
    const auto slot = std::find_if(slots.begin(), slots.end(),
                                   [name](const SlotSpec& s) { return s.name == name; });
    if (slot == slots.end()) {
      return Fail(StatusCode::kInvalidArgument, "no slot '" + std::string(name.substr(0, 64)) +
                                                    "' in entity type '" + std::string(etype) +
                                                    "'");
    }
    positions.push_back(static_cast<size_t>(slot - slots.begin()));
  }
  return positions;
}

void WriteCounts(ReplyWriter* out, const Counts& counts, const std::vector<size_t>& positions) {
  out->Array(positions.size());
  for (size_t position : positions) out->Integer(counts.values[position]);
}

void WriteAll(ReplyWriter* out, const Counts& counts) {
  out->Array(counts.slots);
  for (uint32_t i = 0; i < counts.slots; ++i) out->Integer(counts.values[i]);
}

}  // namespace

Flow CountGet(CommandContext& c) {
  const std::optional<EntityKey> entity = ParseEntity(c.args[1]);
  if (!entity) return c.Error(error::kEntity);
  const bool with_meta = c.Is(2, "WITHMETA");
  const auto names = c.args.subspan(with_meta ? 3 : 2);
  const Result<std::vector<size_t>> positions = FindSlots(c, entity->etype, names);
  if (!positions) return c.Fail(positions.error());
  const Result<Counts> counts = c.engine().GetCounts(*entity, c.ticket);
  if (!counts) return c.Fail(counts.error());
  ReplyWriter& out = c.reply();
  if (!with_meta) {
    WriteCounts(&out, *counts, *positions);
    return Flow::kNext;
  }
  out.Map(3);
  out.Bulk("counts");
  WriteCounts(&out, *counts, *positions);
  out.Bulk("source");
  out.Bulk(SourceName(counts->source));
  out.Bulk("sequence");
  out.Unsigned(counts->sequence);
  return Flow::kNext;
}

Flow CountMGet(CommandContext& c) {
  size_t next = 1;
  std::span<const std::string_view> names;
  if (c.Is(1, "SLOTS")) {
    if (c.argc() < 3) return c.Error(error::kSyntax);
    const std::optional<int64_t> count = ParseInt64(c.args[2]);
    if (!count) return c.Error(error::kNotInteger);
    if (*count < 1 || static_cast<uint64_t>(*count) > c.argc() - 3) return c.Error(error::kSyntax);
    names = c.args.subspan(3, static_cast<size_t>(*count));
    next = 3 + names.size();
  }
  if (!c.Is(next, "ENTITIES") || next + 1 >= c.argc()) return c.Error(error::kSyntax);
  std::vector<EntityKey> entities;
  std::vector<std::vector<size_t>> positions;
  for (std::string_view text : c.args.subspan(next + 1)) {
    const std::optional<EntityKey> entity = ParseEntity(text);
    if (!entity) return c.Error(error::kEntity);
    Result<std::vector<size_t>> slots = FindSlots(c, entity->etype, names);
    if (!slots) return c.Fail(slots.error());
    entities.push_back(*entity);
    positions.push_back(std::move(*slots));
  }
  std::vector<Counts> counts;
  const Status status = c.engine().GetCounts(entities, &counts, c.ticket);
  if (!status.ok()) return c.Fail(status);
  ReplyWriter& out = c.reply();
  out.Array(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) WriteCounts(&out, counts[i], positions[i]);
  return Flow::kNext;
}

Flow CountRaw(CommandContext& c) {
  const std::optional<EntityKey> entity = ParseEntity(c.args[1]);
  if (!entity) return c.Error(error::kEntity);
  const Result<std::string> record = c.engine().GetRecord(*entity, c.ticket);
  if (!record) return c.Fail(record.error());
  c.reply().Bulk(*record);
  return Flow::kNext;
}

Flow CountIncrBy(CommandContext& c) {
  const std::optional<EntityKey> entity = ParseEntity(c.args[1]);
  if (!entity) return c.Error(error::kEntity);
  const std::optional<int64_t> delta = ParseInt64(c.args[3]);
  if (!delta) return c.Error(error::kNotInteger);
  const Result<int64_t> value =
      c.engine().AddToCounter(*entity, c.args[2], *delta, CommandContext::Deferred(), c.ticket);
  if (!value) return c.Fail(value.error());
  c.reply().Integer(*value);
  return Flow::kNext;
}

Flow CountSync(CommandContext& c) {
  size_t next = 1;
  std::optional<int64_t> timeout_ms;
  if (c.Is(1, "TIMEOUT")) {
    if (c.argc() < 3) return c.Error(error::kSyntax);
    timeout_ms = ParseInt64(c.args[2]);
    if (!timeout_ms) return c.Error(error::kNotInteger);
    if (*timeout_ms < 0 || *timeout_ms > kSyncTimeoutMsMax) return c.Error(error::kNotPositive);
    next = 3;
  }
  std::vector<EntityKey> entities;
  for (std::string_view text : c.args.subspan(next)) {
    const std::optional<EntityKey> entity = ParseEntity(text);
    if (!entity) return c.Error(error::kEntity);
    entities.push_back(*entity);
  }
  while (true) {
    const int64_t left = timeout_ms.value_or(kSyncSliceMs);
    const int32_t slice = static_cast<int32_t>(std::min<int64_t>(left, kSyncSliceMs));
    const Status status = c.engine().Sync(entities, slice);
    if (timeout_ms) *timeout_ms -= slice;
    const bool again = status.code() == StatusCode::kTimedOut && timeout_ms.value_or(1) > 0;
    if (again && !c.server.stopping()) continue;
    if (!status.ok()) return c.Fail(status);
    c.reply().Ok();
    return Flow::kNext;
  }
}

Flow CountVerify(CommandContext& c) {
  const std::optional<EntityKey> entity = ParseEntity(c.args[1]);
  if (!entity) return c.Error(error::kEntity);
  const Result<Verification> verified = c.engine().Verify(*entity);
  if (!verified) return c.Fail(verified.error());
  ReplyWriter& out = c.reply();
  out.Map(4);
  out.Bulk("ok");
  out.Integer(verified->ok ? 1 : 0);
  out.Bulk("sequence");
  out.Unsigned(verified->sequence);
  out.Bulk("record_sequence");
  out.Unsigned(verified->record_sequence);
  out.Bulk("slots");
  out.Map(verified->slots.size());
  for (const VerifiedSlot& slot : verified->slots) {
    out.Bulk(slot.name);
    out.Map(4);
    out.Bulk("record");
    out.Integer(slot.record);
    out.Bulk("pending");
    out.Integer(slot.pending);
    out.Bulk("facts");
    out.Integer(slot.facts);
    out.Bulk("counter");
    out.Integer(slot.counter_part);
  }
  return Flow::kNext;
}

Flow CountRebuild(CommandContext& c) {
  const std::optional<EntityKey> entity = ParseEntity(c.args[1]);
  if (!entity) return c.Error(error::kEntity);
  const Result<RebuildOutcome> rebuilt = c.engine().Rebuild(*entity);
  if (!rebuilt) return c.Fail(rebuilt.error());
  ReplyWriter& out = c.reply();
  out.Array(2);
  WriteAll(&out, rebuilt->before);
  WriteAll(&out, rebuilt->after);
  return Flow::kNext;
}

}  // namespace tallystick::server
