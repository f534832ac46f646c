// Proves that the memory which entities, fact sets and their table say they take is what jemalloc
// has allocated for them, within 5 %, for data of every form, while it grows and after half of it
// is gone again. Nothing else allocates meanwhile.
#include "engine/base/checksum.h"
#include "engine/facts/fact_table.h"

#include <gtest/gtest.h>
#include <jemalloc/jemalloc.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tallystick {
namespace {

uint64_t AllocatedBytes() {
  // What the thread keeps for later counts as allocated until it is given back.
  EXPECT_EQ(mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0), 0);
  uint64_t epoch = 1;
  size_t size = sizeof(epoch);
  EXPECT_EQ(mallctl("epoch", &epoch, &size, &epoch, size), 0);
  size_t allocated = 0;
  size = sizeof(allocated);
  EXPECT_EQ(mallctl("stats.allocated", &allocated, &size, nullptr, 0), 0);
  return allocated;
}

class AccountingTest : public testing::Test {
 protected:
  void SetUp() override {
    const uint64_t before = AllocatedBytes();
    const auto probe = std::make_unique<std::vector<char>>(1u << 20);
    if (AllocatedBytes() - before < probe->size()) GTEST_SKIP() << "malloc is not jemalloc's";
  }

  using Change = std::function<void(uint64_t entity, uint64_t uid)>;
  // Calls back with facts in no order, the same each time.
  using Data = std::function<void(const Change&)>;

  FactSet& SetOf(uint64_t entity) {
    const std::string digits = std::to_string(entity);
    const Eid eid(digits);
    const uint64_t hash = Hash64({reinterpret_cast<const char*>(&entity), sizeof(entity)}, 7);
    Entity* found = table_->Find(hash, 1, eid);
    if (found == nullptr) found = table_->Insert(std::make_unique<Entity>(hash, 0, 1, eid));
    return found->SetFor(0).set;
  }

  uint64_t OwnBytes() const {
    uint64_t bytes = sizeof(FactTable) + table_->MemoryBytes();
    table_->ForEach([&bytes](const Entity* entity) { bytes += entity->MemoryBytes(); });
    return bytes;
  }

  void ExpectClose(const char* when) {
    const auto allocated = static_cast<double>(AllocatedBytes() - before_);
    const auto own = static_cast<double>(OwnBytes());
    std::printf("%s: own %.0f, allocated %.0f, %+.2f %%\n", when, own, allocated,
                (own / allocated - 1) * 100);
    EXPECT_NEAR(own / allocated, 1.0, 0.05);
  }

  void Run(const Data& data) {
    before_ = AllocatedBytes();
    table_ = std::make_unique<FactTable>();
    data([this](uint64_t entity, uint64_t uid) { SetOf(entity).Add(uid); });
    ExpectClose("full");
    uint64_t n = 0;
    data([this, &n](uint64_t entity, uint64_t uid) {
      if (n++ % 2 == 0) SetOf(entity).Remove(uid);
    });
    ExpectClose("half of it");
  }

  uint64_t before_ = 0;
  std::unique_ptr<FactTable> table_;
};

TEST_F(AccountingTest, ManyEntitiesWithOneToThreeFacts) {
  Run([](const Change& change) {
    std::mt19937_64 random(1);
    for (uint64_t item = 0; item < 300'000; ++item) {
      for (uint64_t n = 1 + random() % 3; n > 0; --n) change(item, random() % 10'000'000);
    }
  });
}

TEST_F(AccountingTest, TensOfFactsEach) {
  Run([](const Change& change) {
    std::mt19937_64 random(2);
    for (uint64_t i = 0; i < 500'000; ++i) change(random() % 10'000, random() % 10'000'000);
  });
}

TEST_F(AccountingTest, SnowflakesFewAndMany) {
  Run([](const Change& change) {
    std::mt19937_64 random(3);
    for (uint64_t i = 0; i < 200'000; ++i) change(random() % 40'000, random() >> 1);
    for (uint64_t i = 0; i < 200'000; ++i) change(50'000 + i % 4, random() >> 1);
  });
}

TEST_F(AccountingTest, OneInTenOfTenMillion) {
  Run([](const Change& change) {
    std::mt19937_64 random(4);
    for (uint64_t i = 0; i < 1'000'000; ++i) change(1, random() % 10'000'000);
  });
}

TEST_F(AccountingTest, OneInAThousandOfABillion) {
  Run([](const Change& change) {
    std::mt19937_64 random(5);
    for (uint64_t i = 0; i < 1'000'000; ++i) change(1, random() % 1'000'000'000);
  });
}

TEST_F(AccountingTest, Dense) {
  Run([](const Change& change) {
    std::mt19937_64 random(6);
    for (uint64_t i = 0; i < 2'000'000; ++i) change(1, random() % 3'000'000);
  });
}

TEST_F(AccountingTest, Runs) {
  Run([](const Change& change) {
    for (uint64_t uid = 0; uid < 2'000'000; ++uid) change(1, uid);
    for (uint64_t user = 0; user < 300; ++user) {
      for (uint64_t day = 0; day < 3652; ++day) change(2 + user, day);
    }
  });
}

}  // namespace
}  // namespace tallystick
