// Session: one connection, from its first byte to its last.
//
// Belongs to one I/O thread and is only touched there, except while a slow command runs on a
// worker: then nobody else touches it. At any time it does exactly one thing:
//   reading   waiting for bytes
//   waiting   replies are held until what they acknowledge is journaled or durable
//   slow      a command runs on a worker thread
//   sending   the socket would not take all replies at once
// It reads no further while it does another, so what a client can make us hold is bounded: one
// input buffer, one turn of replies. Replies are tried with a non-blocking send first; only the
// rest goes through the event loop.
#pragma once

#include <asio.hpp>

#include <string>
#include <vector>

#include "server/client_state.h"
#include "server/commands/turn.h"
#include "server/input_buffer.h"
#include "server/resp/request_parser.h"

namespace tallystick::server {

class IoThread;

// Without the type-erased executor, which costs an allocation and virtual calls per operation.
using Socket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;

class Session {
 public:
  Session(IoThread* io, Socket socket);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void Start();
  // Closes now, or as soon as the outstanding operation lets go; then Forget()s itself.
  void Close();
  // Closes once what is being worked on has been answered; at once when that is nothing, or when
  // the client does not take its replies.
  void Finish();

  // Goes on after IoThread::CommitLater: what the replies acknowledge is to reach the journal now.
  void Commit();

  ClientState& client() { return client_; }
  // Milliseconds for which the client has not taken its replies; 0 when it is not sending.
  int64_t sending_ms(int64_t now_ms) const;
  bool is_reading() const { return doing_ == Doing::kReading; }

 private:
  enum class Doing { kNothing, kReading, kWaiting, kSlow, kSending };

  void Read();
  void OnRead(const std::error_code& error, size_t bytes);
  size_t ReadRest();   // what else has arrived of a long pipeline, up to a turn's worth; bytes
  void Advance();      // runs a turn
  void Acknowledge();  // waits for the ticket, then sends
  void OnDurable(const Status& status);
  void Send();
  void OnSent(const std::error_code& error);
  void Continue();  // after everything has been sent
  void RunSlow();
  void OnSlowDone();
  bool FinishClose();  // true: the session is gone

  IoThread* const io_;
  Socket socket_;
  ClientState client_;
  RequestParser parser_;
  InputBuffer input_;
  std::string output_;
  size_t sent_ = 0;  // bytes of output_ that the socket has taken
  Ticket ticket_;
  std::vector<FactBatch::Span> held_spans_;  // of the replies held or of the slow command
  std::vector<std::string_view> slow_request_;
  size_t slow_bytes_ = 0;
  Turn::End after_send_ = Turn::End::kNeedInput;
  Doing doing_ = Doing::kNothing;
  bool closing_ = false;
  bool finishing_ = false;
  int64_t sending_since_ms_ = 0;
};

}  // namespace tallystick::server
