#include "server/server.h"

#include <algorithm>
#include <sstream>
#include <thread>

#include "server/error_reply.h"
#include "server/log.h"

namespace tallystick::server {

namespace {

constexpr size_t kWorkers = 2;  // threads for commands that may block
constexpr uint64_t kIoThreadsDefaultMax = 16;
constexpr auto kAcceptPause = std::chrono::milliseconds(100);  // when descriptors have run out

size_t IoThreadCount(const ServerOptions& options) {
  if (options.threads != 0) return options.threads;
  const uint64_t cores = std::max(1u, std::thread::hardware_concurrency());
  return std::min(cores, kIoThreadsDefaultMax);
}

}  // namespace

Server::Server(Engine* engine, const ServerOptions& options)
    : options_(options), state_(engine, options, this), workers_(kWorkers) {
  const size_t count = IoThreadCount(options);
  state_.set_io_threads(static_cast<uint32_t>(count));
  for (size_t i = 0; i < count; ++i) {
    threads_.push_back(std::make_unique<IoThread>(&state_, &workers_));
  }
}

Server::~Server() {
  Stop();
}

Status Server::Start() {
  std::istringstream addresses(options_.bind);
  for (std::string address; addresses >> address;) {
    Status status = Listen(address);
    if (!status.ok()) return status;
  }
  if (acceptors_.empty()) {
    return Status::Error(StatusCode::kInvalidArgument, "'bind' names no address");
  }
  accept_pause_ = std::make_unique<asio::steady_timer>(threads_[0]->context());
  for (auto& acceptor : acceptors_) Accept(acceptor.get());
  for (auto& thread : threads_) thread->Start();
  return {};
}

Status Server::Listen(const std::string& address) {
  std::error_code error;
  const auto failed = [&](const char* what) {
    return Status::Error(StatusCode::kIoError, std::string(what) + " " + address + ":" +
                                                   std::to_string(options_.port) + ": " +
                                                   error.message());
  };
  const asio::ip::address ip = asio::ip::make_address(address, error);
  if (error) return failed("not an IP address to bind:");
  // Port 0 picks one; further addresses then take the same.
  const uint16_t port = state_.port() != 0 ? state_.port() : static_cast<uint16_t>(options_.port);
  auto acceptor = std::make_unique<Acceptor>(threads_[0]->context());
  const asio::ip::tcp::endpoint endpoint(ip, port);
  acceptor->open(endpoint.protocol(), error);
  if (error) return failed("cannot open a socket for");
  acceptor->set_option(asio::socket_base::reuse_address(true), error);
  if (ip.is_v6()) acceptor->set_option(asio::ip::v6_only(true), error);
  acceptor->bind(endpoint, error);
  if (error) return failed("cannot bind");
  acceptor->listen(static_cast<int>(options_.tcp_backlog), error);
  if (error) return failed("cannot listen on");
  state_.set_port(acceptor->local_endpoint(error).port());
  acceptors_.push_back(std::move(acceptor));
  return {};
}

void Server::Accept(Acceptor* acceptor) {
  // Round robin: with few long-lived clients SO_REUSEPORT spreads them unevenly.
  IoThread* const target = threads_[next_thread_++ % threads_.size()].get();
  acceptor->async_accept(
      target->context().get_executor(),
      [this, acceptor, target](const std::error_code& error, Socket socket) {
        if (error == asio::error::operation_aborted || !acceptor->is_open()) return;
        if (error == asio::error::no_descriptors || error == asio::error::no_buffer_space) {
          accept_pause_->expires_after(kAcceptPause);
          accept_pause_->async_wait([this, acceptor](const std::error_code& stopped) {
            if (!stopped) Accept(acceptor);
          });
          return;
        }
        if (!error) Admit(std::move(socket), target);
        Accept(acceptor);
      });
}

void Server::Admit(Socket socket, IoThread* target) {
  std::error_code ignored;
  ServerCounters& counters = state_.counters();
  counters.connections.fetch_add(1, std::memory_order_relaxed);
  socket.non_blocking(true, ignored);
  if (state_.clients().size() >= state_.maxclients()) {
    counters.rejected_connections.fetch_add(1, std::memory_order_relaxed);
    const std::string refusal = "-" + std::string(error::kMaxClients) + "\r\n";
    socket.send(asio::buffer(refusal), 0, ignored);
    return;  // the socket closes itself
  }
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  if (options_.tcp_keepalive > 0) {
    const int seconds = static_cast<int>(options_.tcp_keepalive);
    using IdleSeconds = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPIDLE>;
    using EverySeconds = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPINTVL>;
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
    socket.set_option(IdleSeconds(seconds), ignored);
    socket.set_option(EverySeconds(std::max(1, seconds / 3)), ignored);
  }
  target->Adopt(std::move(socket));
}

void Server::RequestShutdown() {
  {
    const std::lock_guard lock(mutex_);
    shutdown_requested_ = true;
  }
  state_.set_stopping();
  shutdown_.notify_all();
}

void Server::WaitForShutdown() {
  std::unique_lock lock(mutex_);
  shutdown_.wait(lock, [this] { return shutdown_requested_; });
}

void Server::CloseClient(uint64_t id) {
  for (auto& thread : threads_) thread->CloseClient(id);
}

void Server::Stop() {
  if (stopped_) return;
  stopped_ = true;
  state_.set_stopping();
  if (!acceptors_.empty() && accept_pause_ != nullptr) {
    asio::post(threads_[0]->context(), [this] {
      std::error_code ignored;
      for (auto& acceptor : acceptors_) acceptor->close(ignored);
      accept_pause_->cancel();
    });
  }
  for (auto& thread : threads_) thread->Stop();
  for (auto& thread : threads_) thread->Join();
  workers_.join();
  acceptors_.clear();
}

}  // namespace tallystick::server
