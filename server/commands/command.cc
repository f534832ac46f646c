#include "server/commands/command.h"

#include "server/error_reply.h"
#include "server/resp/number.h"
#include "server/server_state.h"

namespace tallystick::server {

Engine& CommandContext::engine() {
  batch.Flush();
  return server.engine();
}

ReplyWriter& CommandContext::reply() {
  batch.Flush();
  if (!span_noted) {
    span_noted = true;
    spans->push_back({writer.size(), (spec.flags & kWrite) != 0});
  }
  return writer;
}

bool CommandContext::Is(size_t index, std::string_view word) const {
  return index < args.size() && EqualsIgnoreCase(args[index], word);
}

Flow CommandContext::Error(std::string_view text) {
  server.counters().error_replies.fetch_add(1, std::memory_order_relaxed);
  reply().Error(text);
  return Flow::kNext;
}

Flow CommandContext::Fail(const Status& status) {
  return Error(StatusError(status));
}

}  // namespace tallystick::server
