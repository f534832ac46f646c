// Server: listens, hands connections to I/O threads, and stops cleanly.
#pragma once

#include <tallystick/engine.h>

#include <asio.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "server/net/io_thread.h"
#include "server/server_state.h"

namespace tallystick::server {

class Server : public ServerControl {
 public:
  // `engine` outlives this.
  Server(Engine* engine, const ServerOptions& options);
  ~Server() override;

  // Binds and starts serving; port() is then known. kIoError names the address.
  Status Start();
  uint16_t port() const { return state_.port(); }

  // Returns once RequestShutdown has been called.
  void WaitForShutdown();
  // Accepts no more, answers what has been asked, closes all connections. Idempotent.
  void Stop();

  // ServerControl; any thread, never blocks.
  void RequestShutdown() override;
  void CloseClient(uint64_t id) override;

 private:
  using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, asio::io_context::executor_type>;

  Status Listen(const std::string& address);
  void Accept(Acceptor* acceptor);
  void Admit(Socket socket, IoThread* target);

  const ServerOptions options_;
  ServerState state_;
  WorkerPool workers_;
  std::vector<std::unique_ptr<IoThread>> threads_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::unique_ptr<asio::steady_timer> accept_pause_;
  size_t next_thread_ = 0;  // of the accepting thread

  std::mutex mutex_;
  std::condition_variable shutdown_;
  bool shutdown_requested_ = false;  // guarded by mutex_
  bool stopped_ = false;             // of the thread that owns the server
};

}  // namespace tallystick::server
