// Proves that sparse sets, their blocks, the directory of the blocks and the inline form keep their
// members: at the widths of a member (1 to 8 bytes), at block and leaf splits and merges, at
// ascending and descending fills, at 0 and 2^64-1, against std::set.
#include "engine/facts/sparse_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "engine/facts/inline_uids.h"
#include "tests/support/test_seed.h"

namespace tallystick {
namespace {

void ExpectSame(const SparseSet& set, const std::set<uint64_t>& model) {
  ASSERT_TRUE(set.IsValid());
  ASSERT_EQ(set.cardinality(), model.size());
  std::vector<uint64_t> uids;
  set.Collect({}, SIZE_MAX, &uids);
  ASSERT_EQ(uids, std::vector<uint64_t>(model.begin(), model.end()));
}

TEST(BlockTest, EveryWidthHoldsItsLargestDistance) {
  for (int width = 1; width <= 8; ++width) {
    const uint64_t largest = ~uint64_t{0} >> (64 - 8 * width);
    const std::vector<uint64_t> uids = {0, 1, largest - 1, largest};
    Block* block = Block::New(uids, 0);
    EXPECT_TRUE(block->IsValid(4));
    for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(block->At(i), uids[i]);
    EXPECT_EQ(block->Find(4, 2).index, 2u);
    EXPECT_EQ(block->Find(4, largest).index, 3u);
    if (width < 8) {  // one more than fits: the block widens
      EXPECT_EQ(block->Find(4, largest + 1).index, 4u);
      block = Block::Insert(block, 4, 4, largest + 1);
      EXPECT_EQ(block->At(4), largest + 1);
      EXPECT_EQ(block->At(3), largest);
      EXPECT_TRUE(block->IsValid(5));
    }
    Block::Free(block);
  }
}

TEST(BlockTest, ShrinksWhenMembersGo) {
  std::vector<uint64_t> uids(Block::kMembersMax);
  for (size_t i = 0; i < uids.size(); ++i) uids[i] = i << 40;
  Block* block = Block::New(uids, 0);
  const size_t full = block->MemoryBytes();
  block = Block::EraseMany(block, Block::kMembersMax, 4, Block::kMembersMax - 4);
  EXPECT_LT(block->MemoryBytes(), full / 10);
  EXPECT_TRUE(block->IsValid(4));
  EXPECT_EQ(block->At(3), uids[3]);
  Block::Free(block);
}

TEST(SparseSetTest, AscendingAndDescendingFills) {
  for (const bool ascending : {true, false}) {
    SparseSet set;
    std::set<uint64_t> model;
    for (uint64_t i = 0; i < 40000; ++i) {
      const uint64_t uid = ascending ? i * 400003 : UINT64_MAX - i * 400003;
      ASSERT_TRUE(set.Add(uid));
      ASSERT_FALSE(set.Add(uid));
      model.insert(model.end(), uid);
    }
    ExpectSame(set, model);
    EXPECT_LT(set.MemoryBytes(), 40000u * 6);
    for (const uint64_t uid : model) ASSERT_TRUE(set.Remove(uid));
    EXPECT_TRUE(set.empty());
    EXPECT_TRUE(set.IsValid());
  }
}

TEST(SparseSetTest, BothEndsOfTheNumberRange) {
  SparseSet set;
  EXPECT_EQ(set.NextIn({}), std::nullopt);
  EXPECT_EQ(set.LastIn({}), std::nullopt);
  EXPECT_TRUE(set.Add(UINT64_MAX));
  EXPECT_TRUE(set.Add(0));
  EXPECT_EQ(set.CardinalityIn({}), 2u);
  EXPECT_EQ(set.CardinalityIn({0, 0}), 1u);
  EXPECT_EQ(set.CardinalityIn({1, UINT64_MAX - 1}), 0u);
  EXPECT_EQ(set.CardinalityIn({UINT64_MAX, UINT64_MAX}), 1u);
  EXPECT_EQ(set.CardinalityIn({1, 0}), 0u);
  EXPECT_EQ(set.NextIn({1, UINT64_MAX}), UINT64_MAX);
  EXPECT_EQ(set.LastIn({0, UINT64_MAX - 1}), 0u);
  EXPECT_EQ(set.LastIn({1, UINT64_MAX - 1}), std::nullopt);
  std::vector<uint64_t> removed;
  set.RemoveRange({UINT64_MAX, UINT64_MAX}, &removed);
  EXPECT_EQ(removed, std::vector<uint64_t>{UINT64_MAX});
  EXPECT_FALSE(set.Remove(UINT64_MAX));
  EXPECT_TRUE(set.Remove(0));
  EXPECT_TRUE(set.empty());
}

TEST(SparseSetTest, RandomOperations) {
  std::mt19937_64 random(TestSeed(4));
  SparseSet set;
  std::set<uint64_t> model;
  for (int step = 0; step < 100000; ++step) {
    const bool growing = (step / 25000) % 2 == 0;
    const uint64_t uid = random() >> (random() % 40);
    if ((random() % 10 < 8) == growing) {
      ASSERT_EQ(set.Add(uid), model.insert(uid).second);
    } else if (random() % 50 == 0) {
      const UidRange range{uid, uid + std::min(UINT64_MAX - uid, random() % (uint64_t{1} << 50))};
      std::vector<uint64_t> removed;
      set.RemoveRange(range, &removed);
      const auto first = model.lower_bound(range.first);
      const auto end = model.upper_bound(range.last);
      ASSERT_EQ(removed, std::vector<uint64_t>(first, end));
      model.erase(first, end);
    } else {
      const auto at = model.lower_bound(uid);
      const uint64_t gone = at == model.end() ? uid : *at;
      ASSERT_EQ(set.Remove(gone), model.erase(gone) == 1);
    }
    if (step % 5000 == 0) ExpectSame(set, model);
  }
  ExpectSame(set, model);
}

// Enough blocks for several leaves of the directory, then all of them away in random order.
TEST(SparseSetTest, ManyLeavesGrowAndVanish) {
  std::mt19937_64 random(TestSeed(5));
  std::vector<uint64_t> uids(60000);
  for (uint64_t& uid : uids) uid = random();
  SparseSet set;
  for (const uint64_t uid : uids) ASSERT_TRUE(set.Add(uid));
  ExpectSame(set, {uids.begin(), uids.end()});
  std::shuffle(uids.begin(), uids.end(), random);
  while (!uids.empty()) {
    ASSERT_TRUE(set.Remove(uids.back()));
    uids.pop_back();
    if (uids.size() % 10000 == 0) ExpectSame(set, {uids.begin(), uids.end()});
  }
  EXPECT_TRUE(set.empty());
}

TEST(InlineUids, HoldsWhatFits) {
  for (size_t n = 0; n <= inline_uids::kMembersMax; ++n) {
    const uint32_t bits = n == 0 ? 64 : inline_uids::WidthBits(static_cast<uint32_t>(n));
    const uint64_t largest = ~uint64_t{0} >> (64 - bits);
    std::vector<uint64_t> uids(n);
    for (size_t i = 0; i < n; ++i) uids[i] = largest - (n - 1 - i);
    EXPECT_TRUE(inline_uids::Fits(n, largest));
    EXPECT_EQ(inline_uids::Fits(n, largest + 1), bits == 64) << "2^64 is 0";
    uint64_t words[2];
    inline_uids::Write(uids, words);
    EXPECT_EQ(words[0] >> 60, 0u);
    uint64_t read[inline_uids::kMembersMax];
    ASSERT_EQ(inline_uids::Read(words, read), n);
    EXPECT_TRUE(std::equal(uids.begin(), uids.end(), read));
  }
  EXPECT_FALSE(inline_uids::Fits(inline_uids::kMembersMax + 1, 0));
}

}  // namespace
}  // namespace tallystick
