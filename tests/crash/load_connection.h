// LoadConnection: one client that writes its own cells at random, pipelined, and keeps the journal
// of what was sent and what was acknowledged. Not thread-safe.
#pragma once

#include "tests/crash/universe.h"
#include "tools/cli/resp_client.h"

#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tallystick::test {

class LoadConnection {
 public:
  // The universe outlives the connection. Problems (a wrong reply) are appended to *problems.
  LoadConnection(Universe* universe, uint32_t owner, uint64_t seed,
                 std::vector<std::string>* problems);

  // Connects; false when the server is gone.
  bool Connect(uint16_t port);
  // Fills the pipeline up to `window` requests and sends them. False when the connection is lost.
  bool SendSome(size_t window);
  // Reads up to `limit` of the outstanding replies. False when the connection is lost.
  bool ReadSome(size_t limit);
  size_t outstanding() const { return sent_.size(); }
  // Gives up what was not answered: it stays in doubt in its cells.
  void Lost();

  uint64_t acknowledged_writes() const { return acknowledged_writes_; }
  uint64_t refused() const { return refused_; }

 private:
  enum class Verb : uint8_t {
    kPrevious,  // replies the value before (SETBIT, FACT.SET)
    kChanged,   // how many cells changed (SADD, SREM, FACT.ADD, FACT.REM)
    kNow,       // the value after (COUNT.INCRBY), or an array that begins with it (FACT.TOGGLE)
    kOk,        // SET
    kExisted,   // 1 when any cell was not 0 (DEL)
    kRead,      // the value; writes nothing
  };
  struct Sent {
    Verb verb;
    uint32_t group;
    std::vector<uint32_t> slots;
  };

  void SendOne();
  void SendFact(uint32_t group, bool with_fact_commands);
  void SendBit(uint32_t group);
  void SendString(uint32_t group);
  void SendCounter(uint32_t group);
  // Sends words and remembers them; `op` is applied to each slot unless the verb is kRead.
  void Send(Verb verb, uint32_t group, std::vector<uint32_t> slots, CellOp op,
            std::vector<std::string> words);
  void TakeReply(const Sent& sent, const RespReply& reply);
  std::vector<uint32_t> SomeSlots(uint32_t group, uint32_t most);
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  Universe* const universe_;
  const uint32_t owner_;
  std::vector<std::string>* const problems_;
  std::mt19937_64 random_;
  std::unique_ptr<RespClient> client_;
  std::deque<Sent> sent_;
  int64_t next_string_ = 1;  // values of strings are distinct
  uint64_t acknowledged_writes_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace tallystick::test
