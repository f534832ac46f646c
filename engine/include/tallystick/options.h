// How an engine is opened. Every option says its unit, default and limits, and whether it is fixed
// when the directory is created, when it is opened, or may change while open.
#pragma once

#include <tallystick/counts.h>
#include <tallystick/export.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tallystick {

// When a write is acknowledged, and what a crash may then take back (see docs/architecture.md).
enum class Durability : uint8_t {
  kAlways,    // after fsync of its journal batch
  kEverySec,  // once its batch is with the operating system; fsync every second
  kNo,        // as kEverySec, without our fsync
};

enum class LogLevel : uint8_t { kDebug, kInfo, kWarn, kError };

// Receives the engine's log lines. Called from any thread; must not call back into the engine.
class TALLYSTICK_EXPORT Logger {
 public:
  virtual ~Logger() = default;
  virtual void Write(LogLevel level, std::string_view line) = 0;
};

// The uids of an entity type's facts stand for ids of a namespace: any bytes, which the engine maps
// to small ordinals (Engine::GiveOrdinals). Types that share users share a namespace.
struct IdNamespaceSpec {
  std::string etype;  // or "*": every type that is not listed
  std::string name;   // [A-Za-z0-9_-]{1,64}
  friend bool operator==(const IdNamespaceSpec&, const IdNamespaceSpec&) = default;
};

struct Options {
  // Directory of the data; made (mode 0700) when missing and create_if_missing. One process at a
  // time.
  std::string dir;
  bool create_if_missing = true;
  Durability durability = Durability::kEverySec;  // may change while open: Engine::SetDurability

  // Fixed at creation; when opening an existing directory 0 (or an empty schema) takes what it has,
  // and anything else that differs is refused by name.
  uint32_t shards = 0;               // default 256; power of two, 1 to 4096
  uint32_t partitions = 0;           // default 16; power of two, 1 to shards
  SchemaSpec schema;                 // default SchemaSpec::Default()
  std::vector<IdNamespaceSpec> ids;  // default none: uids are numbers

  uint32_t ring_events_per_shard =
      512;                          // events in flight of one shard before writers wait; 2 to 32768
  int32_t busy_timeout_ms = 1000;   // patience of a writer before kBusy; 0 to 3,600,000
  uint32_t aggregator_threads = 0;  // 0: half of the cores, at least 1
  uint32_t flush_interval_ms = 200;  // record write-back window; 1 to 3,600,000
  uint32_t flush_threshold_events =
      65536;  // folded events of a partition that flush before the window ends
  uint32_t checkpoint_interval_ms = 5000;        // how often dirty sets are written as snapshots
  uint64_t journal_tail_bytes_max = 256u << 20;  // a longer replay tail forces the checkpoint
  uint64_t journal_retention_ms =
      7ull * 24 * 3600 * 1000;  // replayable history, never past the checkpoint
  uint64_t journal_retention_bytes = 4ull << 30;

  // Open although durable journal has vanished; what it touched is marked for a recount. Never a
  // default.
  bool accept_loss = false;
  // Load the whole index in the background after opening. Off only to measure lazy loading.
  bool warm_up = true;

  std::shared_ptr<Logger> logger;  // null: warnings and errors to stderr
};

}  // namespace tallystick
