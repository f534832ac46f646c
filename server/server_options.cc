#include "server/server_options.h"

#include <array>
#include <optional>

#include "server/resp/number.h"

namespace tallystick::server {

namespace {

using Kind = Parameter::Kind;

constexpr uint64_t kDayMs = 24ull * 3600 * 1000;
constexpr uint64_t kHourMs = 3600 * 1000;

constexpr auto kParameters = std::to_array<Parameter>({
    {"config", Kind::kText, false, &ServerOptions::config_file,
     "configuration file: lines `name = value` with these names, and a [schema] section"},
    {"bind", Kind::kText, false, &ServerOptions::bind, "addresses to listen on, blank-separated",
     1},
    {"port", Kind::kNumber, false, &ServerOptions::port,
     "TCP port; 0 takes a free one and prints it", 0, 65535},
    {"port-file", Kind::kText, false, &ServerOptions::port_file,
     "write the port to this file once listening"},
    {"dir", Kind::kText, false, &ServerOptions::dir, "data directory; one process at a time", 1},
    {"durability", Kind::kWord, true, &ServerOptions::durability,
     "when a write is acknowledged: always (fsynced), everysec, no", 0, 0, "always everysec no"},
    {"threads", Kind::kNumber, false, &ServerOptions::threads,
     "I/O threads; 0: one per core, at most 16", 0, 256},
    {"requirepass", Kind::kText, true, &ServerOptions::requirepass,
     "password that clients must give with AUTH or HELLO; empty: none"},
    {"loglevel", Kind::kWord, true, &ServerOptions::loglevel, "debug, verbose, notice or warning",
     0, 0, "debug verbose notice warning"},
    {"maxclients", Kind::kNumber, true, &ServerOptions::maxclients,
     "connections at once; more are refused", 1, 1000000},
    {"timeout", Kind::kNumber, true, &ServerOptions::timeout,
     "seconds after which an idle client is closed; 0: never", 0, 1u << 31},
    {"tcp-keepalive", Kind::kNumber, false, &ServerOptions::tcp_keepalive,
     "seconds between TCP keep-alive probes; 0: off", 0, 86400},
    {"tcp-backlog", Kind::kNumber, false, &ServerOptions::tcp_backlog,
     "connections that may wait to be accepted", 1, 65535},
    {"proto-max-bulk-len", Kind::kBytes, true, &ServerOptions::proto_max_bulk_len,
     "longest argument of a command, in bytes", 1u << 20, 512u << 20},
    {"client-query-buffer-limit", Kind::kBytes, true, &ServerOptions::client_query_buffer_limit,
     "longest request of one client, in bytes", 1u << 20, 1u << 30},
    {"shards", Kind::kNumber, false, &ServerOptions::shards,
     "units of locking, a power of two, fixed at creation; 0: 256", 0, 4096},
    {"partitions", Kind::kNumber, false, &ServerOptions::partitions,
     "journals, a power of two up to shards, fixed at creation; 0: 16", 0, 4096},
    {"aggregator-threads", Kind::kNumber, false, &ServerOptions::aggregator_threads,
     "threads that fold events; 0: half of the cores", 0, 256},
    {"ring-events-per-shard", Kind::kNumber, false, &ServerOptions::ring_events_per_shard,
     "events in flight of one shard before its writers wait", 2, 32768},
    {"busy-timeout-ms", Kind::kNumber, false, &ServerOptions::busy_timeout_ms,
     "how long a writer waits for room in the ring before BUSY", 0, kHourMs},
    {"flush-interval-ms", Kind::kNumber, false, &ServerOptions::flush_interval_ms,
     "write-back window of count records", 1, kHourMs},
    {"flush-threshold-events", Kind::kNumber, false, &ServerOptions::flush_threshold_events,
     "folded events of a partition that flush before the window ends", 1, 1u << 31},
    {"checkpoint-interval-ms", Kind::kNumber, false, &ServerOptions::checkpoint_interval_ms,
     "how often changed sets are written as snapshots", 1, kHourMs},
    {"journal-tail-bytes-max", Kind::kBytes, false, &ServerOptions::journal_tail_bytes_max,
     "longest journal tail to replay at a restart, in bytes", 1u << 20, 1ull << 40},
    {"journal-retention-ms", Kind::kNumber, false, &ServerOptions::journal_retention_ms,
     "age up to which journal is kept", 0, 3650 * kDayMs},
    {"journal-retention-bytes", Kind::kBytes, false, &ServerOptions::journal_retention_bytes,
     "size up to which journal is kept, in bytes", 0, 1ull << 50},
    {"accept-loss", Kind::kFlag, false, &ServerOptions::accept_loss,
     "open although durable journal has vanished, and recount what that touched"},
});

std::optional<uint64_t> ParseBytes(std::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const std::optional<uint64_t> number = ParseUint64(text.substr(0, digits));
  if (!number) return std::nullopt;
  struct Unit {
    std::string_view name;
    uint64_t bytes;
  };
  constexpr Unit kUnits[] = {{"", 1},           {"b", 1},           {"k", 1000},
                             {"kb", 1u << 10},  {"m", 1000 * 1000}, {"mb", 1u << 20},
                             {"g", 1000000000}, {"gb", 1u << 30}};
  for (const Unit& unit : kUnits) {
    if (!EqualsIgnoreCase(text.substr(digits), unit.name)) continue;
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(*number, unit.bytes, &bytes)) return std::nullopt;
    return bytes;
  }
  return std::nullopt;
}

bool HasWord(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const size_t blank = words.find(' ');
    if (words.substr(0, blank) == word) return true;
    words.remove_prefix(blank == std::string_view::npos ? words.size() : blank + 1);
  }
  return false;
}

