// Proves that a server killed at any moment has lost no acknowledged write, and that its counts are
// exactly its facts.
//
// Clients own their facts, strings and counters, so that each value read back after a restart must
// be the acknowledged one, or one that an unanswered request would have made. Records, counts and
// COUNT.VERIFY must agree with the facts. Modes always and everysec in turn.
// TALLYSTICK_TEST_KILLS sets the number of kills of each test.
#include "tests/crash/crash_loop.h"
#include "tests/support/server_process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

namespace tallystick::test {
namespace {

CrashLoopOptions Options(const TempDir& directory) {
  CrashLoopOptions options;
  options.server.binary = TallystickBinary();
  options.server.directory = directory.path();
  options.seed = TestSeed(RandomSeed());
  options.modes = AllModes();
  return options;
}

// Runs `kills` lives; live(loop, i) is one of them.
template <typename Live>
void RunLives(uint64_t kills, Live live) {
  if (TallystickBinary().empty()) GTEST_SKIP() << "TALLYSTICK_SERVER names no program";
  TempDir directory;
  CrashLoop loop(Options(directory));
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
  RunLives(Kills(4), [](CrashLoop* loop) { return loop->KillOnce(KillMoment::kLoad); });
}

TEST(CrashLoopTest, KilledWhileItStarts) {
  RunLives(Kills(2), [](CrashLoop* loop) { return loop->KillOnce(KillMoment::kStart); });
}

TEST(CrashLoopTest, KilledWhileItStops) {
  RunLives(Kills(2), [](CrashLoop* loop) { return loop->KillOnce(KillMoment::kStop); });
}

TEST(CrashLoopTest, KilledWhileItEmptiesEverything) {
  RunLives(Kills(2), [](CrashLoop* loop) { return loop->KillDuringFlush(); });
}

}  // namespace
}  // namespace tallystick::test
