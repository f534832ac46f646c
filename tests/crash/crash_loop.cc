#include "tests/crash/crash_loop.h"

#include "tests/crash/load_connection.h"

#include <tallystick/verify.h>

#include <signal.h>

#include <list>
#include <thread>

namespace tallystick::test {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

constexpr uint32_t kWindowMax = 64;  // requests in flight on one connection
constexpr uint32_t kKillsAtStartMax = 3;
constexpr microseconds kStopTimeMax{20000};
constexpr std::chrono::seconds kBackgroundTime{2};
constexpr uint64_t kWritesBeforeFlush = 5000;
constexpr microseconds kFlushTimeMax{30000};

}  // namespace

std::string CrashLoopReport::Summary() const {
  return std::to_string(kills) + " kills, " + std::to_string(acknowledged) +
         " acknowledged writes, " + std::to_string(refused) + " refused, " + std::to_string(cells) +
         " values read back (" + std::to_string(in_doubt) + " of them in doubt), " +
         std::to_string(entities) + " entities proven, slowest start " +
         std::to_string(slowest_start.count() / 1000) + " ms";
}

std::vector<std::vector<std::string>> BusyModes() {
  std::vector<std::vector<std::string>> modes;
  for (const char* const durability : {"always", "everysec"}) {
    modes.push_back({"--durability", durability, "--flush-interval-ms", "5",
                     "--flush-threshold-events", "100", "--checkpoint-interval-ms", "20"});
  }
  return modes;
}

std::vector<std::vector<std::string>> AllModes() {
  std::vector<std::vector<std::string>> modes = {{"--durability", "always"},
                                                 {"--durability", "everysec"}};
  for (auto& busy : BusyModes()) modes.push_back(std::move(busy));
  return modes;
}

CrashLoop::CrashLoop(const CrashLoopOptions& options)
    : options_(options), random_(options.seed), universe_(options.universe) {}

void CrashLoop::Problem(std::string text) {
  report_.problems.push_back(std::move(text));
}

std::unique_ptr<ServerProcess> CrashLoop::Start(uint32_t kills_at_start,
                                                const std::string& faults) {
  ServerCommand command = options_.server;
  const auto& mode = options_.modes[starts_++ % options_.modes.size()];
  command.arguments.insert(command.arguments.end(), mode.begin(), mode.end());
  for (; kills_at_start > 0; --kills_at_start) {
    ServerProcess doomed(command);
    const microseconds limit = report_.slowest_start + microseconds(2000);
    if (doomed.WaitEnded(microseconds(Below(static_cast<uint64_t>(limit.count()))))) {
      Problem("the server ended by itself while it started:\n" + doomed.Log());
      return nullptr;
    }
    doomed.Signal(SIGKILL);
    doomed.Wait();
    ++report_.kills;
  }
  command.faults = faults;
  const auto began = steady_clock::now();
  auto server = std::make_unique<ServerProcess>(command);
  if (!server->WaitReady()) {
    // A fault point may lie in recovery: then the end is what was asked for.
    const Ended ended = server->Wait();
    if (!faults.empty() && ended.by_signal && ended.code == SIGKILL) {
      ++report_.kills;
      ++report_.fault_deaths;
    } else {
      Problem("the server does not start again (" + std::to_string(ended.code) + "):\n" +
              server->Log());
    }
    return nullptr;
  }
  report_.slowest_start = std::max(
      report_.slowest_start, std::chrono::duration_cast<microseconds>(steady_clock::now() - began));
  return server;
}

bool CrashLoop::Verify(uint16_t port) {
  ReadBackResult result = ReadBack(&universe_, port);
  report_.cells += result.cells;
  report_.in_doubt += result.in_doubt;
  report_.entities += result.entities;
  for (std::string& problem : result.problems) Problem(std::move(problem));
  return report_.problems.empty();
}

void CrashLoop::Load(uint16_t port, uint64_t acknowledged_max) {
  std::list<LoadConnection> connections;
  for (uint32_t owner = 0; owner < options_.universe.owners; ++owner) {
    connections.emplace_back(&universe_, owner, random_(), &report_.problems);
    if (!connections.back().Connect(port)) connections.pop_back();
  }
  const uint32_t window = 1 + Below(kWindowMax);
  uint64_t acknowledged = 0;
  uint64_t refused = 0;
  while (!connections.empty() && acknowledged + refused < acknowledged_max) {
    for (auto connection = connections.begin(); connection != connections.end();) {
      const uint64_t acknowledged_before = connection->acknowledged_writes();
      const uint64_t refused_before = connection->refused();
      bool alive = connection->SendSome(window);
      // What arrived before the end counts, whether or not sending failed.
      alive &= connection->ReadSome(1 + Below(connection->outstanding()));
      acknowledged += connection->acknowledged_writes() - acknowledged_before;
      refused += connection->refused() - refused_before;
      if (!alive) connection->Lost();
      connection = alive ? std::next(connection) : connections.erase(connection);
    }
  }
  // The rest of the pipeline of those that are still connected.
  for (LoadConnection& connection : connections) {
    const uint64_t before = connection.acknowledged_writes();
    if (!connection.ReadSome(connection.outstanding())) connection.Lost();
    acknowledged += connection.acknowledged_writes() - before;
  }
  report_.acknowledged += acknowledged;
  report_.refused += refused;
}

