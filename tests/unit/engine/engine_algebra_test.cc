// Proves that bulk changes, bit fields, random members and set algebra agree with plain sets, that
// counts follow every one of them, and that replay after a clean end and after a death (a copy of
// the directory) gives the same sets and counts. Random operations on facts and plain keys, seeded.
#include <tallystick/engine.h>

#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <random>
#include <set>

namespace tallystick {
namespace {

using UidSet = std::set<uint64_t>;

class EngineAlgebraTest : public testing::Test {
 protected:
  void SetUp() override {
    random_.seed(TestSeed(std::random_device()()));
    Open();
  }

  void Open() {
    Options options;
    options.dir = Dir();
    options.shards = 4;
    options.partitions = 2;
    options.warm_up = false;
    auto opened = Engine::Open(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
    engine_ = std::move(*opened);
  }
  std::string Dir() const { return dir_.path() + "/data" + std::to_string(generation_); }

  // Ends the engine and goes on with what a kill would have left, or with what a clean end did.
  void Reopen(bool killed) {
    const std::string from = Dir();
    if (killed) {
      ++generation_;
      // Without background work the copy is a picture of one moment; else it is tried again.
      std::error_code error;
      for (int attempt = 0; attempt < 20; ++attempt) {
        error.clear();
        std::filesystem::remove_all(Dir());
        std::filesystem::copy(from, Dir(), std::filesystem::copy_options::recursive, error);
        if (!error) break;
      }
      ASSERT_FALSE(error) << error.message();
    }
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
    Open();
  }

  uint64_t Below(uint64_t n) { return random_() % n; }

  FactKey Key(size_t i) const {
    static constexpr std::array<std::string_view, 4> kEids = {"1", "2", "3", "4"};
    if (i < 3) return {"like", "article", kEids[i]};
    return {kPlainSetMetric, "", kEids[i - 3]};
  }

  UidSet RandomMembers(UidRange range) {
    UidSet members;
    const uint64_t width = std::min<uint64_t>(range.last - range.first, uint64_t{1} << Below(21));
    for (uint64_t i = Below(4) == 0 ? Below(20'000) : Below(100); i > 0; --i)
      members.insert(range.first + Below(width + 1));
    if (Below(5) == 0 && range.last == UINT64_MAX) members.insert(UINT64_MAX);
    return members;
  }

  void CheckAll() {
    for (size_t i = 0; i < kKeys; ++i) {
      std::vector<uint64_t> uids;
      std::optional<uint64_t> from = 0;
      while (from) {
        auto next = engine_->Scan(Key(i), *from, 5000, &uids);
        ASSERT_TRUE(next.has_value()) << next.error().ToString();
        from = *next;
      }
      ASSERT_EQ(UidSet(uids.begin(), uids.end()), model_[i]) << "key " << i;
      if (i >= 3) continue;
      const auto counts = engine_->GetCounts(Key(i).entity());
      ASSERT_TRUE(counts.has_value());
      EXPECT_EQ(counts->values[0], static_cast<int64_t>(model_[i].size()));
      const auto verified = engine_->Verify(Key(i).entity());
      ASSERT_TRUE(verified.has_value()) << verified.error().ToString();
      EXPECT_TRUE(verified->ok);
    }
  }

  void Step() {
    const size_t at = Below(kKeys);
    UidSet& model = model_[at];
    const FactKey key = Key(at);
    switch (Below(5)) {
      case 0: {  // a range is replaced
        UidRange range;
        if (Below(2) == 0) range = {Below(1u << 20), (1u << 20) + Below(1u << 20)};
        const UidSet wanted = RandomMembers(range);
        const std::vector<uint64_t> uids(wanted.begin(), wanted.end());
        const auto outcome = engine_->ReplaceRange(key, range, uids, {});
        ASSERT_TRUE(outcome.has_value()) << outcome.error().ToString();
        const size_t before = model.size();
        const auto end = range.last == UINT64_MAX ? model.end() : model.upper_bound(range.last);
        model.erase(model.lower_bound(range.first), end);
        model.insert(wanted.begin(), wanted.end());
        EXPECT_EQ(before + outcome->added - outcome->removed, model.size());
        break;
      }
      case 1: {  // random members leave
        const uint64_t count = Below(3) == 0 ? Below(1000) : Below(4);
        Members members;
        const Status status = engine_->TakeRandom(key, count, &members);
        ASSERT_TRUE(status.ok()) << status.ToString();
        EXPECT_TRUE(members.texts.empty());
        const std::vector<uint64_t>& taken = members.uids;
        EXPECT_EQ(taken.size(), std::min<uint64_t>(count, model.size()));
        for (const uint64_t uid : taken) EXPECT_EQ(model.erase(uid), 1u);
        break;
      }
      case 2: {
        Members members;
        ASSERT_TRUE(engine_->Sample(key, Below(100), true, &members).ok());
        const std::vector<uint64_t>& sample = members.uids;
        EXPECT_EQ(UidSet(sample.begin(), sample.end()).size(), sample.size());
        for (const uint64_t uid : sample) EXPECT_EQ(model.count(uid), 1u);
        const uint64_t from = Below(4) == 0 ? random_() : Below(1u << 21);
        uint64_t clear = from;
        while (model.count(clear) != 0 && clear != UINT64_MAX) ++clear;
        const auto found = engine_->FirstClear(key, {from, UINT64_MAX});
        ASSERT_TRUE(found.has_value());
        if (model.count(clear) == 0) {
          EXPECT_EQ(*found, std::optional(clear));
        }
        break;
      }
      default: {  // algebra, answered and stored
        const auto op = static_cast<SetOp>(Below(3));
        std::vector<FactKey> sources;
        UidSet expected;
        for (uint64_t i = Below(3) + 1; i > 0; --i) {
          const size_t other = Below(kKeys);
          UidSet next;
          const UidSet& with = model_[other];
          if (sources.empty()) {
            next = with;
          } else if (op == SetOp::kInter) {
            std::set_intersection(expected.begin(), expected.end(), with.begin(), with.end(),
                                  std::inserter(next, next.end()));
          } else if (op == SetOp::kUnion) {
            std::set_union(expected.begin(), expected.end(), with.begin(), with.end(),
                           std::inserter(next, next.end()));
          } else {
            std::set_difference(expected.begin(), expected.end(), with.begin(), with.end(),
                                std::inserter(next, next.end()));
          }
          expected = std::move(next);
          sources.push_back(Key(other));
        }
        std::vector<uint64_t> uids;
        std::optional<uint64_t> from = 0;
        while (from) {
          const auto next = engine_->Combine(op, sources, *from, 1 + Below(5000), &uids);
          ASSERT_TRUE(next.has_value()) << next.error().ToString();
          from = *next;
        }
        ASSERT_EQ(uids, std::vector<uint64_t>(expected.begin(), expected.end()));
        if (Below(2) == 0) break;
        const auto stored = engine_->StoreCombined(op, sources, key, {});
        ASSERT_TRUE(stored.has_value()) << stored.error().ToString();
        EXPECT_EQ(*stored, expected.size());
        model = expected;
        break;
      }
    }
  }

  static constexpr size_t kKeys = 6;
  TempDir dir_;
  int generation_ = 0;
  std::mt19937_64 random_;
  std::unique_ptr<Engine> engine_;
  std::array<UidSet, kKeys> model_;
};

TEST_F(EngineAlgebraTest, AgreesWithPlainSetsAcrossRestartsAndDeaths) {
  for (int round = 0; round < 8; ++round) {
    for (int step = 0; step < 60; ++step) {
      ASSERT_NO_FATAL_FAILURE(Step());
    }
    ASSERT_NO_FATAL_FAILURE(CheckAll());
    if (Below(3) == 0) {
      ASSERT_TRUE(engine_->Checkpoint().ok());
    }
    ASSERT_NO_FATAL_FAILURE(Reopen(round % 2 == 0));
    // Otherwise the next steps are the first to touch chunks that are only on disk.
    if (Below(2) == 0) {
      ASSERT_NO_FATAL_FAILURE(CheckAll());
    }
  }
}

TEST_F(EngineAlgebraTest, BitOperationsChangeFactsAndReplay) {
  const FactKey facts{"like", "article", "9"};
  const std::string_view bytes("\xf0\x00\x81", 3);
  const BitSource source{{}, 0, bytes.size(), bytes};
  const UidRange chunk{32768, 65535};
  auto stored = engine_->StoreBits(BitOp::kNot, {&source, 1}, facts, chunk, {});
  ASSERT_TRUE(stored.has_value()) << stored.error().ToString();
  EXPECT_EQ(*stored, 3u);
  EXPECT_EQ(engine_->GetCounts(facts.entity())->values[0], 18);
  const std::string wide(5000, '\x01');
  const BitSource beyond{{}, 0, wide.size(), wide};
  stored = engine_->StoreBits(BitOp::kOr, {&beyond, 1}, facts, chunk, {});
  ASSERT_FALSE(stored.has_value());
  EXPECT_EQ(stored.error().code(), StatusCode::kInvalidArgument);

  const BitSource plain_source{facts, 32768, 3, {}};
  const FactKey plain{kPlainBitsMetric, "", "bits"};
  ASSERT_TRUE(engine_->StoreBits(BitOp::kOr, {&plain_source, 1}, plain, {}, {}).has_value());
  const BitFieldOp op{.kind = BitFieldOp::Kind::kIncrBy,
                      .overflow = BitFieldOp::Overflow::kWrap,
                      .is_signed = true,
                      .bits = 8,
                      .first = 32768,
                      .value = 1};
  const auto answer = engine_->BitField(facts, {&op, 1}, {});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->at(0), std::optional<int64_t>(0x10));
  ASSERT_NO_FATAL_FAILURE(Reopen(true));
  EXPECT_EQ(engine_->PlainGet("bits")->value(), std::string("\x0f\xff\x7e", 3));
  EXPECT_EQ(*engine_->ReadBits(facts, 32768, 3), std::string("\x10\xff\x7e", 3));
  EXPECT_EQ(engine_->GetCounts(facts.entity())->values[0], 15);
}

}  // namespace
}  // namespace tallystick
