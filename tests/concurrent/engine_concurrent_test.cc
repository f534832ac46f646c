// Proves that facts and counts are exact when many threads change one entity at the same time, in
// process, and that COUNT.VERIFY's law (record + pending = facts + counter part) holds at every
// moment.
#include <tallystick/engine.h>

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace tallystick::test {
namespace {

constexpr FactKey kLikes{"like", "article", "hot"};
constexpr EntityKey kEntity{"article", "hot"};
constexpr uint64_t kUsers = 20000;

class EngineConcurrentTest : public testing::Test {
 protected:
  void SetUp() override { Open(); }

  void Open() {
    Options options;
    options.dir = directory_.path() + "/data";
    options.flush_interval_ms = 5;  // so that records are written while threads write facts
    options.checkpoint_interval_ms = 20;
    auto engine = Engine::Open(options);
    ASSERT_TRUE(engine.has_value()) << engine.error().ToString();
    engine_ = std::move(*engine);
  }

  // Runs body(0) .. body(threads - 1) at once.
  static void InThreads(uint32_t threads, const std::function<void(uint32_t)>& body) {
    std::atomic<uint32_t> waiting{threads};
    std::vector<std::thread> all;
    for (uint32_t i = 0; i < threads; ++i) {
      all.emplace_back([&, i] {
        --waiting;
        while (waiting.load() > 0) std::this_thread::yield();
        body(i);
      });
    }
    for (std::thread& thread : all) thread.join();
  }

  int64_t Count(size_t slot) {
    auto counts = engine_->GetCounts(kEntity);
    return counts.has_value() ? counts->values[slot] : -1;
  }

  void ExpectProven() {
    auto proof = engine_->Verify(kEntity);
    ASSERT_TRUE(proof.has_value()) << proof.error().ToString();
    EXPECT_TRUE(proof->ok);
    for (const VerifiedSlot& slot : proof->slots) {
      EXPECT_TRUE(slot.ok()) << slot.name << ": record " << slot.record << ", pending "
                             << slot.pending << ", facts " << slot.facts << ", counter part "
                             << slot.counter_part;
    }
  }

  TempDir directory_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineConcurrentTest, TwoThreadsHammerOneEntity) {
  std::atomic<uint64_t> changes{0};
  InThreads(2, [&](uint32_t thread) {
    for (uint64_t uid = thread; uid < kUsers; uid += 2) {
      const auto set = engine_->Set(kLikes, uid);
      ASSERT_TRUE(set.has_value()) << set.error().ToString();
      changes += set->changed();
      // Every third is cleared again; every user also races for one of a hundred shared facts.
      if (uid % 3 == 0) {
        ASSERT_TRUE(engine_->Clear(kLikes, uid).has_value());
      }
      ASSERT_TRUE(engine_->Set({"fav", "article", "hot"}, uid % 100).has_value());
      ASSERT_TRUE(engine_->AddToCounter(kEntity, "view", 1).has_value());
    }
  });
  EXPECT_EQ(changes.load(), kUsers);
  ASSERT_TRUE(engine_->Sync().ok());
  const int64_t left = static_cast<int64_t>(kUsers - (kUsers + 2) / 3);
  EXPECT_EQ(Count(0), left);
  EXPECT_EQ(Count(1), 100);
  EXPECT_EQ(Count(4), static_cast<int64_t>(kUsers));
  ExpectProven();
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  Open();
  EXPECT_EQ(Count(0), left);
  EXPECT_EQ(Count(4), static_cast<int64_t>(kUsers));
  ExpectProven();
}

TEST_F(EngineConcurrentTest, TogglesOfOneUserTakeTurns) {
  constexpr uint32_t kThreads = 8;
  constexpr uint32_t kToggles = 2001;  // odd, by an even number of threads and by one more
  std::atomic<int64_t> balance{0};
  InThreads(kThreads, [&](uint32_t) {
    for (uint32_t i = 0; i < kToggles; ++i) {
      const auto toggled = engine_->Toggle(kLikes, 7);
      ASSERT_TRUE(toggled.has_value()) << toggled.error().ToString();
      EXPECT_NE(toggled->before, toggled->after);
      EXPECT_EQ(toggled->cardinality, toggled->after ? 1u : 0u);
      balance += toggled->after ? 1 : -1;
    }
  });
  EXPECT_EQ(balance.load(), 0);
  EXPECT_EQ(*engine_->Has(kLikes, 7), false);
  ASSERT_TRUE(engine_->Toggle(kLikes, 7).has_value());
  ASSERT_TRUE(engine_->Sync().ok());
  EXPECT_EQ(Count(0), 1);
  ExpectProven();
}

TEST_F(EngineConcurrentTest, TheLawHoldsAtEveryMoment) {
  const uint64_t seed = TestSeed(1);
  std::atomic<bool> done{false};
  std::atomic<uint32_t> writers{2};
  uint64_t proofs = 0;
  InThreads(4, [&](uint32_t thread) {
    std::mt19937_64 random(seed + thread);
    if (thread < 2) {
      for (uint32_t i = 0; i < 20000; ++i) {
        const uint64_t uid = random() % 5000;
        const bool set = random() % 3 > 0;
        ASSERT_TRUE((set ? engine_->Set(kLikes, uid) : engine_->Clear(kLikes, uid)).has_value());
        if (i % 64 == 0) {
          ASSERT_TRUE(engine_->AddToCounter(kEntity, "share", 2).has_value());
        }
        if (i % 4000 == 0) {
          ASSERT_TRUE(engine_->ClearRange(kLikes, {0, 1000}).has_value());
        }
      }
      if (--writers == 0) done = true;
    } else if (thread == 2) {
      for (; !done.load(); ++proofs) ExpectProven();
    } else {
      while (!done.load()) ASSERT_TRUE(engine_->Rebuild(kEntity).has_value());
    }
  });
  std::printf("%llu proofs while facts changed\n", static_cast<unsigned long long>(proofs));
  ASSERT_TRUE(engine_->Sync().ok());
  EXPECT_EQ(Count(0), static_cast<int64_t>(*engine_->Cardinality(kLikes)));
  ExpectProven();
}

}  // namespace
}  // namespace tallystick::test
