// Proves that looking for bits in a string by words gives what looking bit by bit gives. Random
// strings with long stretches of one value, and random ranges, seeded.
#include "engine/plain_string.h"

#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

#include <random>

namespace tallystick {
namespace {

TEST(PlainString, ByWordsAsBitByBit) {
  std::mt19937_64 random(TestSeed(std::random_device()()));
  for (int i = 0; i < 3000; ++i) {
    std::string value;
    while (value.size() < random() % 40) {
      const uint64_t kind = random() % 3;
      value.append(random() % 20, kind == 0   ? '\0'
                                  : kind == 1 ? '\xff'
                                              : static_cast<char>(random()));
    }
    UidRange range{random() % 350, random() % 350};
    if (random() % 4 == 0) range.last = UINT64_MAX;
    std::optional<uint64_t> first_set, first_clear, last_set;
    uint64_t count = 0;
    for (uint64_t bit = range.first; bit <= std::min<uint64_t>(range.last, 1000); ++bit) {
      const bool on = StringBit(value, bit);
      count += on;
      if (on && !first_set) first_set = bit;
      if (!on && !first_clear) first_clear = bit;
      if (on) last_set = bit;
    }
    EXPECT_EQ(FirstStringBit(value, range, true), first_set);
    EXPECT_EQ(FirstStringBit(value, range, false), first_clear);
    EXPECT_EQ(LastStringBit(value, range), last_set);
    EXPECT_EQ(StringBits(value, range), count);
  }
}

}  // namespace
}  // namespace tallystick
