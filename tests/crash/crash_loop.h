// CrashLoop: a server under load is killed at random moments, again and again; after each restart
// everything that it acknowledged is read back.
#pragma once

#include "tests/crash/read_back.h"
#include "tests/crash/universe.h"
#include "tests/support/server_process.h"

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tallystick::test {

enum class KillMoment : uint8_t {
  kLoad,   // SIGKILL while clients write
  kStart,  // and again while the next server starts, up to three times
  kStop,   // SIGTERM while clients write, and SIGKILL soon after
};

struct CrashLoopOptions {
  ServerCommand server;
  UniverseOptions universe;
  uint64_t seed = 0;
  // Arguments of each start, taken in turn: the durability modes.
  std::vector<std::vector<std::string>> modes = {{}};
  std::chrono::milliseconds load_max{300};  // the kill comes at a random time up to this
};

struct CrashLoopReport {
  std::vector<std::string> problems;
  uint64_t kills = 0;
  uint64_t fault_deaths = 0;  // of the kills: the server's own, at an armed fault point
  uint64_t acknowledged = 0;  // writes
  uint64_t refused = 0;
  uint64_t cells = 0;  // compared after restarts
  uint64_t in_doubt = 0;
  uint64_t entities = 0;
  std::chrono::microseconds slowest_start{0};
  std::string Summary() const;
};

// Both durability modes, with records, snapshots and checkpoints written all the time.
std::vector<std::vector<std::string>> BusyModes();
// Those, and both with the background's own pace.
std::vector<std::vector<std::string>> AllModes();

class CrashLoop {
 public:
  explicit CrashLoop(const CrashLoopOptions& options);

  // One life: start, read everything back, load until the kill. Stops at the first problem: false.
  bool KillOnce(KillMoment moment);
  // One life that ends by itself, at an armed fault point. Nothing may be in doubt when it begins.
  // Ends without a kill after `patience` acknowledged writes when the point is never reached. False
  // on a problem.
  bool DieAtFault(const std::string& faults, uint64_t patience);
  // One life that ends by SIGKILL shortly after FLUSHALL was sent: all must be left, or nothing.
  bool KillDuringFlush();
  // Start, read everything back, and kill without load.
  bool Check();
  // Start, read everything back, stop cleanly by SIGTERM, start, read everything back.
  bool Finish();

  // For the canary: makes the journal believe in a write that was never acknowledged.
  void PlantLostWrite();

  const CrashLoopReport& report() const { return report_; }

 private:
  // Starts a server; with kills_at_start > 0 kills it that often on its way. Waits until it
  // answers.
  std::unique_ptr<ServerProcess> Start(uint32_t kills_at_start, const std::string& faults = "");
  bool Verify(uint16_t port);
  // What the offline check says of the directory that the dead server left.
  bool VerifyDead();
  // Writes on all connections until all of them are lost, or so many writes are acknowledged.
  void Load(uint16_t port, uint64_t acknowledged_max);
  // Cells that are not 0 by what is known.
  uint64_t CellsSet() const;
  void Problem(std::string text);
  uint32_t Below(uint64_t limit) { return static_cast<uint32_t>(random_() % limit); }

  const CrashLoopOptions options_;
  std::mt19937_64 random_;
  Universe universe_;
  uint32_t starts_ = 0;
  CrashLoopReport report_;
};

}  // namespace tallystick::test
