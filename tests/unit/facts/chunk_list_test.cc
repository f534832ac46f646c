// Proves that chunk lists and changes round-trip, that a set built from a list has its members in
// valid forms, and that bytes which no writer wrote are refused or give a valid set. Random members
// of several densities, seeded.
#include "engine/facts/chunk_list.h"

#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tallystick {
namespace {

std::vector<uint64_t> RandomMembers(std::mt19937_64* random) {
  std::set<uint64_t> members;
  const auto below = [random](uint64_t n) { return (*random)() % n; };
  for (uint64_t i = below(6); i > 0; --i) members.insert((*random)());
  const uint64_t start = below(1u << 20), span = uint64_t{1} << below(20);
  for (uint64_t i = below(3000); i > 0; --i) members.insert(start + below(span));
  if (below(3) == 0) {
    for (uint64_t uid = start; uid < start + 5000; ++uid) members.insert(uid);
  }
  if (below(4) == 0) members.insert(UINT64_MAX);
  return {members.begin(), members.end()};
}

std::string ListOf(const std::vector<uint64_t>& members) {
  std::string list;
  ChunkListWriter writer(&list);
  for (const uint64_t uid : members) writer.Append(uid);
  writer.Finish();
  return list;
}

std::vector<uint64_t> MembersOf(const FactSet& set) {
  std::vector<uint64_t> members;
  if (!set.empty()) static_cast<void>(set.Collect(0, set.cardinality(), &members));
  return members;
}

TEST(ChunkList, RandomMembersRoundTrip) {
  std::mt19937_64 random(TestSeed(std::random_device()()));
  for (int round = 0; round < 300; ++round) {
    const std::vector<uint64_t> members = RandomMembers(&random);
    const std::string list = ListOf(members);
    FactSet set;
    ASSERT_TRUE(SetFromChunkList(list, &set));
    ASSERT_TRUE(set.IsValid());
    ASSERT_EQ(MembersOf(set), members);
    // The same list from whole chunks.
    std::string from_bits;
    ChunkListWriter writer(&from_bits);
    ASSERT_TRUE(ReadChunkList(list, [&](uint64_t chunk, const ChunkBits& bits) {
      ChunkBits read;
      set.ReadChunk(chunk, &read);
      EXPECT_EQ(read, bits);
      writer.AppendChunk(chunk, bits);
      return true;
    }));
    writer.Finish();
    EXPECT_EQ(from_bits, list);
  }
}

TEST(ChunkList, DamagedBytesAreRefusedOrGiveAValidSet) {
  std::mt19937_64 random(TestSeed(std::random_device()()));
  for (int round = 0; round < 300; ++round) {
    std::string list = ListOf(RandomMembers(&random));
    for (uint64_t i = random() % 3 + 1; i > 0; --i)
      list[random() % list.size()] = static_cast<char>(random());
    if (random() % 2 == 0) list.resize(random() % list.size());
    FactSet set;
    if (SetFromChunkList(list, &set)) {
      ASSERT_TRUE(set.IsValid());
    } else {
      ASSERT_TRUE(set.empty());
    }
  }
}

TEST(ChunkList, ChangesRoundTrip) {
  std::mt19937_64 random(TestSeed(std::random_device()()));
  for (int round = 0; round < 50; ++round) {
    const std::vector<uint64_t> added = RandomMembers(&random), removed = RandomMembers(&random);
    std::string change;
    EncodeChange(added, removed, &change);
    std::string_view first, second;
    ASSERT_TRUE(SplitChange(change, &first, &second));
    EXPECT_EQ(first, ListOf(added));
    EXPECT_EQ(second, ListOf(removed));
  }
  std::string_view first, second;
  EXPECT_FALSE(SplitChange("\x05zz", &first, &second));
}

TEST(ChunkList, ExampleOfTheFormatsPage) {
  EXPECT_EQ(ListOf({7, 8, 20, 32768}),
            std::string("\x01\x00\x05\x01\x03\x07\x00\x0b\x00\x03\x01\x01\x00", 13));
}

}  // namespace
}  // namespace tallystick
