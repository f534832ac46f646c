// FactBatch: consecutive fact commands of one pipeline, run as one Engine::Apply.
//
// A command opens an item, adds its operations, and the batch writes the reply when it runs them;
// replies come out in the order of the commands. Its own replies are all it may write meanwhile:
// whoever wants to write something else or read the engine flushes first (CommandContext does).
// A command with very many operations runs in pieces of kOpsMax, so memory stays bounded.
// One per I/O thread; not thread-safe. Reuses its memory: no allocation once warm.
#pragma once

#include <tallystick/engine.h>

#include <cstdint>
#include <vector>

#include "server/resp/reply_writer.h"

namespace tallystick::server {

class FactBatch {
 public:
  static constexpr size_t kOpsMax = 1024;

  // How the outcomes of one command become its reply.
  enum class Reply : uint8_t {
    kBefore,        // the bit as it was: SETBIT, GETBIT, SISMEMBER, FACT.SET, FACT.HAS
    kChanged,       // number of facts changed: SADD, SREM, FACT.ADD, FACT.REM
    kChangedCount,  // [changed, count]: FACT.ADD ... WITHCOUNT
    kBits,          // array of bits: SMISMEMBER, FACT.MHAS
    kToggled,       // [state, count, 0]: FACT.TOGGLE
  };

  // Where a reply begins in the output, told in order as replies are written.
  struct Span {
    size_t begin;
    bool is_write;
  };

  explicit FactBatch(Engine* engine) : engine_(engine) {}

  // Starts a turn: where replies go, what the ticket is, and where reply spans are noted.
  void Begin(ReplyWriter* writer, Ticket* ticket, std::vector<Span>* spans);

  // Opens an item of exactly `ops` operations (at least one); Add must then be called that often.
  // A failure of the engine becomes the item's reply.
  void Open(Reply reply, size_t ops, bool is_write);
  void Add(const FactOp& op);

  bool empty() const { return items_.empty(); }
  // Runs what is pending and writes its replies.
  void Flush();

 private:
  struct Item {
    Reply reply;
    bool is_write;
    bool started = false;  // its span is noted and (for kBits) its header written
    StatusCode error = StatusCode::kOk;
    size_t ops;
    size_t done = 0;
    size_t begin = 0;  // of its reply in the output
    uint64_t changed = 0;
  };

  void Run();
  void Render(Item* item, const FactOutcome& outcome);

  Engine* engine_;
  ReplyWriter* writer_ = nullptr;
  Ticket* ticket_ = nullptr;
  std::vector<Span>* spans_ = nullptr;
  std::vector<Item> items_;
  std::vector<FactOp> ops_;
  std::vector<FactOutcome> outcomes_;
};

}  // namespace tallystick::server
