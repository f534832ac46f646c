// Proves the table of a shard against std::map: random insertions and removals, sizes from nothing
// to many segments and back, hashes that agree in their first bits, walks that go on while the
// table grows; and that names are kept, numbers as well as any bytes.

#include "engine/facts/fact_table.h"
#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

namespace tallystick {
namespace {

using Names = std::map<std::string, Entity*>;

// Bad on purpose where `agreeing` says so: the first bits of all hashes are the same.
uint64_t HashOf(const std::string& eid, bool agreeing) {
  const uint64_t hash = std::hash<std::string>()(eid) * 0x9e3779b97f4a7c15u;
  return agreeing ? hash >> 44 : hash;
}

class FactTableTest : public testing::TestWithParam<bool> {
 protected:
  void Add(const std::string& eid) {
    const Eid parsed(eid);
    names_[eid] = table_.Insert(std::make_unique<Entity>(Hash(eid), 3, 7, parsed));
  }
  void Remove(const std::string& eid) {
    table_.Erase(names_.at(eid));
    names_.erase(eid);
  }
  uint64_t Hash(const std::string& eid) const { return HashOf(eid, GetParam()); }
  void Check() {
    ASSERT_TRUE(table_.IsValid());
    ASSERT_EQ(table_.size(), names_.size());
    for (const auto& [eid, entity] : names_) {
      ASSERT_EQ(table_.Find(Hash(eid), 7, Eid(eid)), entity);
      ASSERT_EQ(entity->eid().view(), eid);
      ASSERT_EQ(table_.Find(Hash(eid), 8, Eid(eid)), nullptr);
    }
  }

  FactTable table_;
  Names names_;
};

std::string RandomEid(std::mt19937_64& rng) {
  switch (rng() % 4) {
    case 0:
      return "0" + std::to_string(rng() % 5000);  // not canonical, unless it is "00"
    case 1:
      return std::string(1 + rng() % 40, static_cast<char>('a' + rng() % 26));
    default:
      return std::to_string(rng() % 20000);
  }
}

TEST_P(FactTableTest, BehavesAsAMap) {
  std::mt19937_64 rng(TestSeed(1));
  const size_t sizes[] = {30, 3000, 200, 6000, 0};
  for (const size_t size : sizes) {
    while (names_.size() != size) {
      const bool grow = names_.size() < size ? rng() % 4 != 0 : rng() % 4 == 0;
      if (grow) {
        const std::string eid = RandomEid(rng);
        if (!names_.contains(eid)) Add(eid);
      } else if (!names_.empty()) {
        auto it = names_.lower_bound(RandomEid(rng));
        if (it == names_.end()) it = names_.begin();
        Remove(it->first);
      }
    }
    Check();
  }
  EXPECT_LT(table_.MemoryBytes(), 300'000u);
}

TEST_P(FactTableTest, AWalkGivesWhatStaysExactlyOnce) {
  std::mt19937_64 rng(TestSeed(2));
  for (int round = 0; round < 30; ++round) {
    std::set<std::string> staying;
    const size_t wanted = rng() % 3000;
    while (staying.size() < wanted) {
      const std::string eid = RandomEid(rng);
      if (!names_.contains(eid)) Add(eid);
      staying.insert(eid);
    }
    std::map<std::string, int> seen;
    uint64_t cursor = 0;
    bool more = true;
    while (more) {
      std::vector<Entity*> page;
      const uint64_t before = cursor;
      more = table_.Walk(&cursor, 1 + rng() % 20, &page);
      for (const Entity* entity : page) ++seen[std::string(entity->eid().view())];
      if (more) {
        ASSERT_GT(cursor, before);
        ASSERT_EQ(cursor << FactTable::kCursorBits >> FactTable::kCursorBits, cursor & 0x3ffffff);
        ASSERT_EQ(cursor & ((uint64_t{1} << (64 - FactTable::kCursorBits)) - 1), 0u);
      }
      for (int i = 0; i < 30; ++i) {
        const std::string eid = RandomEid(rng) + "#";
        if (names_.contains(eid)) {
          Remove(eid);
        } else {
          Add(eid);
        }
      }
    }
    for (const std::string& eid : staying) ASSERT_EQ(seen[eid], 1) << eid;
    for (const auto& [eid, times] : seen) ASSERT_LE(times, 2) << eid;
    while (!names_.empty()) Remove(names_.begin()->first);
  }
}

TEST(FactTable, IsSmall) {
  FactTable table;
  std::mt19937_64 rng(5);
  for (uint64_t i = 0; i < 100'000; ++i) {
    table.Insert(std::make_unique<Entity>(rng(), 0, 1, Eid(std::to_string(i))));
  }
  EXPECT_LT(static_cast<double>(table.MemoryBytes()) / 100'000, 13.0);
}

TEST(Eid, OnlyCanonicalNumbersAreNumbers) {
  EXPECT_EQ(CanonicalNumber("0"), 0u);
  EXPECT_EQ(CanonicalNumber("18446744073709551615"), UINT64_MAX);
  for (const char* other : {"", "00", "01", "+1", "-1", " 1", "1 ", "18446744073709551616",
                            "99999999999999999999", "1a", "123456789012345678901"}) {
    EXPECT_EQ(CanonicalNumber(other), std::nullopt) << other;
  }
}

INSTANTIATE_TEST_SUITE_P(Hashes, FactTableTest, testing::Values(false, true),
                         [](const auto& p) { return p.param ? "Agreeing" : "Spread"; });

}  // namespace
}  // namespace tallystick
