// Proves that a server killed at any moment has lost no acknowledged write, and that its counts are
// exactly its facts.
//
// Clients own their facts, strings and counters, so that each value read back after a restart must
// be the acknowledged one, or one that an unanswered request would have made. Records, counts and
// COUNT.VERIFY must agree with the facts. Modes always and everysec in turn.
// TALLYSTICK_TEST_KILLS sets the number of kills of each test.
#include "tests/crash/crash_loop.h"

#include <gtest/gtest.h>

namespace tallystick::test {
namespace {

CrashLoopOptions Options(const TemporaryDirectory& directory, std::string_view name) {
  CrashLoopOptions options;
  options.server.binary = TallystickBinary();
  options.server.directory = directory.path();
  options.seed = TestSeed(name);
  options.modes = {{"--durability", "always"}, {"--durability", "everysec"}};
  return options;
}

// Runs `kills` lives; live(loop, i) is one of them.
template <typename Live>
void RunLives(std::string_view name, uint64_t kills, Live live) {
  if (TallystickBinary().empty()) GTEST_SKIP() << "TALLYSTICK_SERVER names no program";
  TemporaryDirectory directory(name);
  CrashLoop loop(Options(directory, name));
  bool good = true;
  for (uint64_t i = 0; good && i < kills; ++i) good = live(&loop);
  good = good && loop.Finish();
  std::printf("%s\n", loop.report().Summary().c_str());
  for (const std::string& problem : loop.report().problems) ADD_FAILURE() << problem;
  EXPECT_TRUE(good);
  if (!good) directory.Keep();
  EXPECT_GT(loop.report().acknowledged, 0u);
}

uint64_t Kills(uint64_t quick) {
  return NumberFromEnvironment("TALLYSTICK_TEST_KILLS", quick);
}

TEST(CrashLoopTest, KilledUnderLoad) {
  RunLives("crash-load", Kills(4),
           [](CrashLoop* loop) { return loop->KillOnce(KillMoment::kLoad); });
}

TEST(CrashLoopTest, KilledWhileItStarts) {
  RunLives("crash-start", Kills(2),
           [](CrashLoop* loop) { return loop->KillOnce(KillMoment::kStart); });
}

TEST(CrashLoopTest, KilledWhileItStops) {
  RunLives("crash-stop", Kills(2),
           [](CrashLoop* loop) { return loop->KillOnce(KillMoment::kStop); });
}

TEST(CrashLoopTest, KilledWhileItEmptiesEverything) {
  RunLives("crash-flush", Kills(2), [](CrashLoop* loop) { return loop->KillDuringFlush(); });
}

}  // namespace
}  // namespace tallystick::test
