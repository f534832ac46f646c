// ServerOptions: everything that can be configured, with one table of names that the command line,
// the configuration file and CONFIG GET/SET share.
#pragma once

#include <tallystick/options.h>
#include <tallystick/result.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tallystick::server {

// Units and limits are in the parameter table (server_options.cc) and in --help.
struct ServerOptions {
  std::string config_file;
  std::string bind = "127.0.0.1";
  uint64_t port = 6379;
  std::string port_file;
  std::string dir = "./data";
  std::string durability = "everysec";
  uint64_t threads = 0;
  std::string requirepass;
  std::string loglevel = "notice";

  uint64_t maxclients = 10000;
  uint64_t timeout = 0;
  uint64_t tcp_keepalive = 300;
  uint64_t tcp_backlog = 4096;
  uint64_t proto_max_bulk_len = 16u << 20;
  uint64_t client_query_buffer_limit = 256u << 20;

  uint64_t shards = 0;
  uint64_t partitions = 0;
  uint64_t aggregator_threads = 0;
  uint64_t ring_events_per_shard = 512;
  uint64_t busy_timeout_ms = 1000;
  uint64_t flush_interval_ms = 200;
  uint64_t flush_threshold_events = 65536;
  uint64_t checkpoint_interval_ms = 5000;
  uint64_t journal_tail_bytes_max = 256u << 20;
  uint64_t journal_retention_ms = 7ull * 24 * 3600 * 1000;
  uint64_t journal_retention_bytes = 4ull << 30;
  bool accept_loss = false;

  SchemaSpec schema;  // from the [schema] section; empty: the default, or what the directory has

  // From the [ids] section, `etype = namespace` lines: whose uids are ids of any kind.
  std::vector<IdNamespaceSpec> ids;

  // What Engine::Open takes. `logger` is shared with the engine.
  Options EngineOptions(std::shared_ptr<Logger> logger) const;
};

struct Parameter {
  enum class Kind : uint8_t {
    kNumber,  // decimal within min..max
    kBytes,   // as kNumber, also with a unit: 1k = 1000, 1kb = 1024, 1m, 1mb, 1g, 1gb, as in Redis
    kText,
    kWord,  // one of `words`
    kFlag,  // yes or no; on the command line its mere presence means yes
  };
  std::string_view name;
  Kind kind;
  bool mutable_at_runtime;  // CONFIG SET may change it
  std::variant<uint64_t ServerOptions::*, std::string ServerOptions::*, bool ServerOptions::*>
      member;
  std::string_view help;
  uint64_t min = 0;  // of kText: 1 when it must not be empty
  uint64_t max = 0;
  std::string_view words = {};  // blank-separated
};

// In the order of --help.
std::span<const Parameter> Parameters();
const Parameter* FindParameter(std::string_view name);

// Checks and stores; kInvalidArgument says what is accepted. *options is unchanged on error.
Status SetParameter(const Parameter& parameter, std::string_view value, ServerOptions* options);
// "1 to 65535"; empty for what is not a number.
std::string LimitsOf(const Parameter& parameter);
std::string GetParameter(const Parameter& parameter, const ServerOptions& options);

Durability ParseDurability(std::string_view word);

// Reads a configuration file into *options: `name = value` lines with the names above, '#'
// comments, a [schema] section with `etype = slots` lines, and an [ids] section. Errors name file
// and line.
Status LoadConfigFile(const std::string& path, ServerOptions* options);
// The same from text; `path` is only used in messages.
Status ParseConfigText(std::string_view text, const std::string& path, ServerOptions* options);

// What main is to do with the command line.
struct CommandLine {
  enum class Action : uint8_t { kRun, kPrint, kDumpCommands, kFail };
  Action action = Action::kRun;
  std::string text;       // help or version for kPrint, what is wrong for kFail
  ServerOptions options;  // file first, then flags over it
};
CommandLine ParseCommandLine(int argc, const char* const* argv);

}  // namespace tallystick::server
