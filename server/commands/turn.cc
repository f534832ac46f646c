#include "server/commands/turn.h"

#include "server/commands/command_table.h"
#include "server/error_reply.h"
#include "server/log.h"

namespace tallystick::server {

namespace {

// What must hold before a handler may run; null when all does.
std::string Refusal(const ServerState& server, const ClientState& client,
                    std::span<const std::string_view> args, const CommandMatch& match) {
  if (match.spec == nullptr) {
    return match.container != nullptr ? UnknownSubcommandError(args[0], args[1])
                                      : UnknownCommandError(args);
  }
  if (!ArityFits(*match.spec, args.size())) return ArityError(match.spec->name);
  if (!client.authenticated && server.password_required() && (match.spec->flags & kNoAuth) == 0) {
    return std::string(error::kNoAuth);
  }
  return {};
}

}  // namespace

Turn::Turn(ServerState* server) : server_(server), batch_(&server->engine()) {}

Flow Turn::Dispatch(ClientState* client, std::span<const std::string_view> args,
                    ReplyWriter* writer, Ticket* ticket) {
  const CommandMatch match = FindCommand(args);
  if (match.spec == nullptr || !ArityFits(*match.spec, args.size()) || !client->authenticated) {
    const std::string refusal = Refusal(*server_, *client, args, match);
    if (!refusal.empty()) {
      batch_.Flush();
      spans_.push_back({writer->size(), false});
      writer->Error(refusal);
      server_->counters().error_replies.fetch_add(1, std::memory_order_relaxed);
      return Flow::kNext;
    }
  }
  client->last_command.store(match.spec, std::memory_order_relaxed);
  if ((match.spec->flags & kBatch) == 0) batch_.Flush();
  if ((match.spec->flags & kSlow) != 0) return Flow::kSlowLane;
  CommandContext context{*server_, *client, args,    *match.spec, batch_,
                         *writer,  ticket,  &spans_, false};
  return match.spec->handler(context);
}

Turn::End Turn::Run(ClientState* client, RequestParser* parser, InputBuffer* input,
                    std::string* out, Ticket* ticket) {
  spans_.clear();
  ReplyWriter writer(out, client->protocol.load(std::memory_order_relaxed));
  batch_.Begin(&writer, ticket, &spans_);
  size_t commands = 0;
  End end = End::kNeedInput;
  size_t consumed = 0;  // of the input, by this turn: views stay valid until the batch has run
  ParserLimits limits;
  limits.bulk_bytes_max = server_->proto_max_bulk_len();
  limits.request_bytes_max = server_->query_buffer_limit();
  while (true) {
    limits.authenticated = client->authenticated || !server_->password_required();
    if (!limits.authenticated) {
      limits.request_bytes_max = kUnauthenticatedArgumentsMax * (kUnauthenticatedBulkBytesMax + 64);
    }
    size_t used = 0;
    const ParseOutcome outcome = parser->Next(input->data() + consumed, input->size() - consumed,
                                              limits, &used, &arguments_);
    if (outcome == ParseOutcome::kIncomplete) {
      consumed += used;
      break;
    }
    if (outcome == ParseOutcome::kProtocolError) {
      batch_.Flush();
      server_->counters().protocol_errors.fetch_add(1, std::memory_order_relaxed);
      LogClientTrouble(*client, parser->error());
      writer.Error(std::string("ERR ").append(parser->error()));
      end = End::kClose;
      break;
    }
    ++commands;
    const Flow flow = Dispatch(client, arguments_, &writer, ticket);
    if (flow == Flow::kSlowLane) {
      slow_bytes_ = used;
      end = End::kSlow;
      break;
    }
    consumed += used;
    if (flow == Flow::kClose) {
      end = End::kClose;
      break;
    }
    if (commands >= kCommandsMax || out->size() >= kReplyBytesMax) {
      end = End::kMore;
      break;
    }
  }
  batch_.Flush();
  server_->counters().commands.fetch_add(commands, std::memory_order_relaxed);
  client->protocol.store(writer.protocol(), std::memory_order_relaxed);
  client->last_active_ms.store(MonotonicMs(), std::memory_order_relaxed);
  // Consuming moves no bytes, so the arguments of a slow request stay valid.
  input->Consume(consumed);
  client->query_bytes.store(input->size(), std::memory_order_relaxed);
  return end;
}

Turn::End Turn::RunSlow(ServerState* server, ClientState* client,
                        std::span<const std::string_view> request, std::string* out, Ticket* ticket,
                        std::vector<FactBatch::Span>* spans) {
  spans->clear();
  ReplyWriter writer(out, client->protocol.load(std::memory_order_relaxed));
  FactBatch batch(&server->engine());
  batch.Begin(&writer, ticket, spans);
  const CommandMatch match = FindCommand(request);
  CommandContext context{*server, *client, request, *match.spec, batch,
                         writer,  ticket,  spans,   true};
  const Flow flow = match.spec->handler(context);
  batch.Flush();
  return flow == Flow::kClose ? End::kClose : End::kMore;
}

void FailWrites(const Status& status, const std::vector<FactBatch::Span>& spans, std::string* out) {
  std::string error;
  ReplyWriter(&error, 2).Error(StatusError(status));
  std::string rewritten;
  // Bytes in front of the first span belong to an earlier turn.
  rewritten.append(*out, 0, spans.empty() ? out->size() : spans.front().begin);
  for (size_t i = 0; i < spans.size(); ++i) {
    const size_t end = i + 1 < spans.size() ? spans[i + 1].begin : out->size();
    if (spans[i].is_write) {
      rewritten.append(error);
    } else {
      rewritten.append(*out, spans[i].begin, end - spans[i].begin);
    }
  }
  out->swap(rewritten);
}

}  // namespace tallystick::server
