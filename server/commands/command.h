// What a command is: one row of the command table, and what its handler gets to work with.
#pragma once

#include <tallystick/engine.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "server/commands/fact_batch.h"
#include "server/resp/reply_writer.h"

namespace tallystick::server {

class ServerState;
struct ClientState;
struct CommandSpec;

// What a handler asks of the turn that runs it.
enum class Flow : uint8_t {
  kNext,      // the reply is written (or pending in the batch)
  kSlowLane,  // nothing was done or written: run me again on a worker thread, where blocking is
              // fine
  kClose,     // the reply, if any, is written; close the connection once it is sent
};

struct CommandContext {
  ServerState& server;
  ClientState& client;
  std::span<const std::string_view> args;  // args[0] is the command's name as sent
  const CommandSpec& spec;
  FactBatch& batch;
  ReplyWriter& writer;
  Ticket* ticket;  // covers what this client has seen since it was last answered
  std::vector<FactBatch::Span>* spans;
  bool slow_lane;           // on a worker thread
  bool span_noted = false;  // this command has begun its reply

  // The engine for direct use. Pending facts of the batch run first, so order is kept.
  Engine& engine();
  // For replies that do not come from the batch; likewise flushes it first.
  ReplyWriter& reply();
  // A write that is acknowledged through the ticket at the end of the turn.
  static WriteOptions Deferred() { return {.wait = WaitFor::kMemory}; }

  size_t argc() const { return args.size(); }
  bool Is(size_t index, std::string_view word) const;  // option names, without case

  // Each writes one error and returns kNext, so that a handler can return it.
  Flow Error(std::string_view text);
  Flow Fail(const Status& status);
};

using Handler = Flow (*)(CommandContext&);

// Flags of a command, as COMMAND INFO names them, and (from kBatch on) for our own use.
enum CommandFlags : uint32_t {
  kWrite = 1u << 0,
  kReadonly = 1u << 1,
  kDenyOom = 1u << 2,
  kAdmin = 1u << 3,
  kNoScript = 1u << 4,
  kLoadingOk = 1u << 5,
  kStale = 1u << 6,
  kFast = 1u << 7,
  kNoAuth = 1u << 8,
  kBlocking = 1u << 9,
  // The first argument says how many keys follow; first_key is 0.
  kMovableKeys = 1u << 10,
  // Adds its facts to the batch; every other command is a barrier.
  kBatch = 1u << 16,
  // Always runs on a worker thread: it may walk much or wait long.
  kSlow = 1u << 17,
  // The first key is only written, the others are only read.
  kTargetFirst = 1u << 18,
};

enum class Group : uint8_t {
  kConnection,
  kServer,
  kGeneric,
  kString,
  kBitmap,
  kSet,
  kFact,
  kCount
};

struct CommandSpec {
  std::string_view name;  // lower case; "config|get" for a subcommand
  Handler handler;        // null for a container of subcommands
  int arity;              // as in Redis: exact, or at least -arity; counts the name
  uint32_t flags;
  int first_key;  // 0: no keys
  int last_key;   // negative: counted from the end
  int key_step;
  Group group;
  std::string_view since;
  std::string_view complexity;
  std::string_view usage;  // arguments, for docs/commands.md
  std::string_view summary;
};

}  // namespace tallystick::server
