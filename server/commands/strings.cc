// GET, SET, MGET, STRLEN: strings, and whatever else a key shows as one.
#include <shared_mutex>

#include "server/commands/chunk_write.h"
#include "server/commands/handlers.h"
#include "server/commands/key_access.h"
#include "server/error_reply.h"
#include "server/resp/number.h"
#include "server/server_state.h"

namespace tallystick::server {

namespace {

void CountLookup(CommandContext& c, bool found) {
  auto& counters = c.server.counters();
  (found ? counters.keyspace_hits : counters.keyspace_misses)
      .fetch_add(1, std::memory_order_relaxed);
}

void WriteValue(ReplyWriter* out, const std::optional<std::string>& value) {
  if (value) {
    out->Bulk(*value);
  } else {
    out->Null();
  }
}

enum class ExpireUnit { kNone, kSeconds, kMs, kAtSeconds, kAtMs };

struct SetArguments {
  PlainSetOptions options;
  ExpireUnit unit = ExpireUnit::kNone;
  std::string_view expire;
};

// Options from args[3] on; false is a syntax error.
bool ParseSetOptions(const CommandContext& c, SetArguments* set) {
  PlainSetOptions& options = set->options;
  for (size_t i = 3; i < c.argc(); ++i) {
    if (c.Is(i, "NX") && !options.only_if_present) {
      options.only_if_absent = true;
    } else if (c.Is(i, "XX") && !options.only_if_absent) {
      options.only_if_present = true;
    } else if (c.Is(i, "GET")) {
      options.return_old = true;
    } else if (c.Is(i, "KEEPTTL") && set->unit == ExpireUnit::kNone) {
      options.keep_expiry = true;
    } else if (i + 1 < c.argc() && !options.keep_expiry) {
      ExpireUnit unit = ExpireUnit::kNone;
      if (c.Is(i, "EX")) unit = ExpireUnit::kSeconds;
      if (c.Is(i, "PX")) unit = ExpireUnit::kMs;
      if (c.Is(i, "EXAT")) unit = ExpireUnit::kAtSeconds;
      if (c.Is(i, "PXAT")) unit = ExpireUnit::kAtMs;
      const bool other = set->unit != ExpireUnit::kNone && set->unit != unit;
      if (unit == ExpireUnit::kNone || other) return false;
      set->unit = unit;
      set->expire = c.args[++i];
    } else {
      return false;
    }
  }
  return true;
}

// Turns the expire argument into options.expire_at_ms. Empty: fine; else the error's text.
std::string ResolveExpire(SetArguments* set) {
  if (set->unit == ExpireUnit::kNone) return {};
  std::optional<int64_t> value = ParseInt64(set->expire);
  if (!value) return std::string(error::kNotInteger);
  const bool seconds = set->unit == ExpireUnit::kSeconds || set->unit == ExpireUnit::kAtSeconds;
  const bool relative = set->unit == ExpireUnit::kSeconds || set->unit == ExpireUnit::kMs;
  int64_t at_ms = *value;
  const int64_t now_ms = WallClockUs() / 1000;
  if (*value <= 0 || (seconds && __builtin_mul_overflow(at_ms, int64_t{1000}, &at_ms)) ||
      (relative && __builtin_add_overflow(at_ms, now_ms, &at_ms))) {
    return InvalidExpireError("set");
  }
  set->options.expire_at_ms = static_cast<uint64_t>(at_ms);
  return {};
}

Flow SetPlain(CommandContext& c, const SetArguments& set) {
  const Result<PlainSetOutcome> outcome =
      c.engine().PlainSet(c.args[1], c.args[2], set.options, CommandContext::Deferred(), c.ticket);
  if (!outcome) return c.Fail(outcome.error());
  if (set.options.return_old) {
    WriteValue(&c.reply(), outcome->old);
  } else if (outcome->stored) {
    c.reply().Ok();
  } else {
    c.reply().Null();
  }
  return Flow::kNext;
}

// SET on a chunk: its bits become those of the value.
Flow SetChunk(CommandContext& c, const KeyView& view, const SetArguments& set) {
  if (set.options.expire_at_ms != 0) return c.Error("ERR facts do not expire");
  Result<std::optional<std::string>> old = StringValue(c, view);
  if (!old) return c.Fail(old.error());
  const bool refused = (set.options.only_if_absent && old->has_value()) ||
                       (set.options.only_if_present && !old->has_value());
  if (!refused) {
    const Status status = WriteChunk(c, view, old->value_or(""), c.args[2]);
    if (!status.ok()) return c.Fail(status);
  }
  if (set.options.return_old) {
    WriteValue(&c.reply(), *old);
  } else if (refused) {
    c.reply().Null();
  } else {
    c.reply().Ok();
  }
  return Flow::kNext;
}

}  // namespace

Flow Get(CommandContext& c) {
  const Result<KeyView> view = ResolveKey(c, c.args[1]);
  if (!view) return c.Fail(view.error());
  const Result<std::optional<std::string>> value = StringValue(c, *view);
  if (!value) return c.Fail(value.error());
  CountLookup(c, value->has_value());
  WriteValue(&c.reply(), *value);
  return Flow::kNext;
}

Flow MGet(CommandContext& c) {
  ReplyWriter& out = c.reply();
  const size_t begin = out.size();
  out.Array(c.argc() - 1);
  for (std::string_view key : c.args.subspan(1)) {
    const Result<KeyView> view = ResolveKey(c, key);
    Result<std::optional<std::string>> value = view ? StringValue(c, *view) : Fail(view.error());
    if (!value && value.error().code() == StatusCode::kWrongType)
      value = std::optional<std::string>();
    if (value && out.size() - begin > kReplyBytesLimit) {
      value = Fail(StatusCode::kTooLarge, "reply too large, ask for fewer keys");
    }
    if (!value) {
      out.Truncate(begin);
      return c.Fail(value.error());
    }
    CountLookup(c, value->has_value());
    WriteValue(&out, *value);
  }
  return Flow::kNext;
}

Flow StrLen(CommandContext& c) {
  const Result<KeyView> view = ResolveKey(c, c.args[1]);
  if (!view) return c.Fail(view.error());
  const Result<uint64_t> bytes = StringBytes(c, *view);
  if (!bytes) return c.Fail(bytes.error());
  c.reply().Unsigned(*bytes);
  return Flow::kNext;
}

Flow Set(CommandContext& c) {
  SetArguments set;
  if (!ParseSetOptions(c, &set)) return c.Error(error::kSyntax);
  const std::string wrong = ResolveExpire(&set);
  if (!wrong.empty()) return c.Error(wrong);
  std::shared_lock<std::shared_mutex> shadows;
  if (ClassifyKey(c.args[1]).face == Face::kLikes) {
    shadows = std::shared_lock(c.server.shadow_mutex());
  }
  const Result<KeyView> view = ResolveKey(c, c.args[1]);
  if (!view) return c.Fail(view.error());
  switch (view->face) {
    case Face::kPlain:
      return SetPlain(c, set);
    case Face::kChunk:
      return SetChunk(c, *view, set);
    case Face::kRecord:
      // Derived by the engine: the application's own value is taken for granted, never stored.
      c.server.counters().managed_writes.fetch_add(1, std::memory_order_relaxed);
      c.reply().Ok();
      return Flow::kNext;
    case Face::kLikes: {
      // Facts are never dropped by a SET; where there are none the value lives as a plain key.
      const Result<uint64_t> facts = c.engine().Cardinality(view->fact(), {}, c.ticket);
      if (!facts) return c.Fail(facts.error());
      if (*facts > 0) return c.Error(error::kWrongType);
      if (set.options.only_if_present) {
        c.reply().Null();
        return Flow::kNext;
      }
      const Status noted = c.server.NoteShadow();
      if (!noted.ok()) return c.Fail(noted);
      return SetPlain(c, set);
    }
    case Face::kReserved:
      break;
  }
  return Flow::kNext;
}

}  // namespace tallystick::server
