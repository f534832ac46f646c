// Proves that a container keeps its members in every form, that it changes form at the thresholds
// that container.h names and not one member before, and that members which come and go at a
// threshold do not make it convert again. Forms are compared with a bitmap of the same members.
#include "engine/facts/container.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/support/test_seed.h"

namespace tallystick {
namespace {

using Form = Container::Form;
constexpr uint64_t kNumber = kChunkNumberMax;  // its last member is uid 2^64-1

// A container and the same members as bits.
class Mirrored {
 public:
  explicit Mirrored(uint32_t first_bit) {
    bits_[first_bit / 64] = uint64_t{1} << (first_bit % 64);
    container_ = Container::FromBits(kNumber, bits_, 1);
  }
  Mirrored(const ChunkBits& bits, uint32_t count)
      : bits_(bits), container_(Container::FromBits(kNumber, bits, count)) {}
  Mirrored(const Mirrored&) = delete;
  Mirrored& operator=(const Mirrored&) = delete;
  ~Mirrored() { container_.Free(); }

  void Add(uint32_t bit) {
    EXPECT_EQ(container_.Add(bit), !TestBit(bits_.data(), bit));
    SetBitRange(bits_.data(), bit, bit);
  }
  void Remove(uint32_t bit) {
    EXPECT_EQ(container_.Remove(bit), TestBit(bits_.data(), bit));
    ClearBitRange(bits_.data(), bit, bit);
  }
  Container& operator*() { return container_; }
  Container* operator->() { return &container_; }

  void ExpectSame(uint32_t first, uint32_t last) {
    ASSERT_TRUE(container_.IsValid());
    ASSERT_EQ(container_.number(), kNumber);
    ChunkBits found;
    container_.ToBits(&found);
    ASSERT_EQ(found, bits_);
    ASSERT_EQ(container_.cardinality(), CountBits(bits_.data(), 0, kChunkBits - 1));
    ASSERT_EQ(container_.CardinalityIn(first, last), CountBits(bits_.data(), first, last));
    ASSERT_EQ(container_.LastIn(first, last), LastSetBit(bits_.data(), first, last));
    const uint32_t next = NextSetBit(bits_.data(), first);
    ASSERT_EQ(container_.NextIn(first, last),
              next <= last ? std::optional<uint32_t>(next) : std::nullopt);
    std::vector<uint64_t> some;
    container_.Collect(first, 10, &some);
    std::vector<uint64_t> expected;
    for (uint32_t bit = next; bit < kChunkBits && expected.size() < 10;
         bit = NextSetBit(bits_.data(), bit + 1)) {
      expected.push_back(FirstUidOf(kNumber) + bit);
    }
    ASSERT_EQ(some, expected);
    for (const uint32_t bit : {first, last}) {
      ASSERT_EQ(container_.Contains(bit), TestBit(bits_.data(), bit));
    }
  }
  void ExpectSame() { ExpectSame(0, kChunkBits - 1); }

