#include "server/net/io_thread.h"

#include <cassert>

#include "server/log.h"

namespace tallystick::server {

IoThread::IoThread(ServerState* server, WorkerPool* workers)
    : server_(server),
      workers_(workers),
      guard_(context_.get_executor()),
      sweep_timer_(context_),
      turn_(server) {}

IoThread::~IoThread() {
  Join();
}

void IoThread::Start() {
  ScheduleSweep();
  thread_ = std::thread([this] { context_.run(); });
}

void IoThread::Join() {
  if (thread_.joinable()) thread_.join();
}

void IoThread::Stop() {
  asio::post(context_, [this] {
    stopping_ = true;
    sweep_timer_.cancel();
    for (auto& [id, session] : sessions_) session->Finish();
    EndWhenEmpty();
  });
}

void IoThread::EndWhenEmpty() {
  if (stopping_ && sessions_.empty()) guard_.reset();
}

void IoThread::Adopt(Socket socket) {
  // The socket already belongs to this context; only the session must be made on its thread.
  asio::post(context_, [this, moved = std::move(socket)]() mutable {
    if (stopping_) return;
    auto session = std::make_unique<Session>(this, std::move(moved));
    Session* const raw = session.get();
    sessions_.emplace(raw->client().id, std::move(session));
    raw->Start();
  });
}

void IoThread::CloseClient(uint64_t id) {
  asio::post(context_, [this, id] {
    const auto found = sessions_.find(id);
    if (found != sessions_.end()) found->second->Close();
  });
}

void IoThread::Forget(Session* session) {
  const size_t removed = sessions_.erase(session->client().id);
  assert(removed == 1);
  (void)removed;
  EndWhenEmpty();
}

void IoThread::CommitLater(Session* session) {
  // The handlers of everything that has become ready with this session are queued already, so this
  // one runs after theirs.
  if (to_commit_.empty()) asio::post(context_, [this] { CommitAll(); });
  to_commit_.push_back(session);
}

void IoThread::CommitAll() {
  assert(committing_.empty());
  committing_.swap(to_commit_);
  for (Session* session : committing_) session->Commit();  // may end the session
  committing_.clear();
}

void IoThread::ScheduleSweep() {
  sweep_timer_.expires_after(std::chrono::seconds(1));
  sweep_timer_.async_wait([this](const std::error_code& error) {
    if (error || stopping_) return;
    Sweep();
    ScheduleSweep();
  });
}

void IoThread::Sweep() {
  const int64_t now_ms = MonotonicMs();
  const int64_t idle_limit_ms = static_cast<int64_t>(server_->timeout_s()) * 1000;
  const bool password = server_->password_required();
  for (auto& [id, session] : sessions_) {
    ClientState& client = session->client();
    const int64_t idle_ms = now_ms - client.last_active_ms.load(std::memory_order_relaxed);
    const bool idle = idle_limit_ms > 0 && session->is_reading() && idle_ms > idle_limit_ms;
    const bool stranger = password && session->is_reading() && !client.authenticated &&
                          now_ms - client.created_ms > kAuthenticateMs;
    const bool stuck = session->sending_ms(now_ms) > kSlowReaderMs;
    if (!idle && !stranger && !stuck) continue;
    LogClientTrouble(client, stuck      ? "does not read its replies; closed"
                             : stranger ? "did not authenticate in time; closed"
                                        : "idle for too long; closed");
    session->Close();
  }
}

}  // namespace tallystick::server
