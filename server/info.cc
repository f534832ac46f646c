#include "server/info.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <tallystick/version.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "server/memory_use.h"
#include "server/redis_identity.h"
#include "server/resp/number.h"

namespace tallystick::server {

namespace {

class InfoWriter {
 public:
  void Section(std::string_view title) {
    if (!text_.empty()) text_.append("\r\n");
    text_.append("# ").append(title).append("\r\n");
  }
  void Field(std::string_view name, std::string_view value) {
    text_.append(name).append(":").append(value).append("\r\n");
  }
  void Field(std::string_view name, uint64_t value) { Field(name, std::to_string(value)); }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string Human(uint64_t bytes) {
  char text[32];
  const double value = static_cast<double>(bytes);
  if (bytes < (1u << 10)) {
    std::snprintf(text, sizeof(text), "%lluB", static_cast<unsigned long long>(bytes));
  } else if (bytes < (1u << 20)) {
    std::snprintf(text, sizeof(text), "%.2fK", value / 1024);
  } else if (bytes < (1u << 30)) {
    std::snprintf(text, sizeof(text), "%.2fM", value / (1 << 20));
  } else {
    std::snprintf(text, sizeof(text), "%.2fG", value / (1 << 30));
  }
  return text;
}

std::string Seconds(const timeval& time) {
  char text[32];
  std::snprintf(text, sizeof(text), "%lld.%06lld", static_cast<long long>(time.tv_sec),
                static_cast<long long>(time.tv_usec));
  return text;
}

void WriteServer(InfoWriter* out, ServerState* server) {
  utsname os{};
  uname(&os);
  const int64_t uptime = server->uptime_s();
  out->Section("Server");
  out->Field("redis_version", kRedisVersion);
  out->Field("redis_mode", "standalone");
  out->Field("tallystick_version", TALLYSTICK_VERSION);
  out->Field("os", std::string(os.sysname) + " " + os.release + " " + os.machine);
  out->Field("arch_bits", sizeof(void*) * 8);
  out->Field("multiplexing_api", "epoll");
  out->Field("process_id", static_cast<uint64_t>(getpid()));
  out->Field("run_id", server->run_id());
  out->Field("tcp_port", server->port());
  out->Field("server_time_usec", static_cast<uint64_t>(WallClockUs()));
  out->Field("uptime_in_seconds", static_cast<uint64_t>(uptime));
  out->Field("uptime_in_days", static_cast<uint64_t>(uptime / 86400));
  out->Field("io_threads", server->io_threads());
  out->Field("config_file", server->options().config_file);
}

void WriteClients(InfoWriter* out, ServerState* server) {
  out->Section("Clients");
  out->Field("connected_clients", server->clients().size());
  out->Field("maxclients", server->maxclients());
  out->Field("blocked_clients", uint64_t{0});
}

void WriteMemory(InfoWriter* out, const Stats& stats) {
  const MemoryUse use = ReadMemoryUse();
  out->Section("Memory");
  out->Field("used_memory", use.allocated_bytes);
  out->Field("used_memory_human", Human(use.allocated_bytes));
  out->Field("used_memory_rss", use.resident_bytes);
  out->Field("used_memory_rss_human", Human(use.resident_bytes));
  out->Field("used_memory_dataset", stats.memory_bytes);
  out->Field("maxmemory", uint64_t{0});
  out->Field("maxmemory_policy", "noeviction");
  out->Field("mem_allocator", use.allocator);
}

void WritePersistence(InfoWriter* out, ServerState* server, const Stats& stats) {
  out->Section("Persistence");
  out->Field("loading", uint64_t{0});
  out->Field("async_loading", uint64_t{0});
  out->Field("aof_enabled", uint64_t{1});
  out->Field("aof_last_write_status", stats.read_only ? "err" : "ok");
  out->Field("rdb_bgsave_in_progress", uint64_t{0});
  out->Field("durability", server->options().durability);
  out->Field("durability_lag_ms", stats.durability_lag_ms);
  out->Field("read_only", uint64_t{stats.read_only});
  out->Field("read_only_reason", stats.read_only_reason);
  out->Field("recovery_done", uint64_t{stats.recovery_done});
  out->Field("recovered_events", stats.recovered_events);
  out->Field("recovery_us", stats.recovery_us);
  out->Field("index_complete", uint64_t{stats.index_complete});
}

void WriteStats(InfoWriter* out, ServerState* server) {
  const ServerCounters& counters = server->counters();
  const auto field = [out](std::string_view name, const std::atomic<uint64_t>& counter) {
    out->Field(name, counter.load(std::memory_order_relaxed));
  };
  out->Section("Stats");
  field("total_connections_received", counters.connections);
  field("total_commands_processed", counters.commands);
  field("total_net_input_bytes", counters.input_bytes);
  field("total_net_output_bytes", counters.output_bytes);
  field("rejected_connections", counters.rejected_connections);
  field("keyspace_hits", counters.keyspace_hits);
  field("keyspace_misses", counters.keyspace_misses);
  field("total_error_replies", counters.error_replies);
  field("protocol_errors", counters.protocol_errors);
  field("auth_failures", counters.auth_failures);
  field("managed_writes", counters.managed_writes);
}

void WriteReplication(InfoWriter* out, ServerState* server) {
  out->Section("Replication");
  out->Field("role", "master");
  out->Field("connected_slaves", uint64_t{0});
  out->Field("master_replid", server->run_id());
  out->Field("master_repl_offset", uint64_t{0});
}

void WriteCpu(InfoWriter* out) {
  rusage self{};
  getrusage(RUSAGE_SELF, &self);
  out->Section("CPU");
  out->Field("used_cpu_sys", Seconds(self.ru_stime));
  out->Field("used_cpu_user", Seconds(self.ru_utime));
}

// Redis counts keys here; walking all of them for INFO would cost too much, so this is what is
// resident: fact sets and plain keys.
void WriteKeyspace(InfoWriter* out, const Stats& stats) {
  out->Section("Keyspace");
  const uint64_t keys = stats.fact_sets + stats.plain_keys;
  if (keys > 0) out->Field("db0", "keys=" + std::to_string(keys) + ",expires=0,avg_ttl=0");
}

void WriteFacts(InfoWriter* out, const Stats& stats) {
  out->Section("Facts");
  out->Field("entities", stats.entities);
  out->Field("fact_sets", stats.fact_sets);
  out->Field("facts", stats.facts);
  out->Field("plain_keys", stats.plain_keys);
  out->Field("facts_memory_bytes", stats.memory_bytes);
  out->Field("ids", stats.ids);
  out->Field("ids_memory_bytes", stats.ids_memory_bytes);
  out->Field("shards", stats.shards);
  out->Field("shards_loaded", stats.shards_loaded);
  out->Field("corrupt_entities", stats.corrupt_entities);
}

void WriteCounts(InfoWriter* out, const Stats& stats) {
  out->Section("Counts");
  out->Field("records_written", stats.records_written);
  out->Field("dirty_entities", stats.dirty_entities);
  out->Field("counts_saturated", stats.counts_saturated);
  out->Field("counts_healed", stats.counts_healed);
}

void WriteJournal(InfoWriter* out, const Stats& stats) {
  out->Section("Journal");
  out->Field("partitions", stats.partitions);
  out->Field("events", stats.events);
  out->Field("events_in_flight", stats.events_in_flight);
  out->Field("busy_refusals", stats.busy_refusals);
  out->Field("journal_batches", stats.journal_batches);
  out->Field("journal_bytes", stats.journal_bytes);
  out->Field("journal_tail_events", stats.journal_tail_events);
  out->Field("snapshots_written", stats.snapshots_written);
  out->Field("syncs", stats.syncs);
}

}  // namespace

std::string InfoText(ServerState* server, std::span<const std::string_view> sections) {
  const auto wanted = [sections](std::string_view name) {
    return sections.empty() ||
           std::any_of(sections.begin(), sections.end(), [&](std::string_view s) {
             return EqualsIgnoreCase(s, name) || EqualsIgnoreCase(s, "all") ||
                    EqualsIgnoreCase(s, "default") || EqualsIgnoreCase(s, "everything");
           });
  };
  const Stats stats = server->engine().GetStats();
  InfoWriter out;
  if (wanted("server")) WriteServer(&out, server);
  if (wanted("clients")) WriteClients(&out, server);
  if (wanted("memory")) WriteMemory(&out, stats);
  if (wanted("persistence")) WritePersistence(&out, server, stats);
  if (wanted("stats")) WriteStats(&out, server);
  if (wanted("replication")) WriteReplication(&out, server);
  if (wanted("cpu")) WriteCpu(&out);
  if (wanted("keyspace")) WriteKeyspace(&out, stats);
  if (wanted("facts")) WriteFacts(&out, stats);
  if (wanted("counts")) WriteCounts(&out, stats);
  if (wanted("journal")) WriteJournal(&out, stats);
  return out.Take();
}

}  // namespace tallystick::server
