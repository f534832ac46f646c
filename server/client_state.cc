#include "server/client_state.h"

#include <cassert>

#include "server/commands/command.h"

namespace tallystick::server {

void ClientRegistry::Add(ClientState* client) {
  const std::lock_guard lock(mutex_);
  client->id = next_id_++;
  clients_.emplace(client->id, client);
  size_.store(clients_.size(), std::memory_order_relaxed);
}

void ClientRegistry::Remove(ClientState* client) {
  const std::lock_guard lock(mutex_);
  const size_t removed = clients_.erase(client->id);
  assert(removed == 1);
  (void)removed;
  size_.store(clients_.size(), std::memory_order_relaxed);
}

void ClientRegistry::Set(std::string ClientState::*member, ClientState* client,
                         std::string_view value) {
  const std::lock_guard lock(mutex_);
  client->*member = std::string(value);
}

std::string ClientRegistry::Get(std::string ClientState::*member, const ClientState& client) const {
  const std::lock_guard lock(mutex_);
  return client.*member;
}

void ClientRegistry::ForEach(const std::function<void(const ClientState&)>& visit) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, client] : clients_) visit(*client);
}

std::string ClientRegistry::Describe(const ClientState& client, int64_t now_ms) {
  const CommandSpec* command = client.last_command.load(std::memory_order_relaxed);
  const auto number = [](auto value) { return std::to_string(value); };
  const int64_t age_s = (now_ms - client.created_ms) / 1000;
  const int64_t idle_s = (now_ms - client.last_active_ms.load(std::memory_order_relaxed)) / 1000;
  std::string line =
      "id=" + number(client.id) + " addr=" + client.address + " laddr=" + client.local_address +
      " fd=" + number(client.fd) + " name=" + client.name + " age=" + number(age_s) +
      " idle=" + number(idle_s) + " flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 qbuf=" +
      number(client.query_bytes.load(std::memory_order_relaxed)) +
      " qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=" +
      number(client.output_bytes.load(std::memory_order_relaxed)) + " tot-mem=0 events=r cmd=";
  line.append(command != nullptr ? command->name : "NULL");
  line += " user=default redir=-1 resp=" + number(client.protocol.load(std::memory_order_relaxed));
  if (!client.lib_name.empty()) line += " lib-name=" + client.lib_name;
  if (!client.lib_version.empty()) line += " lib-ver=" + client.lib_version;
  return line;
}

}  // namespace tallystick::server
