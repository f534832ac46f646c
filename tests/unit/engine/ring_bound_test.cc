// Proves that the ring is bounded: with the consumers stalled, writers wait and then fail with
// BUSY, nothing changes for the refused, memory does not grow, and nothing is lost when the
// consumers resume.
#include "engine/base/fault_point.h"

#include <tallystick/engine.h>

#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <set>
#include <thread>

namespace tallystick {
namespace {

#ifdef TALLYSTICK_FAULT_POINTS

class RingBoundTest : public testing::Test {
 protected:
  static constexpr uint32_t kEventsPerShard = 64;

  void SetUp() override {
    Options options;
    options.dir = dir_.path() + "/data";
    options.shards = 1;
    options.ring_events_per_shard = kEventsPerShard;
    options.busy_timeout_ms = 20;
    auto opened = Engine::Open(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
    engine_ = std::move(*opened);
  }
  void TearDown() override { FaultPoints::DisarmAll(); }

  TempDir dir_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(RingBoundTest, StalledConsumerMakesWritersBusyAndLosesNothing) {
  const FactKey key{"like", "article", "1"};
  WriteOptions memory;
  memory.wait = WaitFor::kMemory;
  FaultPoints::Arm("commit.stall", FaultPoints::Action::kFail);
  std::set<uint64_t> accepted;
  uint64_t refused = 0, heap_after_first_refusal = 0;
  for (uint64_t uid = 0; uid < 200; ++uid) {
    const auto outcome = engine_->Set(key, uid, memory);
    if (outcome) {
      accepted.insert(uid);
      continue;
    }
    ASSERT_EQ(outcome.error().code(), StatusCode::kBusy);
    if (++refused == 1) heap_after_first_refusal = mallinfo2().uordblks;
    EXPECT_FALSE(engine_->Has(key, uid).value()) << "a refused write changed something";
  }
  // What was in flight when the fault was armed may have left room for a few more.
  EXPECT_GE(accepted.size(), kEventsPerShard);
  EXPECT_LE(accepted.size(), kEventsPerShard + 8);
  EXPECT_EQ(refused + accepted.size(), 200u);
  EXPECT_LT(mallinfo2().uordblks, heap_after_first_refusal + 64 * 1024);
  EXPECT_EQ(engine_->GetStats().busy_refusals, refused);
  const auto proof = engine_->Verify({"article", "1"});
  ASSERT_TRUE(proof.has_value());
  EXPECT_TRUE(proof->ok) << "record and pending make up the facts also while nothing is folded";
  EXPECT_EQ(proof->slots[0].pending, static_cast<int64_t>(accepted.size()));
  // Other kinds of writes meet the same bound.
  EXPECT_EQ(engine_->AddToCounter({"article", "1"}, "view", 1, memory).error().code(),
            StatusCode::kBusy);
  EXPECT_EQ(engine_->PlainSet("k", "v", {}, memory).error().code(), StatusCode::kBusy);
  EXPECT_EQ(engine_->ClearRange(key, {}, memory).error().code(), StatusCode::kBusy);

  FaultPoints::DisarmAll();
  ASSERT_TRUE(engine_->Sync().ok());
  EXPECT_EQ(engine_->GetCounts({"article", "1"}).value().values[0],
            static_cast<int64_t>(accepted.size()));
  for (uint64_t uid = 0; uid < 200; ++uid) {
    EXPECT_EQ(engine_->Has(key, uid).value(), accepted.count(uid) == 1) << uid;
  }
  EXPECT_TRUE(engine_->Verify({"article", "1"}).value().ok);
}

TEST_F(RingBoundTest, WritersWhoWaitGoOnWhenTheConsumerResumes) {
  FaultPoints::Arm("commit.stall", FaultPoints::Action::kFail);
  WriteOptions patient;
  patient.wait = WaitFor::kMemory;
  patient.busy_timeout_ms = 60'000;
  std::atomic<uint64_t> done{0};
  std::thread writer([&] {
    for (uint64_t uid = 0; uid < 4 * kEventsPerShard; ++uid) {
      EXPECT_TRUE(engine_->Set({"like", "article", "1"}, uid, patient).has_value());
      ++done;
    }
  });
  while (done < kEventsPerShard) std::this_thread::yield();
  FaultPoints::DisarmAll();
  writer.join();
  ASSERT_TRUE(engine_->Sync().ok());
  EXPECT_EQ(engine_->GetCounts({"article", "1"}).value().values[0], 4 * int64_t{kEventsPerShard});
}

TEST_F(RingBoundTest, FailedJournalWriteMakesTheEngineReadOnly) {
  const FactKey key{"like", "article", "1"};
  ASSERT_TRUE(engine_->Set(key, 1).has_value());
  FaultPoints::Arm("commit.before_write", FaultPoints::Action::kFail);
  const auto failed = engine_->Set(key, 2);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code(), StatusCode::kReadOnly);
  FaultPoints::DisarmAll();
  // Not retried as if nothing had happened: writes stay refused, reads go on.
  EXPECT_EQ(engine_->Set(key, 3).error().code(), StatusCode::kReadOnly);
  EXPECT_TRUE(engine_->Has(key, 1).value());
  EXPECT_FALSE(engine_->Has(key, 3).value());
  EXPECT_TRUE(engine_->GetStats().read_only);
  EXPECT_EQ(engine_->Close().code(), StatusCode::kReadOnly);
  engine_.reset();
  Options options;
  options.dir = dir_.path() + "/data";
  auto reopened = Engine::Open(options);
  ASSERT_TRUE(reopened.has_value()) << reopened.error().ToString();
  EXPECT_TRUE((*reopened)->Has(key, 1).value());
  EXPECT_FALSE((*reopened)->Has(key, 2).value());
  EXPECT_EQ((*reopened)->GetCounts({"article", "1"}).value().values[0], 1);
}

TEST_F(RingBoundTest, FailedFsyncIsNeverReportedDurable) {
  WriteOptions disk;
  disk.wait = WaitFor::kDisk;
  FaultPoints::Arm("sync.before", FaultPoints::Action::kFail);
  EXPECT_EQ(engine_->Set({"like", "article", "1"}, 1, disk).error().code(), StatusCode::kReadOnly);
  FaultPoints::DisarmAll();
  EXPECT_EQ(engine_->Set({"like", "article", "1"}, 2, disk).error().code(), StatusCode::kReadOnly);
}

#else

TEST(RingBoundTest, NeedsFaultPoints) {
  GTEST_SKIP() << "built without -Dfault_points=true";
}

#endif

}  // namespace
}  // namespace tallystick