bool CrashLoop::KillOnce(KillMoment moment) {
  const auto server = Start(moment == KillMoment::kStart ? 1 + Below(kKillsAtStartMax) : 0);
  if (server == nullptr) return false;
  const uint16_t port = *server->WaitReady();
  if (!Verify(port)) return false;
  const microseconds load_time(
      Below(static_cast<uint64_t>(microseconds(options_.load_max).count())));
  const microseconds stop_time(Below(static_cast<uint64_t>(kStopTimeMax.count())));
  bool ended_by_itself = false;
  std::thread killer([&] {
    ended_by_itself = server->WaitEnded(load_time);
    if (moment == KillMoment::kStop) {
      server->Signal(SIGTERM);
      server->WaitEnded(stop_time);
    }
    server->Signal(SIGKILL);
  });
  Load(port, UINT64_MAX);
  killer.join();
  const Ended ended = server->Wait();
  ++report_.kills;
  const bool clean_stop = moment == KillMoment::kStop && !ended.by_signal && ended.code == 0;
  if (ended_by_itself || (!clean_stop && !(ended.by_signal && ended.code == SIGKILL))) {
    Problem("the server ended by itself, code " + std::to_string(ended.code) + ":\n" +
            server->Log());
  }
  // Half of the time, so that what it opens and closes does not always come before the restart.
  return report_.problems.empty() && (Below(2) == 0 || VerifyDead());
}

bool CrashLoop::VerifyDead() {
  if (options_.server.kind == ServerCommand::Kind::kRedis) return true;
  const auto verified = VerifyDirectory(options_.server.directory + "/data");
  if (!verified) {
    Problem("the dead directory cannot be verified: " + verified.error().ToString());
  } else if (!verified->ok()) {
    Problem("the dead directory has " + std::to_string(verified->drift_count) + " drifts and " +
            std::to_string(verified->damaged_count) + " damages: " +
            (verified->damaged.empty() ? verified->drifts[0].eid : verified->damaged[0]));
  }
  return report_.problems.empty();
}

bool CrashLoop::DieAtFault(const std::string& faults, uint64_t patience) {
  const uint64_t kills = report_.kills;
  const auto server = Start(0, faults);
  if (server == nullptr) return report_.kills > kills;
  Load(*server->WaitReady(), patience);
  // A point in the background may still be reached; else a clean stop comes by it, or nothing does.
  if (!server->WaitEnded(kBackgroundTime)) server->Signal(SIGTERM);
  const Ended ended = server->Wait();
  if (ended.by_signal && ended.code == SIGKILL) {
    ++report_.kills;
    ++report_.fault_deaths;
  } else if (ended.by_signal || ended.code != 0) {
    Problem("the server ended by itself, code " + std::to_string(ended.code) + ":\n" +
            server->Log());
  }
  return report_.problems.empty();
}

uint64_t CrashLoop::CellsSet() const {
  uint64_t set = 0;
  for (const Group& group : universe_.groups()) {
    for (const Slot& slot : group.slots) set += slot.cell.acknowledged() != 0;
  }
  return set;
}

bool CrashLoop::KillDuringFlush() {
  const auto server = Start(0);
  if (server == nullptr) return false;
  const uint16_t port = *server->WaitReady();
  if (!Verify(port)) return false;
  Load(port, kWritesBeforeFlush);
  const uint64_t before = CellsSet();
  RespClientOptions client_options;
  client_options.port = port;
  auto client = RespClient::Connect(client_options);
  if (!client) {
    Problem("cannot connect: " + client.error().ToString());
    return false;
  }
  (*client)->Queue({"FLUSHALL"});
  const Status sent = (*client)->Flush();
  server->WaitEnded(microseconds(Below(static_cast<uint64_t>(kFlushTimeMax.count()))));
  server->Signal(SIGKILL);
  server->Wait();
  ++report_.kills;
  const auto reply = (*client)->Read();
  const bool acknowledged = sent.ok() && reply.has_value() && reply->text == "OK";
  for (Group& group : universe_.groups()) {
    for (Slot& slot : group.slots) {
      slot.cell.Send({CellOp::Kind::kSet, 0});
      if (acknowledged) slot.cell.Acknowledge();
    }
  }
  if (!Check()) return false;
  const uint64_t after = CellsSet();
  if (after != 0 && after != before) {
    Problem("of " + std::to_string(before) + " values, " + std::to_string(after) +
            " were left by FLUSHALL");
  }
  return report_.problems.empty();
}

bool CrashLoop::Check() {
  const auto server = Start(0);
  if (server == nullptr || !Verify(*server->WaitReady())) return false;
  server->Signal(SIGKILL);
  server->Wait();
  ++report_.kills;
  return true;
}

bool CrashLoop::Finish() {
  for (int clean_restart = 0; clean_restart < 2; ++clean_restart) {
    const auto server = Start(0);
    if (server == nullptr || !Verify(*server->WaitReady())) return false;
    server->Signal(SIGTERM);
    const Ended ended = server->Wait();
    if (ended.by_signal || ended.code != 0) {
      Problem("a clean stop ended with " + std::to_string(ended.code) + ":\n" + server->Log());
      return false;
    }
  }
  return true;
}

void CrashLoop::PlantLostWrite() {
  Cell& cell = universe_.groups()[0].slots[0].cell;
  cell.PretendAcknowledged(1 - cell.acknowledged());
}

}  // namespace tallystick::test
