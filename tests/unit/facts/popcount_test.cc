// Proves that every kind of popcount that this processor has agrees with counting bit by bit, at
// every length around the vector widths and at every alignment of a word.
#include "engine/facts/popcount.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/support/test_seed.h"

namespace tallystick {
namespace {

constexpr PopcountKind kKinds[] = {PopcountKind::kScalar, PopcountKind::kPopcnt,
                                   PopcountKind::kAvx2, PopcountKind::kAvx512};

uint64_t CountOneByOne(const uint64_t* words, size_t count) {
  uint64_t total = 0;
  for (size_t i = 0; i < count * 64; ++i) total += words[i / 64] >> (i % 64) & 1;
  return total;
}

TEST(Popcount, AllKindsAgree) {
  std::mt19937_64 random(TestSeed(1));
  ASSERT_TRUE(PopcountSupported(PopcountKind::kScalar));
  for (size_t length = 0; length <= 40; ++length) {
    for (size_t offset = 0; offset < 8; ++offset) {
      std::vector<uint64_t> words(length + offset);
      for (uint64_t& word : words) word = random() & random();
      const uint64_t expected = CountOneByOne(words.data() + offset, length);
      ASSERT_EQ(Popcount(words.data() + offset, length), expected);
      for (const PopcountKind kind : kKinds) {
        if (!PopcountSupported(kind)) continue;
        ASSERT_EQ(PopcountWith(kind, words.data() + offset, length), expected)
            << "kind " << static_cast<int>(kind) << ", length " << length;
      }
    }
  }
}

TEST(Popcount, FullAndEmptyChunks) {
  const std::vector<uint64_t> full(512, ~uint64_t{0});
  const std::vector<uint64_t> none(512, 0);
  for (const PopcountKind kind : kKinds) {
    if (!PopcountSupported(kind)) continue;
    EXPECT_EQ(PopcountWith(kind, full.data(), full.size()), 32768u);
    EXPECT_EQ(PopcountWith(kind, none.data(), none.size()), 0u);
  }
}

}  // namespace
}  // namespace tallystick
