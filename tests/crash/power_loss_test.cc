// Proves, on a simulated disk, that the whole engine keeps its promises: after a power loss what is
// found is a prefix of the acknowledged operations that holds everything that was fsynced; after
// the death of the process alone it is all of them; after a failed write or fsync nothing is
// acknowledged that is not so. Counts equal facts each time. One writer, so the journal's order is
// the model's order.
//
// TALLYSTICK_TEST_CYCLES: lives of the directory (default 40); the seed is printed.
#include "engine/environment.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

#include <tallystick/engine.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace tallystick {
namespace {

constexpr uint64_t kEntities = 24;
constexpr uint64_t kUids = 40;

struct Operation {
  bool counter = false;  // else a fact
  uint64_t entity = 0;
  uint64_t uid = 0;
  bool set = false;
  int64_t delta = 0;
};

using State = std::map<std::pair<uint64_t, uint64_t>, int64_t>;  // (entity, uid or kUids: counter)

void Apply(const Operation& op, State* state) {
  if (op.counter) {
    (*state)[{op.entity, kUids}] += op.delta;
  } else {
    (*state)[{op.entity, op.uid}] = op.set ? 1 : 0;
  }
}

State Trimmed(const State& state) {
  State trimmed;
  for (const auto& [key, value] : state) {
    if (value != 0) trimmed[key] = value;
  }
  return trimmed;
}

class PowerLossTest : public testing::Test {
 protected:
  PowerLossTest() : seed_(TestSeed(std::random_device()())), rng_(seed_) {}

  uint64_t Below(uint64_t n) { return std::uniform_int_distribution<uint64_t>(0, n - 1)(rng_); }
  // Uids far apart and close together, so that sets of all forms come up; or what the dictionary
  // has for the names of users.
  uint64_t UidOf(uint64_t entity, uint64_t i, bool give) {
    if (!with_ids_) return entity % 3 == 0 ? i * 7919 * 7919 : i * 3;
    const std::string name = "user" + std::to_string(i);
    const std::string_view id = name;
    uint64_t ordinal = kNoOrdinal;
    const Status status = give ? engine_->GiveOrdinals("article", {&id, 1}, {&ordinal, 1})
                               : engine_->FindOrdinals("article", {&id, 1}, {&ordinal, 1});
    EXPECT_TRUE(status.ok() || (give && status.code() == StatusCode::kReadOnly))
        << status.ToString();
    return ordinal;
  }
  static std::string Eid(uint64_t entity) { return std::to_string(entity); }

  void Open() {
    Options options;
    options.dir = dir_ / "data";
    options.shards = 8;
    options.partitions = 4;
    options.flush_interval_ms = 1 + static_cast<uint32_t>(Below(20));
    options.checkpoint_interval_ms = 1 + static_cast<uint32_t>(Below(50));
    options.durability = static_cast<Durability>(Below(3));
    if (with_ids_) options.ids = {{"*", "users"}};
    options.warm_up = Below(2) == 0;
    options.logger = std::make_shared<Quiet>();
    Environment environment;
    environment.file_system = fs_;
    auto opened = OpenEngine(options, environment);
    ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
    engine_ = std::move(*opened);
    always_ = options.durability == Durability::kAlways;
  }

  // Runs operations until `n` are done or one fails; that one is in doubt.
  void Load(uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) {
      Operation op;
      op.counter = Below(5) == 0;
      op.entity = Below(kEntities);
      op.uid = Below(kUids);
      op.set = Below(5) < 3;
      op.delta = static_cast<int64_t>(Below(9)) - 3;
      WriteOptions wait;
      wait.wait = Below(10) == 0 ? WaitFor::kDisk : WaitFor::kDefault;
      const FactKey key{"like", "article", eids_[op.entity]};
      const uint64_t uid = op.counter ? 0 : UidOf(op.entity, op.uid, op.set);
      bool ok = false;
      if (op.counter) {
        ok = engine_->AddToCounter(key.entity(), "view", op.delta, wait).has_value();
      } else {
        ok = (op.set ? engine_->Set(key, uid, wait) : engine_->Clear(key, uid, wait)).has_value();
      }
      operations_.push_back(op);
      if (!ok) return;
      ++acknowledged_;
      // A no-change write makes no event, but its reply, too, vouches for all that came before.
      if (always_ || wait.wait == WaitFor::kDisk) durable_ = Changes() ? acknowledged_ : durable_;
    }
  }
  // Only a real change is waited for on disk: a repeated set with kDisk fsyncs nothing.
  bool Changes() {
    State before = base_;
    for (size_t i = 0; i + 1 < operations_.size(); ++i) Apply(operations_[i], &before);
    State after = before;
    Apply(operations_.back(), &after);
    return Trimmed(before) != Trimmed(after);
  }

