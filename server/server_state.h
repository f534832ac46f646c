// ServerState: what every command may use: the engine, the settings that may change while running,
// the connected clients, and the counters behind INFO. Thread-safe unless a member says otherwise.
#pragma once

#include <tallystick/engine.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "server/client_state.h"
#include "server/server_options.h"

namespace tallystick::server {

// Counters since start or CONFIG RESETSTAT.
struct ServerCounters {
  std::atomic<uint64_t> connections{0};
  std::atomic<uint64_t> rejected_connections{0};
  std::atomic<uint64_t> commands{0};
  std::atomic<uint64_t> error_replies{0};
  std::atomic<uint64_t> protocol_errors{0};
  std::atomic<uint64_t> auth_failures{0};
  std::atomic<uint64_t> input_bytes{0};
  std::atomic<uint64_t> output_bytes{0};
  std::atomic<uint64_t> keyspace_hits{0};
  std::atomic<uint64_t> keyspace_misses{0};
  // Writes to managed count keys, which the engine derives itself (answered OK, never stored).
  std::atomic<uint64_t> managed_writes{0};

  void Reset();
};

// What commands ask of the sockets' side.
class ServerControl {
 public:
  virtual ~ServerControl() = default;
  virtual void RequestShutdown() = 0;
  virtual void CloseClient(uint64_t id) = 0;
};

class ServerState {
 public:
  // `engine` and `control` outlive this.
  ServerState(Engine* engine, ServerOptions options, ServerControl* control);

  Engine& engine() { return *engine_; }
  ServerControl& control() { return *control_; }
  ServerCounters& counters() { return counters_; }
  ClientRegistry& clients() { return clients_; }

  // ---- settings ----
  ServerOptions options() const;  // a copy
  // Changes settings together or not at all; kInvalidArgument names the culprit in *failed.
  Status Change(std::span<const std::pair<const Parameter*, std::string>> changes,
                std::string* failed);
  uint64_t proto_max_bulk_len() const {
    return proto_max_bulk_len_.load(std::memory_order_relaxed);
  }
  uint64_t query_buffer_limit() const {
    return query_buffer_limit_.load(std::memory_order_relaxed);
  }
  uint64_t maxclients() const { return maxclients_.load(std::memory_order_relaxed); }
  uint64_t timeout_s() const { return timeout_s_.load(std::memory_order_relaxed); }
  bool password_required() const { return password_required_.load(std::memory_order_relaxed); }
  // Constant-time in the given password's length.
  bool PasswordMatches(std::string_view password) const;

  // ---- plain keys under the name of a likes face ----
  // False while no such key has ever been written, which spares every likes command a look-up.
  // Once true it stays true until FLUSHALL; it is remembered in the data directory, and read from
  // there on first use, since a start must not wait for the journal of a partition.
  Result<bool> LikesShadowed() {
    const Shadows known = shadows_.load(std::memory_order_acquire);
    if (known == Shadows::kUnknown) return LoadShadowNote();
    return known == Shadows::kSome;
  }
  // Whoever writes such a key holds this shared, from before it looks at the key until after the
  // write; FLUSHALL holds it alone. So no key is ever there without its note.
  std::shared_mutex& shadow_mutex() { return shadow_mutex_; }
  Status NoteShadow();
  void ForgetShadows() { shadows_.store(Shadows::kNone, std::memory_order_release); }

  // ---- facts for INFO ----
  const std::string& run_id() const { return run_id_; }
  int64_t uptime_s() const;
  uint16_t port() const { return port_.load(std::memory_order_relaxed); }
  void set_port(uint16_t port) { port_.store(port, std::memory_order_relaxed); }
  uint32_t io_threads() const { return io_threads_; }
  void set_io_threads(uint32_t threads) { io_threads_ = threads; }
  bool stopping() const { return stopping_.load(std::memory_order_acquire); }
  void set_stopping() { stopping_.store(true, std::memory_order_release); }

 private:
  enum class Shadows : uint8_t { kUnknown, kNone, kSome };

  Result<bool> LoadShadowNote();
  void Publish();  // copies the hot settings into their atomics; mutex_ is held

  Engine* const engine_;
  ServerControl* const control_;
  ServerCounters counters_;
  ClientRegistry clients_;

  mutable std::mutex mutex_;
  ServerOptions options_;  // guarded by mutex_
  std::atomic<uint64_t> proto_max_bulk_len_{0};
  std::atomic<uint64_t> query_buffer_limit_{0};
  std::atomic<uint64_t> maxclients_{0};
  std::atomic<uint64_t> timeout_s_{0};
  std::atomic<bool> password_required_{false};

  std::shared_mutex shadow_mutex_;
  std::atomic<Shadows> shadows_{Shadows::kUnknown};
  std::atomic<bool> stopping_{false};
  std::atomic<uint16_t> port_{0};
  uint32_t io_threads_ = 1;
  const std::string run_id_;
  const int64_t started_ms_;
};

// Monotonic milliseconds, coarse (a few ms), cheap enough for every turn.
int64_t MonotonicMs();
// Microseconds since 1970.
int64_t WallClockUs();

}  // namespace tallystick::server
