// Proves that images of every form come back as they were, take the smallest form, and that hostile
// bytes (every truncation, every changed byte, random bytes) are refused or give a valid set: never
// a crash, an invalid set, or members that differ from what the directory says.
#include "engine/facts/set_image.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "engine/facts/fact_set.h"
#include "tests/support/test_seed.h"
#include "tests/unit/facts/set_store.h"

namespace tallystick {
namespace {

ChunkBits Every(uint32_t step, uint32_t members) {
  ChunkBits bits{};
  for (uint32_t i = 0; i < members; ++i) SetBitRange(bits.data(), i * step, i * step);
  return bits;
}

std::string Encoded(const ChunkBits& bits) {
  std::string image;
  EncodeChunkBits(bits, &image);
  ChunkBits decoded;
  EXPECT_TRUE(DecodeChunkBits(image, &decoded));
  EXPECT_EQ(decoded, bits);
  // The same from a list of values.
  std::vector<uint16_t> values;
  ForEachBit(bits.data(), 0, kChunkBits - 1,
             [&values](uint32_t bit) { values.push_back(static_cast<uint16_t>(bit)); });
  std::string other;
  EncodeChunkValues(values, &other);
  EXPECT_EQ(other, image);
  return image;
}

FactSet SetOf(const std::vector<uint64_t>& uids) {
  FactSet set;
  for (const uint64_t uid : uids) set.Add(uid);
  return set;
}

std::string HeaderOf(const FactSet& set) {
  std::string header;
  set.EncodeHeader(&header);
  return header;
}

// Decodes from a block of exactly the size, so that a sanitizer sees an over-read.
bool Decodes(std::string_view bytes, FactSet* set) {
  const std::vector<char> copy(bytes.begin(), bytes.end());
  const bool valid = FactSet::DecodeHeader({copy.data(), copy.size()}, set);
  EXPECT_TRUE(set->IsValid());
  // A set that is refused is empty, and every set has one image.
  EXPECT_EQ(HeaderOf(*set), valid ? std::string(bytes) : HeaderOf(FactSet()));
  return valid;
}

TEST(SetImage, ChunksTakeTheSmallestForm) {
  EXPECT_EQ(Encoded(Every(1, 1)), std::string("\x01\x01\x00", 3));
  EXPECT_EQ(Encoded(Every(1, kChunkBits)), std::string("\x02\x01\x00\xff\xff\x01", 6));
  ChunkBits last{};
  SetBitRange(last.data(), kChunkBits - 1, kChunkBits - 1);
  EXPECT_EQ(Encoded(last), std::string("\x01\x01\xff\xff\x01", 5));
  EXPECT_EQ(Encoded(Every(8, 4000)).size(), 1u + 2 + 4000);
  EXPECT_EQ(Encoded(Every(2, 16384)).size(), 4097u);
  EXPECT_EQ(Encoded(Every(2, 16384))[0], kChunkImageDense);
  // Two bytes for the count and one a member: 4,094 are not larger than a dense image, 4,095 are.
  EXPECT_EQ(Encoded(Every(8, 4094))[0], kChunkImageArray);
  EXPECT_EQ(Encoded(Every(8, 4095))[0], kChunkImageDense);
}

TEST(SetImage, DamagedChunksAreRefusedOrWhole) {
  ChunkBits runs{};
  SetBitRange(runs.data(), 300, 700);
  SetBitRange(runs.data(), 702, 30000);
  for (const ChunkBits& bits : {Every(3, 10), Every(200, 100), runs, Every(2, 16384)}) {
    const std::string image = Encoded(bits);
    const auto decode = [](std::string_view bytes) {
      const std::vector<char> copy(bytes.begin(), bytes.end());
      ChunkBits decoded;
      if (!DecodeChunkBits({copy.data(), copy.size()}, &decoded)) return false;
      EXPECT_GT(CountBits(decoded.data(), 0, kChunkBits - 1), 0u);
      return true;
    };
    for (size_t size = 0; size < image.size(); ++size) {
      EXPECT_FALSE(decode(std::string_view(image).substr(0, size))) << size;
    }
    EXPECT_FALSE(decode(image + '\0'));
    for (size_t i = 0; i < std::min<size_t>(image.size(), 300); ++i) {
      for (int value = 0; value < 256; ++value) {
        std::string changed = image;
        changed[i] = static_cast<char>(value);
        static_cast<void>(decode(changed));
      }
    }
  }
  ChunkBits decoded;
  EXPECT_FALSE(DecodeChunkBits(std::string(1, '\3') + std::string(4096, '\0'), &decoded));
  EXPECT_FALSE(DecodeChunkBits(std::string("\x01\x00", 2), &decoded)) << "no members";
  EXPECT_FALSE(DecodeChunkBits(std::string("\x02\x01\x01\xff\xff\x01", 6), &decoded))
      << "a run past the end";
  EXPECT_FALSE(DecodeChunkBits(std::string("\x01\x02\x00\xff\xff\x01", 6), &decoded))
      << "a member past the end";
  EXPECT_FALSE(DecodeChunkBits(std::string("\x04\x01\x00", 3), &decoded)) << "an unknown form";
}

TEST(SetImage, HeadersRoundTrip) {
  FactSet found;
  EXPECT_TRUE(Decodes(std::string("\x01\x00", 2), &found));
  EXPECT_TRUE(found.empty());
  EXPECT_EQ(HeaderOf(SetOf({UINT64_MAX})), "\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  for (const size_t n : {1u, 2u, 3u, 15u, 16u, 255u, 256u, 257u, 5000u}) {
    std::vector<uint64_t> uids;
    for (uint64_t i = 0; i < n; ++i) uids.push_back(UINT64_MAX - (n - 1 - i) * 1'000'000'007);
    const std::string header = HeaderOf(SetOf(uids));
    ASSERT_TRUE(Decodes(header, &found));
    std::vector<uint64_t> members;
    EXPECT_EQ(found.Collect(0, SIZE_MAX, &members), std::nullopt);
    EXPECT_EQ(members, uids);
    EXPECT_FALSE(found.chunked());
  }
}

TEST(SetImage, MalformedHeadersAreRefused) {
  const auto refused = [](const std::string& bytes) {
    FactSet set = SetOf({1, 2, 3});
    return !Decodes(bytes, &set);
  };
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused(std::string("\x00\x00", 2))) << "unknown form";
  EXPECT_TRUE(refused("\x03\x01\x01")) << "unknown form";
  EXPECT_TRUE(refused("\x01\x02\x01")) << "short";
  EXPECT_TRUE(refused("\x01\x01\x01\x01")) << "trailing byte";
  EXPECT_TRUE(refused(std::string("\x01\x81\x00\x01", 4))) << "overlong varint";
  EXPECT_TRUE(refused("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01")) << "2^64-1 members";
  EXPECT_TRUE(refused(std::string("\x01\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", 13)))
      << "a member after 2^64-1";
  EXPECT_TRUE(refused(std::string("\x02\x00\x00", 3))) << "a directory without chunks";
  EXPECT_FALSE(refused(std::string("\x02\x00\x01\x00\x00", 5)));
  EXPECT_FALSE(refused(std::string("\x02\x00\x01\x00\xff\xff\x01", 7))) << "32,768 members";
  EXPECT_TRUE(refused(std::string("\x02\x00\x01\x00\x80\x80\x02", 7))) << "32,769 members";
  EXPECT_TRUE(refused(std::string("\x02\x01\x05\x01\x00\x00", 6))) << "a chunk in two places";
  // Chunk 2^49 would begin at uid 2^64.
  EXPECT_TRUE(refused(std::string("\x02\x00\x01\x80\x80\x80\x80\x80\x80\x80\x01\x00", 12)));
  EXPECT_FALSE(refused(std::string("\x02\x00\x01\xff\xff\xff\xff\xff\xff\x7f\x00", 11)));
}

TEST(SetImage, ChangedHeadersNeverGiveAnInvalidSet) {
  std::vector<uint64_t> uids;
  for (uint64_t i = 0; i < 40; ++i) uids.push_back(i * i * i * 1000);
  for (uint64_t i = 0; i < 400; ++i) uids.push_back(70000 + i * 3);
  for (uint64_t i = 0; i < 100; ++i) uids.push_back(UINT64_MAX - i);
  for (const bool large : {false, true}) {
    const std::string header =
        HeaderOf(large ? SetOf(uids) : SetOf({uids.begin(), uids.begin() + 30}));
    FactSet found;
    ASSERT_TRUE(Decodes(header, &found));
    EXPECT_EQ(found.chunked(), large);
    for (size_t size = 0; size < header.size(); ++size) {
      EXPECT_FALSE(Decodes(header.substr(0, size), &found));
    }
    for (size_t i = 0; i < header.size(); ++i) {
      for (int value = 0; value < 256; ++value) {
        std::string changed = header;
        changed[i] = static_cast<char>(value);
        static_cast<void>(Decodes(changed, &found));
      }
    }
  }
}

TEST(SetImage, RandomBytes) {
  std::mt19937_64 random(TestSeed(6));
  for (int round = 0; round < 50000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() >> (random() % 8 == 0 ? 0 : 58));
    if (!bytes.empty()) bytes[0] = static_cast<char>(random() % 4);
    FactSet set;
    static_cast<void>(Decodes(bytes, &set));
    ChunkBits bits;
    static_cast<void>(DecodeChunkBits(bytes, &bits));
    std::vector<uint64_t> uids;
    if (DecodeUids(bytes, &uids)) {
      std::string again;
      EncodeUids(uids, &again);
      EXPECT_EQ(again, bytes);
    }
  }
}

TEST(SetImage, InstallChecksTheDirectory) {
  std::vector<uint64_t> uids;
  for (uint64_t i = 0; i < 300; ++i) uids.push_back(32768 + i * 7);
  FactSet set = SetOf(uids);
  SetStore store;
  store.Snapshot(&set);
  std::string image;
  set.EncodeChunk(1, &image);
  FactSet loaded = store.Load();
  ASSERT_TRUE(loaded.IsAbsent(1));
  EXPECT_EQ(loaded.cardinality(), 300u);
  EXPECT_EQ(loaded.CardinalityIn({32768, 65535}), 300u);
  EXPECT_EQ(loaded.FirstAbsent({0, 32767}), std::nullopt);
  EXPECT_EQ(loaded.FirstAbsent({0, 32768}), 1u);
  EXPECT_EQ(loaded.FirstAbsentPartly({32768, 65535}), std::nullopt);
  EXPECT_EQ(loaded.FirstAbsentPartly({32769, 65535}), 1u);
  EXPECT_EQ(loaded.FirstAbsentPartly({0, 65534}), 1u);
  EXPECT_EQ(loaded.FirstAbsentPartly({}), std::nullopt);
  std::vector<uint64_t> chunks;
  loaded.ChunksWithMembers(&chunks);
  EXPECT_EQ(chunks, std::vector<uint64_t>{1});
  EXPECT_FALSE(loaded.InstallChunk(1, ""));
  EXPECT_FALSE(loaded.InstallChunk(1, std::string("\x01\x01\x00", 3))) << "one member, not 300";
  EXPECT_TRUE(loaded.IsAbsent(1));
  EXPECT_TRUE(loaded.InstallChunk(1, image));
  EXPECT_FALSE(loaded.IsAbsent(1));
  EXPECT_TRUE(loaded.Contains(32768 + 299 * 7));
  EXPECT_DEATH(static_cast<void>(store.Load().Contains(32768)), "");
}

TEST(SetImage, UidsRoundTrip) {
  for (const std::vector<uint64_t>& uids : std::vector<std::vector<uint64_t>>{
           {}, {0}, {UINT64_MAX}, {0, UINT64_MAX}, {1, 2, 3, 1u << 31, uint64_t{1} << 63}}) {
    std::string image = "x";  // appends
    EncodeUids(uids, &image);
    std::vector<uint64_t> found{9};
    EXPECT_TRUE(DecodeUids(std::string_view(image).substr(1), &found));
    EXPECT_EQ(found, uids);
    for (size_t size = 1; size < image.size(); ++size) {
      EXPECT_FALSE(DecodeUids(std::string_view(image).substr(1, size - 1), &found));
      EXPECT_TRUE(found.empty());
    }
    EXPECT_FALSE(DecodeUids(image.substr(1) + '\0', &found));
  }
}

}  // namespace
}  // namespace tallystick
