// Proves that portable images are what CRoaring's Roaring64Map reads and writes, both ways and for
// members of every density; that an image has one reading or a refusal that says why; and that
// damaged images never give a set that is not valid. Random members and damages, seeded.
#include "engine/facts/portable_image.h"

#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include <roaring/roaring64map.hh>

namespace tallystick {
namespace {

using Members = std::vector<uint64_t>;

Members RandomMembers(std::mt19937_64* random) {
  std::set<uint64_t> members;
  const auto below = [random](uint64_t n) { return (*random)() % n; };
  for (uint64_t i = below(6); i > 0; --i) members.insert((*random)());
  for (uint64_t part = below(5); part > 0; --part) {
    const uint64_t start = below(3) == 0 ? (*random)() : below(uint64_t{1} << (16 + below(20)));
    const uint64_t span = uint64_t{1} << below(22);
    if (start > UINT64_MAX - (uint64_t{1} << 24)) continue;
    if (below(2) == 0) {
      for (uint64_t i = below(20'000); i > 0; --i) members.insert(start + below(span));
    } else {
      const uint64_t step = 1 + below(3) / 2;
      for (uint64_t i = below(100'000); i > 0; --i) members.insert(start + i * step);
    }
  }
  if (below(4) == 0) members.insert(UINT64_MAX);
  return {members.begin(), members.end()};
}

// By single members, or (where there are many of a chunk) as bits, as callers do.
std::string ImageOf(const Members& members) {
  std::string image;
  PortableWriter writer(&image);
  for (size_t i = 0; i < members.size();) {
    size_t end = i;
    while (end < members.size() && ChunkOf(members[end]) == ChunkOf(members[i])) ++end;
    if (end - i > 500) {
      ChunkBits bits{};
      for (; i < end; ++i) SetBitRange(bits.data(), BitOf(members[i]), BitOf(members[i]));
      writer.AppendChunk(ChunkOf(members[end - 1]), bits);
    } else {
      for (; i < end; ++i) writer.Append(members[i]);
    }
    EXPECT_LE(image.size(), writer.bytes());
  }
  const size_t promised = writer.bytes();
  writer.Finish();
  EXPECT_LE(image.size(), promised + 8);
  return image;
}

Members MembersOf(const FactSet& set) {
  Members members;
  EXPECT_FALSE(set.Collect(0, SIZE_MAX, &members));
  return members;
}

std::string Written(const Roaring64Map& map) {
  std::string image(map.getSizeInBytes(), '\0');
  EXPECT_EQ(map.write(image.data(), true), image.size());
  return image;
}

TEST(PortableImage, CRoaringReadsWhatIsWritten) {
  std::mt19937_64 random(TestSeed(std::random_device()()));
  for (int i = 0; i < 100; ++i) {
    const Members members = RandomMembers(&random);
    const std::string image = ImageOf(members);
    const Roaring64Map map = Roaring64Map::readSafe(image.data(), image.size());
    ASSERT_EQ(map.cardinality(), members.size());
    Members read(members.size());
    map.toUint64Array(read.data());
    ASSERT_EQ(read, members);
    // Canonical: CRoaring, asked to use runs where they are smaller, writes the same bytes.
    Roaring64Map same(members.size(), members.data());
    same.runOptimize();
    EXPECT_EQ(Written(same), image);
  }
}

TEST(PortableImage, ReadsWhatCRoaringWrites) {
  std::mt19937_64 random(TestSeed(std::random_device()()));
  for (int i = 0; i < 100; ++i) {
    const Members members = RandomMembers(&random);
    Roaring64Map map(members.size(), members.data());
    if (i % 2 == 0) map.runOptimize();
    FactSet set;
    const Status status = ReadPortable(Written(map), &set);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_TRUE(set.IsValid());
    ASSERT_EQ(MembersOf(set), members);
  }
}

TEST(PortableImage, TheEmptySet) {
  EXPECT_EQ(ImageOf({}), std::string(8, '\0'));
  FactSet set;
  EXPECT_TRUE(ReadPortable(std::string(8, '\0'), &set).ok());
  EXPECT_TRUE(set.empty());
}

TEST(PortableImage, RefusalsSayWhatIsWrong) {
  const auto refusal = [](std::string_view bytes) {
    FactSet set;
    const Status status = ReadPortable(bytes, &set);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_TRUE(set.empty());
    return std::string(status.message());
  };
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  const std::string good = ImageOf({1, 5, 70'000, uint64_t{1} << 33});
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_TRUE(has(refusal(good.substr(0, length)), "cut short")) << length;
  }
  EXPECT_TRUE(has(refusal(good + "x"), "bytes follow"));
  // u64 bitmaps, u32 high, u32 cookie, u32 containers, heads, offsets, containers.
  const auto changed = [&good](size_t at, char value) {
    std::string bytes = good;
    bytes[at] = value;
    return bytes;
  };
  EXPECT_TRUE(has(refusal(changed(12, 7)), "cookie"));
  EXPECT_TRUE(has(refusal(changed(18, 2)), "too many containers"));
  EXPECT_TRUE(has(refusal(changed(24, 0)), "keys of the containers"));
  EXPECT_TRUE(has(refusal(changed(28, 9)), "offset"));
  EXPECT_TRUE(has(refusal(changed(36, 9)), "do not rise"));
  EXPECT_TRUE(has(refusal(changed(42, 0)), "high halves"));
  EXPECT_TRUE(has(refusal(std::string(8, '\xff')), "cut short"));

  // One container of runs: 0 .. 9.
  std::string runs;
  PortableWriter writer(&runs);
  for (uint64_t uid = 0; uid < 10; ++uid) writer.Append(uid);
  writer.Finish();
  const size_t length_at = runs.size() - 2;
  runs[length_at] = 8;
  EXPECT_TRUE(has(refusal(runs), "other members"));
  runs[length_at] = runs[length_at + 1] = '\xff';
  runs[length_at - 2] = 1;
  EXPECT_TRUE(has(refusal(runs), "runs of a container"));
}

TEST(PortableImage, RunsMayNotAskForMuchMemory) {
  // Full containers, 15 bytes each, of many high halves.
  const auto full = [](uint32_t bitmaps) {
    std::string image;
    PortableWriter writer(&image);
    ChunkBits all;
    all.fill(~uint64_t{0});
    for (uint64_t chunk = 0; chunk < bitmaps; ++chunk) writer.AppendChunk(chunk, all);
    writer.Finish();
    return image;
  };
  FactSet set;
  EXPECT_TRUE(ReadPortable(full(1u << 12), &set).ok());
  EXPECT_EQ(set.cardinality(), uint64_t{1} << 27);
  EXPECT_EQ(ReadPortable(full(kPortableRunChunksMax + 2), &set).code(), StatusCode::kTooLarge);
  EXPECT_TRUE(set.empty());
}

TEST(PortableImage, DamageIsRefusedOrGivesAValidSet) {
  std::mt19937_64 random(TestSeed(std::random_device()()));
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string image;
    if (i % 20 == 0 || image.empty()) {
      std::set<uint64_t> members;
      for (uint64_t n = random() % 300; n > 0; --n) members.insert(random() % 200'000);
      for (uint64_t n = random() % 2000; n > 0; --n) members.insert(70'000 + n);
      image = ImageOf({members.begin(), members.end()});
    }
    for (uint64_t n = 1 + random() % 3; n > 0; --n) {
      image[random() % image.size()] ^= static_cast<char>(1 << (random() % 8));
    }
    FactSet set;
    if (!ReadPortable(image, &set).ok()) {
      EXPECT_TRUE(set.empty());
      continue;
    }
    ++accepted;
    ASSERT_TRUE(set.IsValid());
    FactSet again;
    ASSERT_TRUE(ReadPortable(ImageOf(MembersOf(set)), &again).ok());
    ASSERT_EQ(MembersOf(again), MembersOf(set));
  }
  std::printf("%d of 3000 damaged images were other valid images\n", accepted);
}

}  // namespace
}  // namespace tallystick
