// RespClient: a blocking RESP2 client with pipelining, for the command-line tool, load drivers and
// tests.
//
// Commands are queued and leave with Flush (or with the first Read). While it sends, the client
// also takes in what the server answers, so that a pipeline of any size cannot end with both sides
// waiting for the other to read. Replies come in the order of the commands.
//
// Thread-safety: none; one thread per client. Waits are bounded by the time-outs of the options.
// Errors: kIoError (refused, closed, reset: the message names host and port), kTimedOut,
// kCorruption (the other side does not speak RESP2). After any of them the connection is unusable.
// A reply that is an error of the server ("-ERR ...") is a value: see RespReply::IsError.
#pragma once

#include "tools/cli/resp_reply.h"

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tallystick {

struct RespClientOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 6379;
  int connect_timeout_ms = 5000;
  int reply_timeout_ms = 60000;  // without any progress in either direction
};

class RespClient {
 public:
  static Result<std::unique_ptr<RespClient>> Connect(const RespClientOptions& options);
  ~RespClient();
  RespClient(const RespClient&) = delete;
  RespClient& operator=(const RespClient&) = delete;

  // Appends one command to the output buffer; nothing is sent yet. At least one argument.
  void Queue(std::span<const std::string_view> arguments);
  void Queue(std::initializer_list<std::string_view> arguments);
  // Sends all that is queued.
  Status Flush();
  // The next reply; sends what is queued first. Asserts that a reply is outstanding.
  Result<RespReply> Read();
  // Queue, then Read. Asserts that no other reply is outstanding.
  Result<RespReply> Call(std::initializer_list<std::string_view> arguments);
  Result<RespReply> Call(std::span<const std::string_view> arguments);

  // Commands queued or sent whose reply was not yet read.
  size_t outstanding() const { return outstanding_; }

 private:
  RespClient(int fd, const RespClientOptions& options);
  // Waits for the socket and moves bytes: sends what is left to send, takes in what has arrived.
  void Pump();
  void ReceiveSome();
  void SendSome();
  void Lost(std::string_view why);
  size_t unsent() const { return output_.size() - sent_; }

  const int fd_;
  const std::string peer_;  // "host:port", for messages
  const int reply_timeout_ms_;
  std::string output_;
  size_t sent_ = 0;  // bytes of output_ that have left
  RespReplyParser parser_;
  size_t outstanding_ = 0;
  Status broken_;  // why the connection is unusable; OK while it is fine
};

}  // namespace tallystick
