// Proves what an id dictionary promises: an ordinal means one id for ever, giving is idempotent and
// safe between threads, and after a crash at any write every ordinal whose batch survived still
// means its id, while an ordinal that was in no surviving batch may be given anew but never clashes
// with one that was. How: a simulated store that forgets unsynced writes, a map of what batches
// said, random operations, wipes and loads in slices.
#include "engine/counts/id_dictionary.h"
#include "tests/support/mem_store.h"
#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <thread>

namespace tallystick {
namespace {

class IdDictionaryTest : public testing::Test {
 protected:
  void SetUp() override { Open(); }
  void Open() {
    ids_ = std::make_unique<IdDictionary>("users", 7, &store_);
    const Status opened = ids_->Open();
    ASSERT_TRUE(opened.ok()) << opened.ToString();
  }
  // As a journal batch does.
  void Write() {
    const auto batch = store_.NewBatch();
    IdDictionary::Ends ends;
    ids_->AppendUnwritten(batch.get(), &ends);
    if (batch->empty()) return;
    ASSERT_TRUE(store_.Write(batch.get()).ok());
    ids_->NoteWritten(ends);
  }
  uint64_t Below(uint64_t n) { return random_() % n; }
  std::string Id() {
    switch (Below(3)) {
      case 0:
        return std::to_string(1700000000000 + Below(2000));
      case 1:
        return "user" + std::to_string(Below(2000));
      default:
        return std::string(1 + Below(3) * 255, static_cast<char>('a' + Below(26)));
    }
  }

