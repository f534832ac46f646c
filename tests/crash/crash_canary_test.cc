// Proves that the crash tests report a lost write: redis-server stands in for a server that loses
// (without persistence), and for one that does not (every write fsynced); and one write that was
// never acknowledged is planted in the journal of the client.
#include "tests/crash/crash_loop.h"
#include "tests/support/server_process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

namespace tallystick::test {
namespace {

CrashLoopOptions RedisOptions(const TempDir& directory, std::string_view appendonly) {
  CrashLoopOptions options;
  options.server.kind = ServerCommand::Kind::kRedis;
  options.server.binary = RedisBinary();
  options.server.directory = directory.path();
  options.server.arguments = {"--appendonly", std::string(appendonly), "--appendfsync", "always"};
  options.universe.only_redis = true;
  options.universe.shared_groups = 8;
  options.seed = TestSeed(RandomSeed());
  return options;
}

bool Survives(CrashLoop* loop, int kills) {
  for (int i = 0; i < kills; ++i) {
    if (!loop->KillOnce(KillMoment::kLoad)) return false;
  }
  return loop->Finish();
}

void PrintProblems(const CrashLoop& loop) {
  std::printf("%s\n", loop.report().Summary().c_str());
  for (const std::string& problem : loop.report().problems) std::printf("  %s\n", problem.c_str());
}

TEST(CrashCanaryTest, AServerThatKeepsEverythingPasses) {
  if (RedisBinary().empty()) GTEST_SKIP() << "redis-server is not installed";
  const TempDir directory;
  CrashLoop loop(RedisOptions(directory, "yes"));
  EXPECT_TRUE(Survives(&loop, 3));
  PrintProblems(loop);
}

TEST(CrashCanaryTest, AServerThatLosesIsFound) {
  if (RedisBinary().empty()) GTEST_SKIP() << "redis-server is not installed";
  const TempDir directory;
  CrashLoop loop(RedisOptions(directory, "no"));
  EXPECT_FALSE(Survives(&loop, 3));
  PrintProblems(loop);
  EXPECT_FALSE(loop.report().problems.empty());
}

TEST(CrashCanaryTest, OneLostWriteIsFound) {
  if (RedisBinary().empty()) GTEST_SKIP() << "redis-server is not installed";
  const TempDir directory;
  CrashLoop loop(RedisOptions(directory, "yes"));
  ASSERT_TRUE(loop.KillOnce(KillMoment::kLoad));
  ASSERT_TRUE(loop.Finish());
  loop.PlantLostWrite();
  EXPECT_FALSE(loop.Finish());
  PrintProblems(loop);
  EXPECT_EQ(loop.report().problems.size(), 1u);
}

}  // namespace
}  // namespace tallystick::test
