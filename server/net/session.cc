#include "server/net/session.h"

#include <cassert>

#include "server/net/io_thread.h"

namespace tallystick::server {

namespace {

// What a session keeps between turns, at most.
constexpr size_t kKeptOutputBytes = 16 * 1024;
constexpr size_t kKeptSpans = 64;

// A turn's worth of a pipeline. One turn makes one commit: the more it holds, the less each costs.
constexpr size_t kReadAheadBytes = 64 * 1024;

std::string EndpointText(const asio::ip::tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  const std::string port = std::to_string(endpoint.port());
  return endpoint.address().is_v6() ? "[" + address + "]:" + port : address + ":" + port;
}

}  // namespace

Session::Session(IoThread* io, Socket socket) : io_(io), socket_(std::move(socket)) {
  std::error_code ignored;
  client_.fd = socket_.native_handle();
  client_.address = EndpointText(socket_.remote_endpoint(ignored));
  client_.local_address = EndpointText(socket_.local_endpoint(ignored));
  client_.created_ms = MonotonicMs();
  client_.last_active_ms = client_.created_ms;
  client_.authenticated = !io_->server().password_required();
  io_->server().clients().Add(&client_);
}

Session::~Session() {
  io_->server().clients().Remove(&client_);
}

void Session::Start() {
  Read();
}

int64_t Session::sending_ms(int64_t now_ms) const {
  return doing_ == Doing::kSending ? now_ms - sending_since_ms_ : 0;
}

void Session::Read() {
  assert(doing_ == Doing::kNothing);
  doing_ = Doing::kReading;
  const InputBuffer::Room room = input_.Reserve();
  socket_.async_read_some(
      asio::buffer(room.data, room.size),
      [this](const std::error_code& error, size_t bytes) { OnRead(error, bytes); });
}

void Session::OnRead(const std::error_code& error, size_t bytes) {
  doing_ = Doing::kNothing;
  if (closing_ || error) {
    closing_ = true;
    FinishClose();
    return;
  }
  input_.Commit(bytes);
  bytes += ReadRest();
  io_->server().counters().input_bytes.fetch_add(bytes, std::memory_order_relaxed);
  Advance();
}

size_t Session::ReadRest() {
  size_t read = 0;
  while (input_.is_full() && input_.size() < kReadAheadBytes) {
    const InputBuffer::Room room = input_.Reserve();
    std::error_code error;
    const size_t bytes = socket_.read_some(asio::buffer(room.data, room.size), error);
    if (error || bytes == 0) break;  // nothing more yet; the end of the stream is met by Read
    input_.Commit(bytes);
    read += bytes;
  }
  return read;
}

void Session::Advance() {
  assert(doing_ == Doing::kNothing && output_.empty());
  Turn& turn = io_->turn();
  after_send_ = turn.Run(&client_, &parser_, &input_, &output_, &ticket_);
  if (after_send_ == Turn::End::kSlow) {
    slow_request_.swap(turn.slow_request());
    slow_bytes_ = turn.slow_bytes();
  }
  if (ticket_.empty()) {
    Send();
  } else {
    held_spans_ = turn.spans();
    Acknowledge();
  }
}

void Session::Acknowledge() {
  doing_ = Doing::kWaiting;
  Engine& engine = io_->server().engine();
  if (engine.durability() != Durability::kAlways) {
    io_->CommitLater(this);
    return;
  }
  // The engine calls back from its own thread (or at once, from this one): go on in the event loop.
  engine.OnReady(ticket_, WaitFor::kDisk, [this](const Status& status) {
    asio::post(io_->context(), [this, status] { OnDurable(status); });
  });
}

void Session::Commit() {
  OnDurable(io_->server().engine().Wait(ticket_, WaitFor::kJournal));
}

void Session::OnDurable(const Status& status) {
  doing_ = Doing::kNothing;
  ticket_.Clear();
  if (closing_) {
    FinishClose();
    return;
  }
  if (!status.ok()) FailWrites(status, held_spans_, &output_);
  held_spans_.clear();
  if (held_spans_.capacity() > kKeptSpans) held_spans_.shrink_to_fit();
  Send();
}

void Session::Send() {
  assert(doing_ == Doing::kNothing);
  std::error_code error;
  if (sent_ < output_.size()) {
    const size_t bytes =
        socket_.send(asio::buffer(output_.data() + sent_, output_.size() - sent_), 0, error);
    sent_ += bytes;
    io_->server().counters().output_bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  if (error && error != asio::error::would_block && error != asio::error::try_again) {
    closing_ = true;
    FinishClose();
    return;
  }
  client_.output_bytes.store(output_.size() - sent_, std::memory_order_relaxed);
  if (sent_ == output_.size() || finishing_) {
    Continue();
    return;
  }
  doing_ = Doing::kSending;
  sending_since_ms_ = MonotonicMs();
  socket_.async_wait(Socket::wait_write,
                     [this](const std::error_code& wait_error) { OnSent(wait_error); });
}

void Session::OnSent(const std::error_code& error) {
  doing_ = Doing::kNothing;
  if (closing_ || error) {
    closing_ = true;
    FinishClose();
    return;
  }
  Send();
}

void Session::Continue() {
  output_.clear();
  sent_ = 0;
  if (output_.capacity() > kKeptOutputBytes) output_.shrink_to_fit();
  if (finishing_) closing_ = true;
  if (FinishClose()) return;
  switch (after_send_) {
    case Turn::End::kNeedInput:
      Read();
      return;
    case Turn::End::kMore:
      // Behind the other sessions that are ready.
      doing_ = Doing::kWaiting;
      asio::post(io_->context(), [this] {
        doing_ = Doing::kNothing;
        if (!FinishClose()) Advance();
      });
      return;
    case Turn::End::kSlow:
      RunSlow();
      return;
    case Turn::End::kClose:
      closing_ = true;
      FinishClose();
      return;
  }
}

void Session::RunSlow() {
  doing_ = Doing::kSlow;
  asio::post(io_->workers(), [this] {
    ServerState& server = io_->server();
    after_send_ = Turn::RunSlow(&server, &client_, slow_request_, &output_, &ticket_, &held_spans_);
    if (!ticket_.empty()) {
      const bool always = server.engine().durability() == Durability::kAlways;
      const Status status =
          server.engine().Wait(ticket_, always ? WaitFor::kDisk : WaitFor::kJournal);
      if (!status.ok()) FailWrites(status, held_spans_, &output_);
      ticket_.Clear();
    }
    asio::post(io_->context(), [this] { OnSlowDone(); });
  });
}

void Session::OnSlowDone() {
  doing_ = Doing::kNothing;
  held_spans_.clear();
  slow_request_.clear();
  input_.Consume(slow_bytes_);
  if (!FinishClose()) Send();
}

void Session::Close() {
  closing_ = true;
  std::error_code ignored;
  // Ends a pending read or wait-to-send with an error; the others come back by themselves.
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.cancel(ignored);
}

void Session::Finish() {
  if (doing_ == Doing::kWaiting || doing_ == Doing::kSlow) {
    finishing_ = true;
  } else {
    Close();
  }
}

bool Session::FinishClose() {
  if (!closing_) return false;
  assert(doing_ == Doing::kNothing);
  std::error_code ignored;
  socket_.close(ignored);
  io_->Forget(this);
  return true;
}

}  // namespace tallystick::server
