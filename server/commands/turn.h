// Turn: runs the commands that have arrived from one client, a bounded number at a time.
//
// A turn parses and executes until the input is drained, or kCommandsMax commands or kReplyBytesMax
// bytes of replies are reached, so one client's pipeline never keeps the others waiting for long
// and never makes its replies grow without bound. Replies of a turn are only sent once everything
// they acknowledge has reached the durability in force; FailWrites is what happens when that fails.
//
// One per I/O thread, used for one client at a time; not thread-safe. Knows no sockets.
#pragma once

#include <tallystick/engine.h>

#include <string>
#include <string_view>
#include <vector>

#include "server/commands/command.h"
#include "server/input_buffer.h"
#include "server/resp/request_parser.h"
#include "server/server_state.h"

namespace tallystick::server {

class Turn {
 public:
  static constexpr size_t kCommandsMax = 1000;
  static constexpr size_t kReplyBytesMax = 256 * 1024;

  enum class End {
    kNeedInput,  // nothing complete is left in the buffer
    kMore,       // a limit was reached; call again after the replies are sent
    kSlow,   // slow_request() is to run by RunSlow on a worker thread, after the replies are sent
    kClose,  // close once the replies are sent
  };

  explicit Turn(ServerState* server);

  // Appends replies to *out. `input` must not be touched while a slow request is outstanding.
  End Run(ClientState* client, RequestParser* parser, InputBuffer* input, std::string* out,
          Ticket* ticket);

  // After kSlow: the request, views into the input buffer; the caller consumes slow_bytes() of
  // input once it has run.
  std::vector<std::string_view>& slow_request() { return arguments_; }
  size_t slow_bytes() const { return slow_bytes_; }

  // Which bytes of the output answer which command of the last Run.
  const std::vector<FactBatch::Span>& spans() const { return spans_; }

  // Runs one slow request to its end, on any thread, replies appended to *out.
  static End RunSlow(ServerState* server, ClientState* client,
                     std::span<const std::string_view> request, std::string* out, Ticket* ticket,
                     std::vector<FactBatch::Span>* spans);

 private:
  Flow Dispatch(ClientState* client, std::span<const std::string_view> args, ReplyWriter* writer,
                Ticket* ticket);

  ServerState* const server_;
  FactBatch batch_;
  std::vector<std::string_view> arguments_;
  std::vector<FactBatch::Span> spans_;
  size_t slow_bytes_ = 0;
};

// Replaces the reply of every write among the spans by the error of `status`: what the journal did
// not take must not be acknowledged.
void FailWrites(const Status& status, const std::vector<FactBatch::Span>& spans, std::string* out);

}  // namespace tallystick::server
