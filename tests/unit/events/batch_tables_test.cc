// Proves that the tables number things in order of first use, forget on Clear, and grow, against
// std::map as the model.
#include "engine/events/batch_tables.h"

#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tallystick {
namespace {

TEST(NumberTable, AgreesWithAMap) {
  std::mt19937_64 random(TestSeed(20261130));
  NumberTable table;
  for (int round = 0; round < 50; ++round) {
    table.Clear();
    std::map<uint64_t, std::pair<uint32_t, uint64_t>> model;
    const uint64_t distinct = 1 + random() % 500;
    for (int i = 0; i < 1000; ++i) {
      const uint64_t key = 4096 * (random() % distinct);  // as addresses: low bits alike
      bool added = false;
      NumberTable::Entry* entry = table.Find(key, &added);
      const auto [at, model_added] = model.try_emplace(key, model.size(), 0);
      ASSERT_EQ(added, model_added);
      ASSERT_EQ(entry->number, at->second.first);
      ASSERT_EQ(entry->last_uid, at->second.second);
      entry->last_uid = at->second.second = random();
    }
    ASSERT_EQ(table.size(), model.size());
  }
}

TEST(NameTable, AgreesWithAMap) {
  std::mt19937_64 random(TestSeed(20261130));
  NameTable table;
  for (int round = 0; round < 50; ++round) {
    table.Clear();
    std::map<std::string, uint32_t> model;
    const uint64_t distinct = 1 + random() % 300;
    for (int i = 0; i < 1000; ++i) {
      const std::string name = std::string("name") + std::to_string(random() % distinct);
      bool added = false;
      const uint32_t number = table.Find(name, &added);
      const auto [at, model_added] =
          model.try_emplace(name, static_cast<uint32_t>(model.size() + 1));
      ASSERT_EQ(added, model_added);
      ASSERT_EQ(number, at->second);
    }
  }
}

TEST(NameTable, NoNameIsNumberZero) {
  NameTable table;
  bool added = true;
  EXPECT_EQ(table.Find("", &added), 0u);
  EXPECT_FALSE(added);
}

}  // namespace
}  // namespace tallystick
