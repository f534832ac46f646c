// Proves the engine's ordinary life through its public interface on a real directory: facts,
// counts, plain keys, and that all of it is there again after closing, and after dying without
// closing.
#include <tallystick/engine.h>

#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace tallystick {
namespace {

class EngineTest : public testing::Test {
 protected:
  void Open(Durability durability = Durability::kEverySec) {
    Options options;
    options.dir = dir_.path() + "/data";
    options.durability = durability;
    auto opened = Engine::Open(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
    engine_ = std::move(*opened);
  }
  void Reopen() {
    const Status closed = engine_->Close();
    ASSERT_TRUE(closed.ok()) << closed.ToString();
    engine_.reset();
    Open();
  }
  Counts CountsOf(EntityKey key) {
    const auto counts = engine_->GetCounts(key);
    EXPECT_TRUE(counts.has_value());
    return counts.value_or(Counts{});
  }

  TempDir dir_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineTest, OneLikeEndToEnd) {
  Open();
  const FactKey key{"like", "article", "42"};
  const auto first = engine_->Set(key, 32769);
  ASSERT_TRUE(first.has_value()) << first.error().ToString();
  EXPECT_TRUE(first->changed());
  const auto again = engine_->Set(key, 32769);
  ASSERT_TRUE(again.has_value());
  EXPECT_FALSE(again->changed());
  EXPECT_EQ(again->cardinality, 1u);
  EXPECT_EQ(CountsOf({"article", "42"}).values[0], 1);
  const auto record = engine_->GetRecord({"article", "42"});
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(*record, std::string("\0\0\0\1", 4) + std::string(16, '\0'));
  ASSERT_TRUE(engine_->Sync().ok());
  const auto proof = engine_->Verify({"article", "42"});
  ASSERT_TRUE(proof.has_value());
  EXPECT_TRUE(proof->ok);
  EXPECT_EQ(proof->slots[0].record, 1);
  EXPECT_EQ(proof->slots[0].pending, 0);
}

TEST_F(EngineTest, EverythingIsThereAfterReopening) {
  Open();
  for (uint64_t uid = 0; uid < 5000; ++uid)
    ASSERT_TRUE(engine_->Set({"like", "post", "1"}, uid * 3).has_value());
  ASSERT_TRUE(engine_->Clear({"like", "post", "1"}, 9).has_value());
  ASSERT_EQ(engine_->AddToCounter({"post", "1"}, "view", 41).value(), 41);
  ASSERT_TRUE(engine_->PlainSet("greeting", "hello").has_value());
  ASSERT_TRUE(engine_->Set({kPlainBitsMetric, "", "bits"}, 100).has_value());
  for (int round = 0; round < 3; ++round) {
    Reopen();
    EXPECT_EQ(CountsOf({"post", "1"}).values[0], 4999);
    EXPECT_EQ(CountsOf({"post", "1"}).values[4], 41);
    EXPECT_EQ(engine_->Cardinality({"like", "post", "1"}).value(), 4999u);
    EXPECT_FALSE(engine_->Has({"like", "post", "1"}, 9).value());
    EXPECT_TRUE(engine_->Has({"like", "post", "1"}, 12).value());
    EXPECT_EQ(engine_->PlainGet("greeting").value(), "hello");
    EXPECT_EQ(engine_->PlainGet("bits").value(), std::string(12, '\0') + "\x08");
    const auto proof = engine_->Verify({"post", "1"});
    ASSERT_TRUE(proof.has_value()) << proof.error().ToString();
    EXPECT_TRUE(proof->ok);
  }
}

TEST_F(EngineTest, RangesScansAndLists) {
  Open();
  const FactKey key{"like", "article", "7"};
  for (const uint64_t uid : {uint64_t{0}, uint64_t{40000}, uint64_t{99999}, UINT64_MAX}) {
    ASSERT_TRUE(engine_->Set(key, uid).has_value());
  }
  std::vector<uint64_t> uids;
  const auto next = engine_->Scan(key, 0, 2, &uids);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(*next, 99999u);
  EXPECT_EQ(uids, (std::vector<uint64_t>{0, 40000}));
  EXPECT_EQ(engine_->Cardinality(key, {32768, 100000}).value(), 2u);
  EXPECT_EQ(engine_->Last(key, {0, 99998}).value(), 40000u);
  EXPECT_EQ(engine_->ReadBits(key, 0, 1).value(), "\x80");
  std::vector<Listed> listed;
  ASSERT_TRUE(engine_->PlainSet("p", "v").has_value());
  ListFilter filter;
  filter.with_chunks = true;
  EXPECT_EQ(engine_->List(0, 1000, filter, &listed).value(), 0u);
  ASSERT_EQ(listed.size(), 2u);
  std::sort(listed.begin(), listed.end(),
            [](const Listed& a, const Listed& b) { return a.etype < b.etype; });
  EXPECT_EQ(listed[0].plain, PlainType::kString);
  EXPECT_EQ(listed[1].chunks, (std::vector<uint64_t>{0, 1, 3, UINT64_MAX >> 15}));
  EXPECT_EQ(engine_->ClearRange(key, {32768, 100000}).value(), 2u);
  EXPECT_EQ(CountsOf({"article", "7"}).values[0], 2);
}

TEST_F(EngineTest, WipeRemovesEverythingForGood) {
  Open();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(engine_->Set({"like", "article", std::to_string(i)}, 1).has_value());
  }
  ASSERT_TRUE(engine_->Checkpoint().ok());
  ASSERT_TRUE(engine_->Set({"fav", "article", "1"}, 1).has_value());
  ASSERT_TRUE(engine_->Wipe().ok());
  ASSERT_TRUE(engine_->Set({"like", "article", "5"}, 2).has_value());
  for (int round = 0; round < 2; ++round) {
    std::vector<Listed> listed;
    ASSERT_TRUE(engine_->List(0, 1000, {}, &listed).has_value());
    ASSERT_EQ(listed.size(), 1u);
    EXPECT_EQ(listed[0].eid, "5");
    EXPECT_EQ(CountsOf({"article", "5"}).values[0], 1);
    EXPECT_EQ(CountsOf({"article", "1"}).source, CountSource::kNone);
    Reopen();
  }
}

TEST_F(EngineTest, BadInputIsRefusedAndChangesNothing) {
  Open();
  EXPECT_EQ(engine_->Set({"no such", "article", "1"}, 1).error().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_->Set({"like", "article", ""}, 1).error().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_->AddToCounter({"article", "1"}, "like", 1).error().code(),
            StatusCode::kInvalidArgument);
  ASSERT_TRUE(engine_->AddToCounter({"article", "1"}, "view", INT64_MAX).has_value());
  EXPECT_EQ(engine_->AddToCounter({"article", "1"}, "view", 1).error().code(),
            StatusCode::kOverflow);
  EXPECT_EQ(CountsOf({"article", "1"}).values[4], INT64_MAX);
  ASSERT_TRUE(engine_->PlainSet("s", "abc").has_value());
  EXPECT_EQ(engine_->Set({kPlainSetMetric, "", "s"}, 1).error().code(), StatusCode::kWrongType);
}

TEST_F(EngineTest, AlwaysWaitsForTheDisk) {
  Open(Durability::kAlways);
  ASSERT_TRUE(engine_->Set({"like", "article", "1"}, 1).has_value());
  EXPECT_GT(engine_->GetStats().syncs, 0u);
}

TEST_F(EngineTest, LossIsRefusedByNameAndAcceptedOnlyOnDemand) {
  Open();
  const FactKey key{"like", "article", "1"};
  ASSERT_TRUE(engine_->Set(key, 1).has_value());
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  ASSERT_TRUE(std::filesystem::remove(dir_.path() + "/data/WATERMARK"));
  Options options;
  options.dir = dir_.path() + "/data";
  const auto refused = Engine::Open(options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), StatusCode::kDataLoss);
  EXPECT_NE(refused.error().message().find("WATERMARK"), std::string_view::npos);
  options.accept_loss = true;
  auto accepted = Engine::Open(options);
  ASSERT_TRUE(accepted.has_value()) << accepted.error().ToString();
  engine_ = std::move(*accepted);
  EXPECT_TRUE(engine_->Has(key, 1).value());
  ASSERT_TRUE(engine_->Set(key, 2).has_value());
  for (int round = 0; round < 2; ++round) {
    Reopen();
    EXPECT_TRUE(engine_->Has(key, 1).value());
    EXPECT_TRUE(engine_->Has(key, 2).value());
    EXPECT_EQ(CountsOf({"article", "1"}).values[0], 2);
    ASSERT_TRUE(engine_->Set({"fav", "article", "1"}, static_cast<uint64_t>(round)).has_value());
  }
}

TEST_F(EngineTest, SecondEngineOnTheDirectoryIsRefused) {
  Open();
  Options options;
  options.dir = dir_.path() + "/data";
  const auto second = Engine::Open(options);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), StatusCode::kLocked);
}

}  // namespace
}  // namespace tallystick