  State Found() {
    State found;
    for (uint64_t entity = 0; entity < kEntities; ++entity) {
      const FactKey key{"like", "article", eids_[entity]};
      int64_t likes = 0;
      for (uint64_t i = 0; i < kUids; ++i) {
        const auto has = engine_->Has(key, UidOf(entity, i, false));
        EXPECT_TRUE(has.has_value()) << has.error().ToString();
        if (has.value_or(false)) {
          found[{entity, i}] = 1;
          ++likes;
        }
      }
      std::vector<uint64_t> uids;
      std::vector<std::string> names;
      EXPECT_TRUE(engine_->Scan(key, 0, SIZE_MAX, &uids).has_value());
      if (with_ids_) {
        EXPECT_TRUE(engine_->ReadIds("article", uids, &names).ok()) << "an ordinal without an id";
      }
      EXPECT_EQ(uids.size(), static_cast<size_t>(likes)) << "a fact of nobody's";
      const auto counts = engine_->GetCounts(key.entity());
      EXPECT_TRUE(counts.has_value());
      EXPECT_EQ(counts->values[0], likes) << "entity " << entity;
      if (counts->values[4] != 0) found[{entity, kUids}] = counts->values[4];
      const auto proof = engine_->Verify(key.entity());
      EXPECT_TRUE(proof.has_value());
      for (const VerifiedSlot& slot : proof->slots) {
        EXPECT_TRUE(slot.ok()) << "entity " << entity << " " << slot.name << ": record "
                               << slot.record << " + pending " << slot.pending << " != facts "
                               << slot.facts << " + counter part " << slot.counter_part;
      }
    }
    return found;
  }

  // What is found must be the state after some number of operations within [least, most].
  void ExpectPrefix(size_t least, size_t most) {
    const State found = Found();
    State state = base_;
    for (size_t done = 0; done <= most; ++done) {
      if (done > 0) Apply(operations_[done - 1], &state);
      if (done >= least && Trimmed(state) == found) {
        base_ = state;
        operations_.clear();
        acknowledged_ = durable_ = 0;
        return;
      }
    }
    ADD_FAILURE() << "what was found is the state after none of the operations " << least << " to "
                  << most << " of " << operations_.size();
  }

  class Quiet final : public Logger {
   public:
    void Write(LogLevel, std::string_view) override {}
  };

  void RunLives();

  const uint64_t seed_;
  std::mt19937_64 rng_;
  bool with_ids_ = false;
  TempDir dir_;
  std::shared_ptr<FaultFileSystem> fs_ = std::make_shared<FaultFileSystem>(dir_.path());
  std::vector<std::string> eids_ = [] {
    std::vector<std::string> eids;
    for (uint64_t i = 0; i < kEntities; ++i) eids.push_back(Eid(i));
    return eids;
  }();
  std::unique_ptr<Engine> engine_;
  bool always_ = false;
  State base_;                         // at the beginning of this life
  std::vector<Operation> operations_;  // of this life
  size_t acknowledged_ = 0;
  size_t durable_ = 0;
};

void PowerLossTest::RunLives() {
  const char* cycles_text = std::getenv("TALLYSTICK_TEST_CYCLES");
  const int cycles = cycles_text != nullptr ? std::atoi(cycles_text) : 40;
  for (int cycle = 0; cycle < cycles && !HasFailure(); ++cycle) {
    SCOPED_TRACE("seed " + std::to_string(seed_) + ", life " + std::to_string(cycle));
    ASSERT_NO_FATAL_FAILURE(Open());
    Load(Below(150));
    if (Below(4) == 0) static_cast<void>(engine_->Checkpoint());
    if (Below(3) == 0) {
      Fault fault;
      fault.call = Below(2) == 0 ? FaultCall::kAppend : FaultCall::kSync;
      fault.nth = 1 + Below(20);
      fault.forever = Below(2) == 0;
      fault.error = Below(2) == 0 ? FaultError::kEio : FaultError::kNoSpace;
      fs_->Arm(fault);
      Load(60);
    }
    Load(Below(60));
    const size_t durable = durable_, acknowledged = acknowledged_, sent = operations_.size();
    const uint64_t end = Below(3);
    if (end == 0) {  // closed cleanly, if it can
      const bool closed = engine_->Close().ok();
      engine_.reset();
      fs_->ClearFaults();
      if (!closed) {
        fs_->Stop();
        fs_->PowerLoss(rng_());
      }
      ASSERT_NO_FATAL_FAILURE(Open());
      ExpectPrefix(closed ? acknowledged : durable, sent);
    } else {
      fs_->Stop();
      static_cast<void>(engine_->Close());
      engine_.reset();
      fs_->ClearFaults();
      if (end == 1) {
        fs_->PowerLoss(rng_());
      } else {
        fs_->Restart();
      }
      ASSERT_NO_FATAL_FAILURE(Open());
      ExpectPrefix(end == 1 ? durable : acknowledged, sent);
    }
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
  }
}

TEST_F(PowerLossTest, WhatIsFoundIsAPrefixThatHoldsAllThatWasDurable) {
  RunLives();
}

// The same with names of users: facts are found again by name, and every fact has one.
TEST_F(PowerLossTest, IdsAreFoundWithTheirFacts) {
  with_ids_ = true;
  RunLives();
}

}  // namespace
}  // namespace tallystick