  std::mt19937_64 random_{TestSeed(31)};
  MemStore store_;
  std::unique_ptr<IdDictionary> ids_;
  std::map<std::string, uint64_t> written_;  // by batches that survived
};

TEST_F(IdDictionaryTest, OrdinalsMeanOneIdAndAreDense) {
  std::map<std::string, uint64_t> given;
  std::set<uint64_t> ordinals;
  for (int i = 0; i < 20000; ++i) {
    const std::string id = Id();
    const auto ordinal = ids_->Give(id);
    ASSERT_TRUE(ordinal.has_value());
    const auto [at, fresh] = given.emplace(id, *ordinal);
    ASSERT_EQ(at->second, *ordinal);
    ASSERT_EQ(ordinals.insert(*ordinal).second, fresh);
    ASSERT_TRUE(ids_->Valid(*ordinal));
    ASSERT_EQ(ids_->Read(*ordinal).value(), id);
    ASSERT_EQ(ids_->Find(id).value(), *ordinal);
  }
  EXPECT_EQ(ids_->size(), given.size());
  EXPECT_LT(*ordinals.rbegin(), given.size() * 5 / 4);
  EXPECT_FALSE(ids_->Find("nobody").value().has_value());
  EXPECT_FALSE(ids_->Find("").value().has_value());
  EXPECT_FALSE(ids_->Valid(*ordinals.rbegin() + 1000));
  EXPECT_FALSE(ids_->Valid(kNoOrdinal));
  EXPECT_FALSE(ids_->Read(kNoOrdinal).has_value());
  EXPECT_EQ(ids_->Give("").error().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ids_->Give(std::string(513, 'x')).error().code(), StatusCode::kInvalidArgument);
}

TEST_F(IdDictionaryTest, SurvivesCrashesAtAnyWrite) {
  for (int round = 0; round < 60; ++round) {
    // What each write of this life said; the store keeps a beginning of them.
    std::map<std::string, uint64_t> known;  // survived for sure
    for (const auto& [id, ordinal] : written_) known.emplace(id, ordinal);
    std::vector<std::map<std::string, uint64_t>> batches;
    std::map<std::string, uint64_t> pending;
    const uint64_t operations = Below(300);
    for (uint64_t i = 0; i < operations; ++i) {
      const std::string id = Id();
      const auto ordinal = ids_->Give(id);
      ASSERT_TRUE(ordinal.has_value()) << ordinal.error().ToString();
      if (const auto at = known.find(id); at != known.end()) {
        ASSERT_EQ(at->second, *ordinal) << id;
      } else {
        for (const auto& [other, taken] : known) ASSERT_NE(taken, *ordinal) << id << " " << other;
        known.emplace(id, *ordinal);
        pending.emplace(id, *ordinal);
      }
      if (Below(10) == 0) {
        const size_t before = store_.unsynced_writes();
        Write();
        if (store_.unsynced_writes() > before) batches.push_back(std::move(pending));
        pending.clear();
      }
      if (Below(40) == 0) {
        ASSERT_TRUE(store_.SyncWal().ok());
        for (const auto& batch : batches) written_.insert(batch.begin(), batch.end());
        batches.clear();
      }
      if (Below(30) == 0) {
        ASSERT_TRUE(ids_->LoadSlice(1 + Below(100)).has_value());
      }
    }
    const size_t kept = Below(batches.size() + 1);
    for (size_t i = 0; i < kept; ++i) written_.insert(batches[i].begin(), batches[i].end());
    ids_.reset();
    store_.CrashTo(kept);
    Open();
    for (const auto& [id, ordinal] : written_) {
      ASSERT_EQ(ids_->Find(id).value(), ordinal) << id;
      ASSERT_EQ(ids_->Read(ordinal).value(), id);
    }
    EXPECT_EQ(ids_->size(), written_.size());
  }
  while (*ids_->LoadSlice(500)) continue;
  EXPECT_TRUE(ids_->loaded());
  for (const auto& [id, ordinal] : written_) ASSERT_EQ(ids_->Read(ordinal).value(), id);
}

TEST_F(IdDictionaryTest, AWipeForgetsAndNeverReuses) {
  std::set<uint64_t> used;
  for (int round = 0; round < 5; ++round) {
    std::map<std::string, uint64_t> now;
    for (int i = 0; i < 500; ++i) {
      const std::string id = Id();
      const uint64_t ordinal = ids_->Give(id).value();
      if (now.emplace(id, ordinal).second) {
        ASSERT_TRUE(used.insert(ordinal).second);
      }
    }
    if (round % 2 == 0) Write();
    ids_->Wipe();
    EXPECT_FALSE(ids_->HasUnwritten());
    EXPECT_EQ(ids_->size(), 0u);
    const auto batch = store_.NewBatch();
    ids_->AppendGeneration(batch.get());
    ASSERT_TRUE(store_.Write(batch.get()).ok());
    if (round != 3) {
      ASSERT_TRUE(ids_->CleanUp().ok());
    }
    if (round % 2 == 1) Open();
    for (const auto& [id, ordinal] : now) {
      ASSERT_FALSE(ids_->Valid(ordinal));
      ASSERT_FALSE(ids_->Read(ordinal).has_value());
      ASSERT_FALSE(ids_->Find(id).value().has_value());
    }
  }
}

TEST_F(IdDictionaryTest, ThreadsAgree) {
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(ids_->Give("user" + std::to_string(i)).has_value());
  Write();
  Open();
  std::vector<std::map<std::string, uint64_t>> seen(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < seen.size(); ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 4000; ++i) {
        const std::string id = "user" + std::to_string(random() % 6000);
        seen[t][id] = ids_->Give(id).value();
        if (i % 100 == 0) Write();
        if (t == 0 && i % 50 == 0) {
          EXPECT_TRUE(ids_->LoadSlice(64).has_value());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<std::string, uint64_t> all;
  std::set<uint64_t> ordinals;
  for (const auto& one : seen) {
    for (const auto& [id, ordinal] : one) {
      const auto [at, fresh] = all.emplace(id, ordinal);
      ASSERT_EQ(at->second, ordinal);
      if (fresh) {
        ASSERT_TRUE(ordinals.insert(ordinal).second);
      }
    }
  }
  Write();
  Open();
  for (const auto& [id, ordinal] : all) ASSERT_EQ(ids_->Find(id).value(), ordinal);
}

}  // namespace
}  // namespace tallystick
