// Proves that import and export are what CRoaring's Roaring64Map says they are; that an import is
// one change (once the same, then nothing; refused: nothing), also while another thread changes the
// same set, and after a death with chunks on disk. Random sets, seeded.
#include <tallystick/engine.h>

#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <random>
#include <set>
#include <thread>

#include <roaring/roaring64map.hh>

namespace tallystick {
namespace {

using Members = std::set<uint64_t>;

class EngineTransferTest : public testing::Test {
 protected:
  void SetUp() override {
    random_.seed(TestSeed(std::random_device()()));
    Open();
  }

  void Open() {
    Options options;
    options.dir = Dir();
    options.shards = 2;
    options.partitions = 1;
    options.warm_up = false;
    auto opened = Engine::Open(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
    engine_ = std::move(*opened);
  }
  std::string Dir() const { return dir_.path() + "/data" + std::to_string(generation_); }

  // What a kill would have left.
  void Die() {
    const std::string from = Dir();
    ++generation_;
    std::error_code error;
    for (int attempt = 0; attempt < 20; ++attempt) {
      error.clear();
      std::filesystem::remove_all(Dir());
      std::filesystem::copy(from, Dir(), std::filesystem::copy_options::recursive, error);
      if (!error) break;
    }
    ASSERT_FALSE(error) << error.message();
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
    Open();
  }

  uint64_t Below(uint64_t n) { return random_() % n; }

  Members RandomMembers() {
    Members members;
    for (uint64_t i = Below(3) == 0 ? Below(2000) : Below(5); i > 0; --i) members.insert(random_());
    for (uint64_t parts = Below(4); parts > 0; --parts) {
      const uint64_t start = Below(uint64_t{1} << (14 + Below(20)));
      const uint64_t span = uint64_t{1} << Below(20);
      const uint64_t step = Below(3);  // 0: at random
      for (uint64_t i = Below(20'000); i > 0; --i)
        members.insert(start + (step == 0 ? Below(span) : i * step));
    }
    if (Below(4) == 0) members.insert(UINT64_MAX);
    return members;
  }

  static std::string ImageOf(const Members& members) {
    Roaring64Map map;
    for (const uint64_t uid : members) map.add(uid);
    map.runOptimize();
    std::string image(map.getSizeInBytes(), '\0');
    map.write(image.data(), true);
    return image;
  }

  // In parts, read by the other library.
  void ExpectMembers(const Members& expected) {
    Members read;
    uint64_t in_all = 0;
    std::optional<uint64_t> from = 0;
    const size_t bytes_max = kImageBytesMin << Below(4);
    while (from) {
      const auto part = engine_->Export(kKey, *from, bytes_max);
      ASSERT_TRUE(part.has_value()) << part.error().ToString();
      ASSERT_LE(part->image.size(), bytes_max);
      const Roaring64Map map = Roaring64Map::readSafe(part->image.data(), part->image.size());
      ASSERT_EQ(map.cardinality(), part->members);
      in_all += part->members;
      std::vector<uint64_t> uids(map.cardinality());
      map.toUint64Array(uids.data());
      read.insert(uids.begin(), uids.end());
      from = part->next;
    }
    ASSERT_EQ(in_all, expected.size());
    ASSERT_EQ(read, expected);
    EXPECT_EQ(engine_->GetCounts(kKey.entity())->values[0], static_cast<int64_t>(expected.size()));
    const auto verified = engine_->Verify(kKey.entity());
    ASSERT_TRUE(verified.has_value()) << verified.error().ToString();
    EXPECT_TRUE(verified->ok);
  }

  static constexpr FactKey kKey{"like", "article", "42"};
  TempDir dir_;
  int generation_ = 0;
  std::mt19937_64 random_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineTransferTest, ImportsAreOneChangeEach) {
  Members model;
  for (int round = 0; round < 60; ++round) {
    const Members given = RandomMembers();
    const std::string image = ImageOf(given);
    const auto mode = Below(2) == 0 ? ImportMode::kAdd : ImportMode::kReplace;
    Members expected = given;
    if (mode == ImportMode::kAdd) expected.insert(model.begin(), model.end());
    Members added, removed;
    std::set_difference(expected.begin(), expected.end(), model.begin(), model.end(),
                        std::inserter(added, added.end()));
    std::set_difference(model.begin(), model.end(), expected.begin(), expected.end(),
                        std::inserter(removed, removed.end()));
    const uint64_t events = engine_->GetStats().events;
    const auto outcome = engine_->Import(kKey, image, mode);
    ASSERT_TRUE(outcome.has_value()) << outcome.error().ToString();
    EXPECT_EQ(outcome->added, added.size());
    EXPECT_EQ(outcome->removed, removed.size());
    EXPECT_EQ(engine_->GetStats().events, events + (added.empty() && removed.empty() ? 0 : 1));
    const auto again = engine_->Import(kKey, image, mode);
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->added + again->removed, 0u);
    model = expected;
    if (Below(4) == 0 && !image.empty()) {
      const auto refused = engine_->Import(kKey, image + "x", mode);
      ASSERT_FALSE(refused.has_value());
      EXPECT_EQ(refused.error().code(), StatusCode::kInvalidArgument);
    }
    if (Below(3) == 0) {
      ASSERT_TRUE(engine_->Checkpoint().ok());
    }
    if (Below(5) == 0) {
      ASSERT_NO_FATAL_FAILURE(Die());
    }
    if (Below(2) == 0) {
      ASSERT_NO_FATAL_FAILURE(ExpectMembers(model));
    }
  }
  ASSERT_NO_FATAL_FAILURE(ExpectMembers(model));
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  Open();
  ASSERT_NO_FATAL_FAILURE(ExpectMembers(model));
}

TEST_F(EngineTransferTest, AnImportThatChangesNothingLeavesNothing) {
  const uint64_t entities = engine_->GetStats().entities;
  const auto outcome = engine_->Import(kKey, ImageOf({}), ImportMode::kReplace);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->added + outcome->removed, 0u);
  EXPECT_EQ(engine_->GetStats().entities, entities);
  const auto exported = engine_->Export(kKey);
  ASSERT_TRUE(exported.has_value());
  EXPECT_EQ(exported->image, std::string(8, '\0'));
  EXPECT_FALSE(exported->next);
}

TEST_F(EngineTransferTest, PlainKeys) {
  const FactKey set{kPlainSetMetric, "", "plain"};
  EXPECT_EQ(engine_->Import(set, ImageOf({1})).error().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(engine_->Set(set, 7).has_value());
  EXPECT_EQ(engine_->Export(set)->image, ImageOf({7}));
  ASSERT_TRUE(engine_->PlainSet("text", "abc").has_value());
  EXPECT_EQ(engine_->Export({kPlainBitsMetric, "", "text"}).error().code(), StatusCode::kWrongType);
}

// Large enough for the copy; the other thread changes facts of the set all the while. Its last word
// on each uid outside the images must stand; inside them, what it did after the import.
TEST_F(EngineTransferTest, OthersChangeTheSetMeanwhile) {
  Members base;
  for (uint64_t i = 0; i < 30'000; ++i) base.insert(Below(1u << 22));
  for (uint64_t i = 0; i < 3'000; ++i) base.insert(random_());
  const std::string image = ImageOf(base);
  std::atomic<bool> stop{false};
  Members kept;  // of the writer: it sets and clears numbers that no image has
  uint64_t writes = 0;
  std::thread writer([&] {
    std::mt19937_64 random(7);
    while (!stop.load()) {
      const uint64_t uid = (random() % 5'000) * 1'000 + (uint64_t{1} << 40);
      if (random() % 2 == 0) {
        ASSERT_TRUE(engine_->Set(kKey, uid, {.wait = WaitFor::kMemory}).has_value());
        kept.insert(uid);
      } else {
        ASSERT_TRUE(engine_->Clear(kKey, uid, {.wait = WaitFor::kMemory}).has_value());
        kept.erase(uid);
      }
      ++writes;
    }
  });
  uint64_t changed = 0;
  for (int i = 0; i < 30; ++i) {
    const auto outcome = engine_->Import(kKey, image, ImportMode::kAdd);
    ASSERT_TRUE(outcome.has_value()) << outcome.error().ToString();
    changed += outcome->added;
    EXPECT_EQ(outcome->removed, 0u);
    EXPECT_EQ(changed, base.size());
  }
  // The writer's facts of the past may go with a replacement, and only they.
  const auto replaced = engine_->Import(kKey, image, ImportMode::kReplace);
  ASSERT_TRUE(replaced.has_value());
  EXPECT_EQ(replaced->added, 0u);
  stop = true;
  writer.join();
  const auto last = engine_->Import(kKey, image, ImportMode::kReplace);
  ASSERT_TRUE(last.has_value());
  EXPECT_LE(last->removed, kept.size());
  std::printf("%llu writes meanwhile\n", static_cast<unsigned long long>(writes));
  ASSERT_NO_FATAL_FAILURE(ExpectMembers(base));
  ASSERT_NO_FATAL_FAILURE(Die());
  ASSERT_NO_FATAL_FAILURE(ExpectMembers(base));
}

TEST_F(EngineTransferTest, KeepsWhatOthersDidDuringAnImport) {
  Members model;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t n = 0; !stop.load(); ++n) {
      const uint64_t uid = (uint64_t{1} << 40) + n * 977 % 100'000;
      ASSERT_TRUE(engine_->Set(kKey, uid, {.wait = WaitFor::kMemory}).has_value());
      model.insert(uid);
    }
  });
  Members given;
  for (int i = 0; i < 20; ++i) {
    Members more;
    for (uint64_t n = 0; n < 5'000; ++n) more.insert(Below(1u << 24));
    const auto outcome = engine_->Import(kKey, ImageOf(more));
    ASSERT_TRUE(outcome.has_value()) << outcome.error().ToString();
    given.insert(more.begin(), more.end());
  }
  stop = true;
  writer.join();
  model.insert(given.begin(), given.end());
  ASSERT_NO_FATAL_FAILURE(ExpectMembers(model));
}

TEST_F(EngineTransferTest, AMemberMovesAtOnce) {
  // Facts and plain sets, of one shard and of several.
  std::vector<std::string> eids;
  for (int i = 0; i < 12; ++i) eids.push_back(std::to_string(i));
  const auto key = [&](size_t i) {
    return i < 8 ? FactKey{i % 2 == 0 ? "like" : "fav", "article", eids[i / 2]}
                 : FactKey{kPlainSetMetric, "", eids[i]};
  };
  std::vector<Members> model(12);
  for (int step = 0; step < 3000; ++step) {
    const size_t from = Below(12), to = Below(12);
    const uint64_t uid = Below(20);
    if (Below(2) == 0) {
      ASSERT_TRUE(engine_->Set(key(from), uid, {.wait = WaitFor::kMemory}).has_value());
      model[from].insert(uid);
      continue;
    }
    const auto moved = engine_->Move({FactOpKind::kClear, {}, key(from), uid},
                                     {FactOpKind::kSet, {}, key(to), uid});
    ASSERT_TRUE(moved.has_value()) << moved.error().ToString();
    EXPECT_EQ(*moved, model[from].count(uid) != 0);
    if (*moved && from != to) {
      model[from].erase(uid);
      model[to].insert(uid);
    }
  }
  FactOp text{FactOpKind::kClear, {}, key(8), 0};
  text.is_text = true;
  text.text = "alice";
  FactOp add = text;
  FactOp put = text;
  put.key = key(9);
  add.kind = FactOpKind::kSet;
  FactOutcome outcome;
  ASSERT_TRUE(engine_->Apply({&add, 1}, {&outcome, 1}).ok());
  EXPECT_TRUE(engine_->Move(text, put).value());
  EXPECT_FALSE(engine_->Move(text, put).value());
  ASSERT_TRUE(engine_->PlainSet("text", "abc").has_value());
  EXPECT_EQ(engine_
                ->Move({FactOpKind::kClear, {}, key(9), 1},
                       {FactOpKind::kSet, {}, {kPlainSetMetric, "", "text"}, 1})
                .error()
                .code(),
            StatusCode::kWrongType);
  EXPECT_EQ(engine_
                ->Move({FactOpKind::kClear, {}, key(9), 1},
                       {FactOpKind::kSet, {}, {"a b", "article", "1"}, 1})
                .error()
                .code(),
            StatusCode::kInvalidArgument);
  ASSERT_NO_FATAL_FAILURE(Die());
  for (size_t i = 0; i < 12; ++i) {
    std::vector<uint64_t> uids;
    ASSERT_TRUE(engine_->Scan(key(i), 0, 100, &uids).has_value());
    EXPECT_EQ(Members(uids.begin(), uids.end()), model[i]);
  }
}

// The locks of two shards and partitions are taken in one order.
TEST_F(EngineTransferTest, MovesBackAndForthInTwoThreads) {
  const FactKey a{"like", "article", "a"}, b{"like", "article", "b"};
  ASSERT_TRUE(engine_->Set(a, 1).has_value());
  const auto run = [&] {
    for (int i = 0; i < 500; ++i) {
      ASSERT_TRUE(
          engine_->Move({FactOpKind::kClear, {}, a, 1}, {FactOpKind::kSet, {}, b, 1}).has_value());
      ASSERT_TRUE(
          engine_->Move({FactOpKind::kClear, {}, b, 1}, {FactOpKind::kSet, {}, a, 1}).has_value());
    }
  };
  std::thread other(run);
  run();
  other.join();
  EXPECT_EQ(*engine_->Cardinality(a) + *engine_->Cardinality(b), 1u);
}

}  // namespace
}  // namespace tallystick
