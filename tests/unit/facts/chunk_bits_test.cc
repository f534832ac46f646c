// Proves the bit work on one chunk, and the change to Redis's bit order, against plain loops over a
// vector of bools.
#include "engine/facts/chunk_bits.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "engine/facts/bit_order.h"
#include "tests/support/test_seed.h"

namespace tallystick {
namespace {

struct Chunk {
  ChunkBits bits{};
  std::vector<bool> model = std::vector<bool>(kChunkBits);

  void Fill(uint32_t first, uint32_t last, bool value) {
    value ? SetBitRange(bits.data(), first, last) : ClearBitRange(bits.data(), first, last);
    for (uint32_t i = first; i <= last; ++i) model[i] = value;
  }
};

TEST(ChunkBitsTest, AgreesWithPlainLoops) {
  std::mt19937_64 random(TestSeed(2));
  Chunk chunk;
  for (int round = 0; round < 100; ++round) {
    const auto a = static_cast<uint32_t>(random() % kChunkBits);
    const auto length = static_cast<uint32_t>(random() % (round % 3 == 0 ? kChunkBits : 100));
    const uint32_t b = std::min(kChunkBits - 1, a + length);
    chunk.Fill(a, b, random() % 2 == 0);
    uint32_t count = 0;
    uint32_t runs = 0;
    std::optional<uint32_t> last;
    for (uint32_t i = 0; i < kChunkBits; ++i) {
      ASSERT_EQ(TestBit(chunk.bits.data(), i), chunk.model[i]);
      runs += chunk.model[i] && (i == 0 || !chunk.model[i - 1]) ? 1u : 0u;
      if (i < a || i > b || !chunk.model[i]) continue;
      ++count;
      last = i;
    }
    ASSERT_EQ(CountBits(chunk.bits.data(), a, b), count);
    ASSERT_EQ(CountRuns(chunk.bits.data()), runs);
    ASSERT_EQ(LastSetBit(chunk.bits.data(), a, b), last);
    uint32_t visited = 0;
    ForEachBit(chunk.bits.data(), a, b,
               [&](uint32_t bit) { visited += chunk.model[bit] ? 1u : 5u; });
    ASSERT_EQ(visited, count);
    uint32_t in_runs = 0;
    ForEachRun(chunk.bits.data(), [&](uint32_t first, uint32_t end) {
      --runs;
      in_runs += end - first + 1;
    });
    ASSERT_EQ(runs, 0u);
    ASSERT_EQ(in_runs, CountBits(chunk.bits.data(), 0, kChunkBits - 1));
  }
}

TEST(ChunkBitsTest, Edges) {
  Chunk chunk;
  EXPECT_EQ(NextSetBit(chunk.bits.data(), 0), kChunkBits);
  EXPECT_EQ(NextSetBit(chunk.bits.data(), kChunkBits), kChunkBits);
  EXPECT_EQ(LastSetBit(chunk.bits.data(), 0, kChunkBits - 1), std::nullopt);
  chunk.Fill(0, kChunkBits - 1, true);
  EXPECT_EQ(NextClearBit(chunk.bits.data(), 0), kChunkBits);
  EXPECT_EQ(CountRuns(chunk.bits.data()), 1u);
  EXPECT_EQ(CountBits(chunk.bits.data(), 0, kChunkBits - 1), kChunkBits);
  EXPECT_EQ(CountBits(chunk.bits.data(), 63, 64), 2u);
  chunk.Fill(1, kChunkBits - 2, false);
  EXPECT_EQ(NextSetBit(chunk.bits.data(), 1), kChunkBits - 1);
  EXPECT_EQ(CountRuns(chunk.bits.data()), 2u);
}

TEST(BitOrder, RedisNumbersBitsFromTheMostSignificant) {
  std::string text(3, '\0');
  SetRedisBit(text.data(), 0);
  SetRedisBit(text.data(), 15);
  EXPECT_EQ(text, std::string("\x80\x01\x00", 3));
  EXPECT_TRUE(TestRedisBit(text.data(), 0));
  EXPECT_FALSE(TestRedisBit(text.data(), 14));
  EXPECT_TRUE(TestRedisBit(text.data(), 15));
}

TEST(BitOrder, OrIntoRedisStringKeepsWhatIsThere) {
  for (const size_t bytes : {0u, 1u, 7u, 8u, 9u, 31u}) {
    std::string bitmap(bytes, '\0');
    std::string expected(bytes + 1, '\x08');
    for (size_t bit = 0; bit < bytes * 8; bit += 3) {
      bitmap[bit / 8] = static_cast<char>(bitmap[bit / 8] | (1 << (bit % 8)));
      SetRedisBit(expected.data(), bit);
    }
    std::string got(bytes + 1, '\x08');
    OrIntoRedisString(bitmap.data(), bytes, got.data());
    EXPECT_EQ(got, expected);
  }
}

}  // namespace
}  // namespace tallystick
