// Proves that ids of all kinds come back from their packed form and from an index, that packed
// forms are unique, and that an index holds loaded and new ids at once. How: round trips, a map as
// model, and bytes per id of 200,000 snowflakes, UUIDs and names held against what the design says.
#include "engine/facts/id_index.h"
#include "engine/facts/packed_id.h"
#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace tallystick {
namespace {

std::string Packed(std::string_view id) {
  std::string packed;
  PackId(id, &packed);
  return packed;
}

std::string Uuid(std::mt19937_64& random) {
  char text[40];
  const uint64_t a = random(), b = random();
  std::snprintf(text, sizeof(text), "%08x-%04x-%04x-%04x-%012llx", static_cast<unsigned>(a >> 32),
                static_cast<unsigned>(a >> 16 & 0xffff), static_cast<unsigned>(a & 0xffff),
                static_cast<unsigned>(b >> 48),
                static_cast<unsigned long long>(b & 0xffffffffffff));
  return text;
}

TEST(PackedId, ComesBackInOneForm) {
  std::mt19937_64 random(TestSeed(5));
  const std::string uuid = Uuid(random);
  std::string upper = uuid;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  std::set<std::string> forms;
  const std::vector<std::string> ids = {"0",
                                        "7",
                                        "255",
                                        "256",
                                        "1765432109876543210",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "007",
                                        "-1",
                                        uuid,
                                        "X" + uuid.substr(1),
                                        uuid + "x",
                                        "alice",
                                        std::string(1, '\0'),
                                        std::string(126, 'a'),
                                        std::string(127, 'a'),
                                        std::string(512, '\xff')};
  for (const std::string& id : ids) {
    const std::string packed = Packed(id);
    EXPECT_TRUE(forms.insert(packed).second);
    EXPECT_EQ(PackedIdBytes(packed.data()), packed.size());
    EXPECT_NE(packed[0], kNoPackedId);
    std::string back = "before ";
    ASSERT_TRUE(UnpackId(packed, &back)) << id;
    EXPECT_EQ(back, "before " + id);
    EXPECT_FALSE(UnpackId(packed + "x", &back));
    EXPECT_FALSE(UnpackId(packed.substr(0, packed.size() - 1), &back));
  }
  EXPECT_EQ(Packed("1765432109876543210").size(), 9u);
  EXPECT_EQ(Packed(uuid).size(), 17u);
  EXPECT_EQ(Packed("alice").size(), 6u);
  if (upper != uuid) {
    EXPECT_EQ(Packed(upper).size(), 37u);
  }
  for (int i = 0; i < 200000; ++i) {  // any bytes: refused, or the one form of an id
    std::string bytes(random() % 24, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    std::string id;
    if (UnpackId(bytes, &id)) {
      EXPECT_EQ(Packed(id), bytes);
    }
  }
}

TEST(IdIndex, KnowsBothWays) {
  std::mt19937_64 random(TestSeed(6));
  for (int round = 0; round < 6; ++round) {
    IdIndex index(99);
    std::map<std::string, uint32_t> model;
    std::vector<std::string> stored;
    const auto next = [&] {
      switch (random() % 4) {
        case 0:
          return std::to_string(random() % 100000);
        case 1:
          return Uuid(random);
        case 2:
          return std::string(1 + random() % 200, static_cast<char>('a' + random() % 26));
        default:
          return std::to_string(random());
      }
    };
    const uint32_t begin = round % 2 == 0 ? 0 : 1000;
    while (stored.size() < 3000) {
      const std::string packed = Packed(next());
      if (!model.emplace(packed, begin + static_cast<uint32_t>(stored.size())).second) continue;
      stored.push_back(packed);
    }
    index.Reset(begin, begin + 3000);
    size_t loaded = 0;
    std::vector<std::string> made;
    for (int i = 0; i < 20000; ++i) {
      if (random() % 3 == 0 && loaded < stored.size()) {
        EXPECT_EQ(index.next_to_load(), begin + loaded);
        index.Load(stored[loaded++]);
        continue;
      }
      const std::string packed = Packed(next());
      const auto known = model.find(packed);
      const auto found = index.Find(packed);
      if (known == model.end()) {
        ASSERT_FALSE(found.has_value());
        const uint32_t number = index.Append(packed);
        ASSERT_EQ(number, begin + 3000 + made.size());
        model[packed] = number;
        made.push_back(packed);
      } else if (known->second < begin + loaded || known->second >= begin + 3000) {
        ASSERT_EQ(found, known->second);
      } else {
        ASSERT_FALSE(found.has_value());
      }
    }
    while (loaded < stored.size()) index.Load(stored[loaded++]);
    EXPECT_TRUE(index.complete());
    EXPECT_EQ(index.begin(), begin);
    EXPECT_EQ(index.end(), begin + 3000 + made.size());
    for (const auto& [packed, number] : model) {
      ASSERT_EQ(index.Find(packed), number);
      ASSERT_EQ(index.Read(number), packed);
    }
    EXPECT_TRUE(index.Read(index.end()).empty());
    index.Reset(5, 5);
    EXPECT_FALSE(index.Find(stored[0]).has_value());
  }
}

TEST(IdIndex, IsSmall) {
  constexpr uint32_t kIds = 200000;
  std::mt19937_64 random(TestSeed(7));
  const auto bytes_per_id = [&](auto&& make) {
    IdIndex index(1);
    for (uint32_t i = 0; i < kIds; ++i) index.Append(Packed(make(i)));
    return static_cast<double>(index.MemoryBytes()) / kIds;
  };
  EXPECT_LT(bytes_per_id([&](uint32_t i) {
              return std::to_string((uint64_t{1700000000000} + i * 7) << 22 | random() % 4096);
            }),
            17);
  EXPECT_LT(bytes_per_id([&](uint32_t) { return Uuid(random); }), 25);
  EXPECT_LT(bytes_per_id([](uint32_t i) { return "user-" + std::to_string(i); }), 20);
}

}  // namespace
}  // namespace tallystick