Status Invalid(const Parameter& parameter, const std::string& accepted) {
  return Status::Error(StatusCode::kInvalidArgument,
                       "'" + std::string(parameter.name) + "' must be " + accepted);
}

}  // namespace

std::span<const Parameter> Parameters() {
  return kParameters;
}

const Parameter* FindParameter(std::string_view name) {
  for (const Parameter& parameter : kParameters) {
    if (EqualsIgnoreCase(parameter.name, name)) return &parameter;
  }
  return nullptr;
}

Status SetParameter(const Parameter& parameter, std::string_view value, ServerOptions* options) {
  switch (parameter.kind) {
    case Kind::kNumber:
    case Kind::kBytes: {
      const bool bytes = parameter.kind == Kind::kBytes;
      const std::optional<uint64_t> number = bytes ? ParseBytes(value) : ParseUint64(value);
      if (!number || *number < parameter.min || *number > parameter.max) {
        return Invalid(parameter, "a number from " + std::to_string(parameter.min) + " to " +
                                      std::to_string(parameter.max) +
                                      (bytes ? ", or with a unit such as 64mb" : ""));
      }
      options->*std::get<uint64_t ServerOptions::*>(parameter.member) = *number;
      return {};
    }
    case Kind::kWord:
      if (!HasWord(parameter.words, value)) {
        return Invalid(parameter, "one of: " + std::string(parameter.words));
      }
      [[fallthrough]];
    case Kind::kText:
      if (parameter.min > 0 && value.find_first_not_of(' ') == std::string_view::npos) {
        return Invalid(parameter, "given a value that is not empty");
      }
      options->*std::get<std::string ServerOptions::*>(parameter.member) = std::string(value);
      return {};
    case Kind::kFlag: {
      const bool yes = EqualsIgnoreCase(value, "yes") || EqualsIgnoreCase(value, "true");
      if (!yes && !EqualsIgnoreCase(value, "no") && !EqualsIgnoreCase(value, "false")) {
        return Invalid(parameter, "yes or no");
      }
      options->*std::get<bool ServerOptions::*>(parameter.member) = yes;
      return {};
    }
  }
  return {};
}

std::string LimitsOf(const Parameter& parameter) {
  switch (parameter.kind) {
    case Kind::kNumber:
    case Kind::kBytes:
      return std::to_string(parameter.min) + " to " + std::to_string(parameter.max);
    case Kind::kText:
    case Kind::kWord:
    case Kind::kFlag:
      break;  // words are in the help text
  }
  return "";
}

std::string GetParameter(const Parameter& parameter, const ServerOptions& options) {
  if (const auto* number = std::get_if<uint64_t ServerOptions::*>(&parameter.member)) {
    return std::to_string(options.**number);
  }
  if (const auto* flag = std::get_if<bool ServerOptions::*>(&parameter.member)) {
    return options.**flag ? "yes" : "no";
  }
  return options.*std::get<std::string ServerOptions::*>(parameter.member);
}

Durability ParseDurability(std::string_view word) {
  if (word == "always") return Durability::kAlways;
  if (word == "no") return Durability::kNo;
  return Durability::kEverySec;
}

Options ServerOptions::EngineOptions(std::shared_ptr<Logger> logger) const {
  Options options;
  options.dir = dir;
  options.durability = ParseDurability(durability);
  options.shards = static_cast<uint32_t>(shards);
  options.partitions = static_cast<uint32_t>(partitions);
  options.schema = schema;
  options.ids = ids;
  options.aggregator_threads = static_cast<uint32_t>(aggregator_threads);
  options.ring_events_per_shard = static_cast<uint32_t>(ring_events_per_shard);
  options.busy_timeout_ms = static_cast<int32_t>(busy_timeout_ms);
  options.flush_interval_ms = static_cast<uint32_t>(flush_interval_ms);
  options.flush_threshold_events = static_cast<uint32_t>(flush_threshold_events);
  options.checkpoint_interval_ms = static_cast<uint32_t>(checkpoint_interval_ms);
  options.journal_tail_bytes_max = journal_tail_bytes_max;
  options.journal_retention_ms = journal_retention_ms;
  options.journal_retention_bytes = journal_retention_bytes;
  options.accept_loss = accept_loss;
  options.logger = std::move(logger);
  return options;
}

}  // namespace tallystick::server
