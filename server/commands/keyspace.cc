// DEL, EXISTS, TTL, TYPE: what is asked of any key.
#include "server/commands/handlers.h"
#include "server/commands/key_access.h"
#include "server/error_reply.h"
#include "server/server_state.h"

namespace tallystick::server {

namespace {

// Deletes what a view shows; whether there was anything.
Result<bool> Delete(CommandContext& c, const KeyView& view) {
  Result<uint64_t> cleared = 0;
  switch (view.face) {
    case Face::kPlain:
      return c.engine().PlainDelete(view.key, CommandContext::Deferred(), c.ticket);
    case Face::kChunk:
      cleared = c.engine().ClearRange(view.fact(), view.chunk_range(), CommandContext::Deferred(),
                                      c.ticket);
      break;
    case Face::kLikes:
      cleared = c.engine().ClearRange(view.fact(), {}, CommandContext::Deferred(), c.ticket);
      break;
    case Face::kRecord: {
      // The engine derives this key: it cannot go away, but what it says is counted anew.
      c.server.counters().managed_writes.fetch_add(1, std::memory_order_relaxed);
      const Result<std::string_view> type = TypeOf(c, view);
      if (!type) return Fail(type.error());
      if (*type == "none") return false;
      const Result<RebuildOutcome> rebuilt =
          c.engine().Rebuild(view.entity(), CommandContext::Deferred());
      if (!rebuilt) return Fail(rebuilt.error());
      return true;
    }
    case Face::kReserved:
      return false;
  }
  if (!cleared) return Fail(cleared.error());
  return *cleared > 0;
}

// Milliseconds left, -1 without expiry, -2 without a key.
Result<int64_t> TtlMs(CommandContext& c, const KeyView& view) {
  if (view.face != Face::kPlain) {
    const Result<std::string_view> type = TypeOf(c, view);
    if (!type) return Fail(type.error());
    return *type == "none" ? -2 : -1;
  }
  const Result<PlainInfo> info = c.engine().GetPlainInfo(view.key, c.ticket);
  if (!info) return Fail(info.error());
  if (info->type == PlainType::kNone) return -2;
  if (info->expire_at_ms == 0) return -1;
  const int64_t left = static_cast<int64_t>(info->expire_at_ms) - WallClockUs() / 1000;
  return left > 0 ? left : 0;
}

}  // namespace

Flow Del(CommandContext& c) {
  uint64_t deleted = 0;
  for (std::string_view key : c.args.subspan(1)) {
    const Result<KeyView> view = ResolveKey(c, key);
    if (!view) return c.Fail(view.error());
    const Result<bool> existed = Delete(c, *view);
    if (!existed) return c.Fail(existed.error());
    deleted += *existed ? 1u : 0u;
  }
  c.reply().Unsigned(deleted);
  return Flow::kNext;
}

Flow Exists(CommandContext& c) {
  uint64_t found = 0;
  for (std::string_view key : c.args.subspan(1)) {
    const Result<KeyView> view = ResolveKey(c, key);
    if (!view) return c.Fail(view.error());
    const Result<std::string_view> type = TypeOf(c, *view);
    if (!type) return c.Fail(type.error());
    found += *type == "none" ? 0u : 1u;
  }
  c.reply().Unsigned(found);
  return Flow::kNext;
}

Flow Ttl(CommandContext& c) {
  const Result<KeyView> view = ResolveKey(c, c.args[1]);
  if (!view) return c.Fail(view.error());
  const Result<int64_t> ttl = TtlMs(c, *view);
  if (!ttl) return c.Fail(ttl.error());
  c.reply().Integer(*ttl < 0 ? *ttl : (*ttl + 500) / 1000);
  return Flow::kNext;
}

Flow Pttl(CommandContext& c) {
  const Result<KeyView> view = ResolveKey(c, c.args[1]);
  if (!view) return c.Fail(view.error());
  const Result<int64_t> ttl = TtlMs(c, *view);
  if (!ttl) return c.Fail(ttl.error());
  c.reply().Integer(*ttl);
  return Flow::kNext;
}

Flow Type(CommandContext& c) {
  const Result<KeyView> view = ResolveKey(c, c.args[1]);
  if (!view) return c.Fail(view.error());
  const Result<std::string_view> type = TypeOf(c, *view);
  if (!type) return c.Fail(type.error());
  c.reply().Simple(*type);
  return Flow::kNext;
}

}  // namespace tallystick::server
