// IoThread: one thread with one event loop, and the sessions that live on it.
#pragma once

#include <asio.hpp>

#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "server/commands/turn.h"
#include "server/net/session.h"
#include "server/server_state.h"

namespace tallystick::server {

// Where blocking commands run; shared by all I/O threads.
using WorkerPool = asio::thread_pool;

class IoThread {
 public:
  // A session that has sent nothing valid within this time after connecting, where a password is
  // required, is closed.
  static constexpr int64_t kAuthenticateMs = 10000;
  // A client that has not read its replies for this long is closed.
  static constexpr int64_t kSlowReaderMs = 60000;

  IoThread(ServerState* server, WorkerPool* workers);
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  void Start();
  // Closes all sessions, once each has had its answers, and ends the loop when the last is gone.
  // Any thread.
  void Stop();
  void Join();

  // Takes over an accepted connection. Any thread.
  void Adopt(Socket socket);
  // Closes the client if it is one of this thread's. Any thread.
  void CloseClient(uint64_t id);

  asio::io_context& context() { return context_; }

  // ---- for sessions, on this thread ----
  ServerState& server() { return *server_; }
  Turn& turn() { return turn_; }
  WorkerPool& workers() { return *workers_; }
  // Has session->Commit() called once every session that is ready now has run its turn: the first
  // one to wait then writes the journal for all of them.
  void CommitLater(Session* session);
  // Destroys the session.
  void Forget(Session* session);

 private:
  void Sweep();  // once a second: time-outs
  void ScheduleSweep();
  void EndWhenEmpty();
  void CommitAll();

  ServerState* const server_;
  WorkerPool* const workers_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  asio::steady_timer sweep_timer_;
  Turn turn_;
  std::unordered_map<uint64_t, std::unique_ptr<Session>> sessions_;
  std::vector<Session*> to_commit_;
  std::vector<Session*> committing_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tallystick::server
