// Proves that a server that dies at any named point of its write path, flush, checkpoint or
// recovery has lost no acknowledged write, and that its counts are exactly its facts.
//
// The points are armed in the child by TALLYSTICK_FAULTS ("name=kill@N": SIGKILL at the N-th hit),
// in a server built with -Dfault_points=true. Each point is tried at several hits; everything is
// read back after each death as in crash_loop_test. TALLYSTICK_TEST_KILLS sets the number of deaths
// per point.
#include "tests/crash/crash_loop.h"
#include "tests/support/server_process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

namespace tallystick::test {
namespace {

constexpr uint64_t kWritesUntilGivenUp = 50000;

class FaultPointTest : public testing::TestWithParam<const char*> {};

TEST_P(FaultPointTest, NothingIsLost) {
  if (FaultBinary().empty()) GTEST_SKIP() << "TALLYSTICK_FAULT_SERVER names no program";
  TempDir directory;
  CrashLoopOptions options;
  options.server.binary = FaultBinary();
  options.server.directory = directory.path();
  options.seed = TestSeed(RandomSeed());
  options.modes = BusyModes();
  options.load_max = std::chrono::milliseconds(50);
  options.universe.shared_groups = 12;
  CrashLoop loop(options);
  const uint64_t deaths = NumberFromEnvironment("TALLYSTICK_TEST_KILLS", 1);
  std::mt19937_64 random(options.seed);
  bool good = true;
  const auto die = [&](uint64_t hit) {
    const std::string fault = std::string(GetParam()) + "=kill@" + std::to_string(hit);
    return loop.KillOnce(KillMoment::kLoad) && loop.Check() &&
           loop.DieAtFault(fault, kWritesUntilGivenUp) && loop.Check();
  };
  // The first hit, or a later one when the server is in full run: recovery ends after 16
  // partitions, and a checkpoint is a rare thing.
  const std::string_view point(GetParam());
  const uint64_t hits = point.starts_with("recovery.")     ? 16
                        : point.starts_with("checkpoint.") ? 2
                                                           : 50;
  for (uint64_t i = 0; good && i < deaths; ++i)
    good = die(random() % 3 == 0 ? 1 : 1 + random() % hits);
  // A life may have been too short for a late hit.
  if (good && loop.report().fault_deaths == 0) good = die(1);
  good = good && loop.Finish();
  std::printf("%s: %s, %llu died at the point\n", GetParam(), loop.report().Summary().c_str(),
              static_cast<unsigned long long>(loop.report().fault_deaths));
  for (const std::string& problem : loop.report().problems) ADD_FAILURE() << problem;
  EXPECT_TRUE(good);
  EXPECT_GT(loop.report().fault_deaths, 0u) << "the point was never reached";
  if (!good) directory.Keep();
}

std::string NameOf(const testing::TestParamInfo<const char*>& info) {
  std::string name(info.param);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Named, FaultPointTest,
                         testing::Values("commit.before_write", "commit.after_write",
                                         "commit.after_fold", "snapshot.before_write",
                                         "snapshot.after_write", "flush.before_write",
                                         "flush.after_write", "checkpoint.before_write",
                                         "sync.before", "sync.after", "recovery.after_partition"),
                         NameOf);

}  // namespace
}  // namespace tallystick::test
