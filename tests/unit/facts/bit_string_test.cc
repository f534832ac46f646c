// Proves that stretches of bits are stored and moved where they should be and that all other bits
// keep their values: against one bool per bit, at every alignment and at random. And that the n-th
// one of a word is found, for every one of random words.
#include "engine/facts/bit_string.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "tests/support/test_seed.h"

namespace tallystick::bit_string {
namespace {

constexpr size_t kWords = 6;
constexpr size_t kBits = kWords * kWordBits;

class BitString : public testing::Test {
 protected:
  BitString() : random_(TestSeed(8)), words_(kWords), model_(kBits) {
    for (uint64_t& word : words_) word = random_();
    for (size_t bit = 0; bit < kBits; ++bit) model_[bit] = (words_[bit / 64] >> bit % 64 & 1) != 0;
  }
  size_t Random(size_t bound) { return random_() % bound; }
  void ExpectSame(size_t first, size_t end) const {
    for (size_t bit = first; bit < end; ++bit) {
      ASSERT_EQ((words_[bit / 64] >> bit % 64 & 1) != 0, model_[bit]) << bit;
    }
  }

  std::mt19937_64 random_;
  std::vector<uint64_t> words_;
  std::vector<bool> model_;
};

TEST_F(BitString, StoreWritesItsBitsOnly) {
  for (int i = 0; i < 20000; ++i) {
    const auto n = static_cast<uint32_t>(1 + Random(64));
    const size_t at = Random(kBits - n + 1);
    const uint64_t value = random_() >> (64 - n);
    Store(words_.data(), at, n, value);
    for (uint32_t bit = 0; bit < n; ++bit) model_[at + bit] = (value >> bit & 1) != 0;
    ExpectSame(0, kBits);
  }
}

TEST_F(BitString, MovesTakeTheirStretchOnly) {
  for (int i = 0; i < 20000; ++i) {
    const auto by = static_cast<uint32_t>(1 + Random(63));
    const size_t from = Random(kBits - by);
    const size_t to = from + Random(kBits - by - from + 1);
    const std::vector<bool> before = model_;
    if (i % 2 == 0) {
      MoveUp(words_.data(), from, to, by);
      for (size_t bit = from; bit < to; ++bit) model_[bit + by] = before[bit];
    } else {
      MoveDown(words_.data(), from + by, to + by, by);
      for (size_t bit = from; bit < to; ++bit) model_[bit] = before[bit + by];
    }
    ExpectSame(0, kBits);
  }
}

TEST_F(BitString, EveryOneIsSelected) {
  std::vector<uint64_t> words = {1, uint64_t{1} << 63, ~uint64_t{0}, 0xff00ff0000ff00ff};
  for (int i = 0; i < 2000; ++i) words.push_back(random_() & random_() >> Random(64));
  for (const uint64_t word : words) {
    ASSERT_EQ(CountOnes(word), static_cast<uint32_t>(std::popcount(word)));
    uint32_t rank = 0;
    for (uint32_t bit = 0; bit < 64; ++bit) {
      if ((word >> bit & 1) == 0) continue;
      ASSERT_EQ(SelectOne(word, rank++), bit) << word;
    }
  }
}

}  // namespace
}  // namespace tallystick::bit_string
