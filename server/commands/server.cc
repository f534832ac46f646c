// Commands about the server: INFO, CONFIG, TIME, FLUSHALL, SHUTDOWN.
#include <algorithm>
#include <mutex>
#include <vector>

#include "server/commands/handlers.h"
#include "server/error_reply.h"
#include "server/glob.h"
#include "server/info.h"
#include "server/log.h"
#include "server/resp/number.h"
#include "server/server_state.h"

namespace tallystick::server {

namespace {

// Settings of Redis that clients ask for and that have one fixed answer here.
struct FixedSetting {
  std::string_view name;
  std::string_view value;
};
constexpr FixedSetting kFixedSettings[] = {
    {"save", ""},
    {"appendonly", "yes"},
    {"databases", "1"},
    {"maxmemory", "0"},
    {"maxmemory-policy", "noeviction"},
    {"io-threads", "1"},
    {"cluster-enabled", "no"},
    {"replica-read-only", "yes"},
    {"slave-read-only", "yes"},
    {"notify-keyspace-events", ""},
};
constexpr std::string_view kAppendFsync = "appendfsync";  // Redis's name for our durability

std::string ConfigSetFailed(std::string_view name, std::string_view why) {
  std::string text = "ERR CONFIG SET failed (possibly related to argument '";
  return text.append(name).append("') - ").append(why);
}

}  // namespace

Flow Info(CommandContext& c) {
  c.reply().Verbatim(InfoText(&c.server, c.args.subspan(1)));
  return Flow::kNext;
}

Flow ConfigGet(CommandContext& c) {
  const ServerOptions options = c.server.options();
  std::vector<std::pair<std::string_view, std::string>> found;
  const auto wanted = [&c](std::string_view name) {
    return std::any_of(c.args.begin() + 2, c.args.end(), [name](std::string_view pattern) {
      return pattern.size() <= kPatternBytesMax && GlobMatch(pattern, name, true);
    });
  };
  for (const Parameter& parameter : Parameters()) {
    if (wanted(parameter.name))
      found.emplace_back(parameter.name, GetParameter(parameter, options));
  }
  for (const FixedSetting& setting : kFixedSettings) {
    if (wanted(setting.name)) found.emplace_back(setting.name, setting.value);
  }
  if (wanted(kAppendFsync)) found.emplace_back(kAppendFsync, options.durability);
  c.reply().Map(found.size());
  for (const auto& [name, value] : found) {
    c.writer.Bulk(name);
    c.writer.Bulk(value);
  }
  return Flow::kNext;
}

Flow ConfigSet(CommandContext& c) {
  if (c.argc() % 2 != 0) return c.Error(ArityError(c.spec.name));
  std::vector<std::pair<const Parameter*, std::string>> changes;
  for (size_t i = 2; i < c.argc(); i += 2) {
    const std::string_view name = c.Is(i, kAppendFsync) ? "durability" : c.args[i];
    const Parameter* parameter = FindParameter(name);
    const bool fixed = std::any_of(std::begin(kFixedSettings), std::end(kFixedSettings),
                                   [&](const FixedSetting& s) { return c.Is(i, s.name); });
    if (parameter == nullptr && !fixed) {
      return c.Error("ERR Unknown option or number of arguments for CONFIG SET - '" +
                     std::string(c.args[i]) + "'");
    }
    if (fixed || !parameter->mutable_at_runtime) {
      return c.Error(ConfigSetFailed(c.args[i], "can't set immutable config"));
    }
    for (const auto& [earlier, value] : changes) {
      if (earlier == parameter) return c.Error(ConfigSetFailed(c.args[i], "duplicate parameter"));
    }
    changes.emplace_back(parameter, c.args[i + 1]);
  }
  std::string failed;
  const Status status = c.server.Change(changes, &failed);
  if (!status.ok()) {
    const Parameter* parameter = FindParameter(failed);
    const bool number =
        parameter->kind == Parameter::Kind::kNumber || parameter->kind == Parameter::Kind::kBytes;
    const auto given = std::find_if(changes.begin(), changes.end(),
                                    [&](const auto& change) { return change.first == parameter; });
    // Redis's words for what is no number at all; ours say the accepted range.
    if (number && !ParseUint64(given->second)) {
      return c.Error(ConfigSetFailed(failed, "argument couldn't be parsed into an integer"));
    }
    return c.Error(ConfigSetFailed(failed, status.message()));
  }
  for (const auto& [parameter, value] : changes) {
    if (parameter->name == "loglevel") SetLogLevel(value);
  }
  c.reply().Ok();
  return Flow::kNext;
}

Flow ConfigResetStat(CommandContext& c) {
  c.server.counters().Reset();
  c.reply().Ok();
  return Flow::kNext;
}

Flow Time(CommandContext& c) {
  const int64_t now_us = WallClockUs();
  c.reply().Array(2);
  c.writer.BulkNumber(static_cast<uint64_t>(now_us / 1000000));
  c.writer.BulkNumber(static_cast<uint64_t>(now_us % 1000000));
  return Flow::kNext;
}

Flow FlushAll(CommandContext& c) {
  if (c.argc() > 2 || (c.argc() == 2 && !c.Is(1, "ASYNC") && !c.Is(1, "SYNC"))) {
    return c.Error(error::kSyntax);
  }
  const std::unique_lock lock(c.server.shadow_mutex());
  const Status status = c.engine().Wipe();
  if (!status.ok()) return c.Fail(status);
  c.server.ForgetShadows();
  c.reply().Ok();
  return Flow::kNext;
}

Flow Shutdown(CommandContext& c) {
  bool save = false;
  bool nosave = false;
  bool abort = false;
  bool hurry = false;
  for (size_t i = 1; i < c.argc(); ++i) {
    if (c.Is(i, "SAVE")) {
      save = true;
    } else if (c.Is(i, "NOSAVE")) {
      nosave = true;
    } else if (c.Is(i, "NOW") || c.Is(i, "FORCE")) {
      hurry = true;
    } else if (c.Is(i, "ABORT")) {
      abort = true;
    } else {
      return c.Error(error::kSyntax);
    }
  }
  if ((save && nosave) || (abort && (save || nosave || hurry))) return c.Error(error::kSyntax);
  // A shutdown here never waits for anything that could be called off.
  if (abort) return c.Error("ERR No shutdown in progress.");
  LogInfo("SHUTDOWN asked by client " + std::to_string(c.client.id));
  c.server.control().RequestShutdown();
  return Flow::kClose;
}

}  // namespace tallystick::server