 private:
  ChunkBits bits_{};
  Container container_;
};

TEST(ContainerTest, ArrayBecomesDenseAboveItsMaximumAndBackBelowTheMinimum) {
  Mirrored chunk(0);
  for (uint32_t i = 1; i < kArrayMembersMax; ++i) chunk.Add(i * 15);
  EXPECT_EQ(chunk->cardinality(), kArrayMembersMax);
  EXPECT_EQ(chunk->form(), Form::kArray);
  chunk.ExpectSame();
  chunk.Add(7);
  EXPECT_EQ(chunk->form(), Form::kDense);
  chunk.ExpectSame();
  chunk.Remove(7);
  EXPECT_EQ(chunk->form(), Form::kDense) << "hysteresis";
  for (uint32_t i = kArrayMembersMax - 1; i >= kDenseMembersMin; --i) chunk.Remove(i * 15);
  EXPECT_EQ(chunk->cardinality(), kDenseMembersMin);
  EXPECT_EQ(chunk->form(), Form::kDense);
  chunk.ExpectSame();
  chunk.Remove((kDenseMembersMin - 1) * 15);
  EXPECT_EQ(chunk->form(), Form::kArray);
  chunk.ExpectSame();
  chunk.Add((kDenseMembersMin - 1) * 15);
  EXPECT_EQ(chunk->form(), Form::kArray) << "hysteresis";
}

TEST(ContainerTest, AnAscendingFillIsRoaringAndSmall) {
  Mirrored chunk(0);
  for (uint32_t bit = 1; bit < kChunkBits; ++bit) chunk.Add(bit);
  EXPECT_EQ(chunk->form(), Form::kRoaring);
  EXPECT_LT(chunk->MemoryBytes(), 200u);
  chunk.ExpectSame();
  for (uint32_t bit = 0; bit < kChunkBits; bit += 1000) chunk.Remove(bit);
  EXPECT_EQ(chunk->form(), Form::kRoaring);
  chunk.ExpectSame();
}

// Breaking up the runs of CRoaring's run form would make it twenty times as large as a dense chunk.
TEST(ContainerTest, RoaringIsLeftWhenItsRunsAreBrokenUp) {
  Mirrored chunk(0);
  for (uint32_t bit = 1; bit < kChunkBits; ++bit) chunk.Add(bit);
  size_t largest = 0;
  for (uint32_t bit = 0; bit < kChunkBits; bit += 2) {
    chunk.Remove(bit);
    largest = std::max(largest, chunk->MemoryBytes());
  }
  EXPECT_EQ(chunk->form(), Form::kDense);
  EXPECT_LE(largest, 4608u);  // the library keeps room for runs to come
  chunk.ExpectSame();
  for (uint32_t bit = 1; bit < kChunkBits - 2; bit += 2) chunk.Remove(bit);
  EXPECT_EQ(chunk->form(), Form::kPacked);
  chunk.ExpectSame();
}

TEST(ContainerTest, ADenseChunkThatShrinksToRunsBecomesRoaring) {
  ChunkBits bits{};
  for (uint32_t bit = 0; bit < kChunkBits; bit += 2) SetBitRange(bits.data(), bit, bit);
  SetBitRange(bits.data(), 1000, 4000);
  Mirrored chunk(bits, CountBits(bits.data(), 0, kChunkBits - 1));
  EXPECT_EQ(chunk->form(), Form::kDense);
  for (uint32_t bit = 0; bit < kChunkBits; bit += 2) {
    if (bit < 1000 || bit > 4000) chunk.Remove(bit);
  }
  EXPECT_EQ(chunk->form(), Form::kRoaring);
  chunk.ExpectSame();
}

TEST(ContainerTest, FromBitsTakesTheSmallestForm) {
  const auto form_of = [](uint32_t members, uint32_t step) {
    ChunkBits bits{};
    for (uint32_t i = 0; i < members; ++i) SetBitRange(bits.data(), i * step, i * step);
    Mirrored chunk(bits, members);
    chunk.ExpectSame();
    EXPECT_FALSE(chunk->changed());
    EXPECT_FALSE(chunk->saved());
    return chunk->form();
  };
  EXPECT_EQ(form_of(1, 1), Form::kPacked);
  EXPECT_EQ(form_of(kPackedMembersMax, 1), Form::kPacked);
  EXPECT_EQ(form_of(kPackedMembersMax + 1, 2), Form::kArray);
  EXPECT_EQ(form_of(kArrayMembersMax, 2), Form::kArray);
  EXPECT_EQ(form_of(kArrayMembersMax + 1, 2), Form::kDense);
  EXPECT_EQ(form_of(kPackedMembersMax + 1, 1), Form::kRoaring);
  EXPECT_EQ(form_of(kChunkBits, 1), Form::kRoaring);
}

TEST(ContainerTest, PackedBecomesAnArrayAboveItsMaximumAndBackBelowTheMinimum) {
  Mirrored chunk(0);
  for (uint32_t i = 1; i < kPackedMembersMax; ++i) chunk.Add(i * 100);
  EXPECT_EQ(chunk->form(), Form::kPacked);
  EXPECT_LT(chunk->MemoryBytes(), kPackedMembersMax * 3 / 2);
  chunk.ExpectSame();
  chunk.Add(1);
  EXPECT_EQ(chunk->form(), Form::kArray);
  chunk.ExpectSame();
  chunk.Remove(1);
  EXPECT_EQ(chunk->form(), Form::kArray) << "hysteresis";
  for (uint32_t i = kPackedMembersMax - 1; i >= kArrayMembersMin; --i) chunk.Remove(i * 100);
  EXPECT_EQ(chunk->cardinality(), kArrayMembersMin);
  EXPECT_EQ(chunk->form(), Form::kArray);
  chunk.Remove(100);
  EXPECT_EQ(chunk->form(), Form::kPacked);
  chunk.ExpectSame();
}

TEST(ContainerTest, RandomOperationsKeepTheMembers) {
  std::mt19937_64 random(TestSeed(3));
  // Different widths end in different forms.
  constexpr uint32_t kWidths[] = {200, 3000, 6000, 32768};
  for (size_t round = 0; round < 12; ++round) {
    Mirrored chunk(static_cast<uint32_t>(random() % kChunkBits));
    const uint32_t width = kWidths[round % 4];
    for (uint32_t step = 0; step < 12000; ++step) {
      const auto bit = static_cast<uint32_t>(random() % width);
      const bool growing = (step / 4000) % 2 == 0;
      if (chunk->cardinality() < 2 || (random() % 10 < 7) == growing) {
        chunk.Add(bit);
      } else if (chunk->cardinality() > 1) {
        chunk.Remove(bit);
      }
      if (step % 100 == 0) chunk.ExpectSame(bit, std::min(kChunkBits - 1, bit + step % 5000));
    }
  }
}

TEST(ContainerTest, RemoveRangeTakesWhatLiesInIt) {
  for (const uint32_t step : {1u, 3u, 40u}) {
    ChunkBits bits{};
    for (uint32_t bit = 0; bit < kChunkBits; bit += step) SetBitRange(bits.data(), bit, bit);
    const uint32_t count = CountBits(bits.data(), 0, kChunkBits - 1);
    Mirrored chunk(bits, count);
    (*chunk).MarkSaved();
    std::vector<uint64_t> removed;
    EXPECT_EQ(chunk->RemoveRange(100, 20000, &removed), CountBits(bits.data(), 100, 20000));
    EXPECT_TRUE(chunk->saved() && chunk->changed());
    EXPECT_EQ(chunk->cardinality(), count - removed.size());
    EXPECT_EQ(chunk->CardinalityIn(100, 20000), 0u);
    EXPECT_TRUE(chunk->IsValid());
    chunk->RemoveRange(0, kChunkBits - 1, &removed);
    EXPECT_EQ(removed.size(), count);
    EXPECT_EQ(chunk->cardinality(), 0u);
    EXPECT_EQ(chunk->MemoryBytes(), 0u);
    EXPECT_EQ(chunk->number(), kNumber);
  }
}

TEST(ContainerTest, AbsentKnowsItsCardinalityOnly) {
  ChunkBits bits{};
  SetBitRange(bits.data(), 5, 9);
  Container absent = Container::Absent(3, 5);
  EXPECT_TRUE(absent.absent() && absent.saved() && !absent.changed() && absent.IsValid());
  EXPECT_EQ(absent.cardinality(), 5u);
  EXPECT_EQ(absent.MemoryBytes(), 0u);
  EXPECT_DEATH(absent.Contains(5), "");
  EXPECT_DEATH(absent.Add(5), "");
  SetBitRange(bits.data(), 11, 11);
  EXPECT_FALSE(absent.Install(bits)) << "six members, the directory says five";
  EXPECT_TRUE(absent.absent());
  ClearBitRange(bits.data(), 5, 5);
  EXPECT_TRUE(absent.Install(bits));
  EXPECT_TRUE(absent.IsValid() && absent.saved() && !absent.changed());
  EXPECT_TRUE(absent.Contains(6));
  absent.Free();
}

}  // namespace
}  // namespace tallystick
