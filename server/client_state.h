// ClientState: one connection as commands see it; ClientRegistry: all of them, for CLIENT LIST.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace tallystick::server {

struct CommandSpec;

struct ClientState {
  // Fixed when the connection is accepted.
  uint64_t id = 0;
  int fd = -1;
  std::string address;
  std::string local_address;
  int64_t created_ms = 0;

  // Written by the thread that runs the client, read by any.
  std::atomic<int64_t> last_active_ms{0};
  std::atomic<const CommandSpec*> last_command{nullptr};
  std::atomic<int> protocol{2};
  std::atomic<uint64_t> query_bytes{0};
  std::atomic<uint64_t> output_bytes{0};

  // Guarded by the registry's mutex (ClientRegistry::Rename and friends).
  std::string name;
  std::string lib_name;
  std::string lib_version;

  // Of the thread that runs the client only.
  bool authenticated = true;
};

class ClientRegistry {
 public:
  // Gives the client its id. `client` stays with the caller, who removes it before destroying it.
  void Add(ClientState* client);
  void Remove(ClientState* client);
  size_t size() const { return size_.load(std::memory_order_relaxed); }

  void Set(std::string ClientState::*member, ClientState* client, std::string_view value);
  std::string Get(std::string ClientState::*member, const ClientState& client) const;

  // Calls visit for each client in order of id, under the lock: visit must not call the registry.
  void ForEach(const std::function<void(const ClientState&)>& visit) const;
  // The line of CLIENT LIST and CLIENT INFO, without the line end. Only within ForEach.
  static std::string Describe(const ClientState& client, int64_t now_ms);

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, ClientState*> clients_;
  uint64_t next_id_ = 1;
  std::atomic<size_t> size_{0};
};

}  // namespace tallystick::server
