// Proves, on a simulated disk, that the whole engine keeps its promises: after a power loss what is
// found is a prefix of the acknowledged operations that holds everything that was fsynced; after
// the death of the process alone it is all of them; after a failed write or fsync nothing is
// acknowledged that is not so. Counts equal facts each time. One writer, so the journal's order is
// the model's order. Among the operations are those that change many facts or two sets at once
// (moves, unions that are stored, imports, a range that is cleared): of them, too, all or nothing
// is found.
//
// TALLYSTICK_TEST_CYCLES: lives of the directory (default 40); the seed is printed.
#include "engine/environment.h"
#include "engine/facts/portable_image.h"
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
constexpr uint64_t kSets = kEntities + 6;  // beyond the entities: plain sets
constexpr uint64_t kUids = 40;
constexpr uint64_t kCounterPlace = kUids;    // in place of a uid: the counter part
constexpr uint64_t kBlockPlace = kUids + 1;  // in place of a uid: kBlockMembers of them at once
constexpr uint64_t kBlockMembers = 1500;
constexpr UidRange kBlockRange{uint64_t{1} << 40, (uint64_t{1} << 40) + 3 * kBlockMembers};

enum class Kind : uint8_t { kFact, kCounter, kMove, kUnion, kBlock };

struct Operation {
  Kind kind = Kind::kFact;
  uint64_t entity = 0;
  uint64_t uid = 0;
  bool set = false;
  int64_t delta = 0;
  uint64_t from = 0, also = 0;  // other sets, of the same kind of uids
};

using State = std::map<std::pair<uint64_t, uint64_t>, int64_t>;  // (set, uid or what is in place)

void Apply(const Operation& op, State* state) {
  switch (op.kind) {
    case Kind::kFact:
      (*state)[{op.entity, op.uid}] = op.set ? 1 : 0;
      break;
    case Kind::kCounter:
      (*state)[{op.entity, kCounterPlace}] += op.delta;
      break;
    case Kind::kMove:
      if ((*state)[{op.from, op.uid}] == 0 || op.from == op.entity) break;
      (*state)[{op.from, op.uid}] = 0;
      (*state)[{op.entity, op.uid}] = 1;
      break;
    case Kind::kUnion:
      for (uint64_t uid = 0; uid <= kBlockPlace; ++uid) {
        if (uid == kCounterPlace) continue;
        const bool member = (*state)[{op.from, uid}] != 0 || (*state)[{op.also, uid}] != 0;
        (*state)[{op.entity, uid}] = member ? 1 : 0;
      }
      break;
    case Kind::kBlock:
      (*state)[{op.entity, kBlockPlace}] = op.set ? 1 : 0;
      break;
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
  FactKey KeyOf(uint64_t entity) const {
    if (entity < kEntities) return {"like", "article", eids_[entity]};
    return {kPlainSetMetric, "", eids_[entity]};
  }
  // Another set whose uids are numbered alike.
  uint64_t Like(uint64_t entity) {
    for (;;) {
      const uint64_t other = Below(kSets);
      if ((other % 3 == 0) == (entity % 3 == 0)) return other;
    }
  }

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
      op.entity = Below(kSets);
      switch (Below(20)) {
        case 0:
        case 1:
          op.kind = Kind::kUnion;
          break;
        case 2:
        case 3:
        case 4:
          op.kind = Kind::kMove;
          break;
        case 5:
          op.kind = Kind::kBlock;
          break;
        case 6:
        case 7:
        case 8:
        case 9:
          op.kind = Kind::kCounter;
          break;
        default:
          break;
      }
      if (op.kind == Kind::kCounter || op.kind == Kind::kBlock) op.entity %= kEntities;
      op.from = Like(op.entity);
      op.also = Like(op.entity);
      op.uid = Below(kUids);
      op.set = Below(5) < 3;
      op.delta = static_cast<int64_t>(Below(9)) - 3;
      WriteOptions wait;
      wait.wait = Below(10) == 0 ? WaitFor::kDisk : WaitFor::kDefault;
      if (with_ids_) {  // bulk changes do not go through the dictionary
        op.entity %= kEntities;
        if (op.kind != Kind::kCounter) op.kind = Kind::kFact;
      }
      const FactKey key = KeyOf(op.entity);
      const uint64_t uid = op.kind == Kind::kCounter ? 0 : UidOf(op.entity, op.uid, op.set);
      bool ok = false;
      switch (op.kind) {
        case Kind::kFact:
          ok = (op.set ? engine_->Set(key, uid, wait) : engine_->Clear(key, uid, wait)).has_value();
          break;
        case Kind::kCounter:
          ok = engine_->AddToCounter(key.entity(), "view", op.delta, wait).has_value();
          break;
        case Kind::kMove:
          ok = engine_
                   ->Move({FactOpKind::kClear, {}, KeyOf(op.from), uid},
                          {FactOpKind::kSet, {}, key, uid}, wait)
                   .has_value();
          break;
        case Kind::kUnion: {
          const FactKey sources[] = {KeyOf(op.from), KeyOf(op.also)};
          ok = engine_->StoreCombined(SetOp::kUnion, sources, key, {}, wait).has_value();
          break;
        }
        case Kind::kBlock:
          ok = op.set ? engine_->Import(key, block_, ImportMode::kAdd, {}, wait).has_value()
                      : engine_->ClearRange(key, kBlockRange, wait).has_value();
          break;
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
    for (uint64_t entity = 0; entity < kSets; ++entity) {
      const FactKey key = KeyOf(entity);
      int64_t likes = 0;
      for (uint64_t i = 0; i < kUids; ++i) {
        const auto has = engine_->Has(key, UidOf(entity, i, false));
        EXPECT_TRUE(has.has_value()) << has.error().ToString();
        if (has.value_or(false)) {
          found[{entity, i}] = 1;
          ++likes;
        }
      }
      const auto in_block = engine_->Cardinality(key, kBlockRange);
      EXPECT_TRUE(in_block.has_value()) << in_block.error().ToString();
      EXPECT_TRUE(*in_block == 0 || *in_block == kBlockMembers) << *in_block;
      if (*in_block != 0) found[{entity, kBlockPlace}] = 1;
      likes += static_cast<int64_t>(*in_block);
      std::vector<uint64_t> uids;
      std::vector<std::string> names;
      EXPECT_TRUE(engine_->Scan(key, 0, SIZE_MAX, &uids).has_value());
      if (with_ids_ && entity < kEntities) {
        EXPECT_TRUE(engine_->ReadIds("article", uids, &names).ok()) << "an ordinal without an id";
      }
      EXPECT_EQ(uids.size(), static_cast<size_t>(likes)) << "a fact of nobody's";
      if (entity >= kEntities) continue;
      const auto counts = engine_->GetCounts(key.entity());
      EXPECT_TRUE(counts.has_value());
      EXPECT_EQ(counts->values[0], likes) << "entity " << entity;
      if (counts->values[4] != 0) found[{entity, kCounterPlace}] = counts->values[4];
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
    for (uint64_t i = 0; i < kSets; ++i) eids.push_back(Eid(i));
    return eids;
  }();
  const std::string block_ = [] {  // more than is changed under one lock
    std::string image;
    PortableWriter writer(&image);
    for (uint64_t i = 0; i < kBlockMembers; ++i) writer.Append(kBlockRange.first + 3 * i);
    writer.Finish();
    return image;
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

TEST_F(PowerLossTest, ReadsGoOnWhenWritesAreRefused) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const FactKey key = KeyOf(1);
  ASSERT_TRUE(engine_->Set(key, 1).has_value());
  Fault fault;
  fault.call = FaultCall::kAppend;
  fault.nth = 1;
  fault.forever = true;
  fs_->Arm(fault);
  EXPECT_FALSE(engine_->Set(KeyOf(2), 1, {.wait = WaitFor::kDisk}).has_value());
  const BitFieldOp get{.is_signed = false, .bits = 8};
  const BitFieldOp set{.kind = BitFieldOp::Kind::kSet, .bits = 8, .value = 1};
  const auto answers = engine_->BitField(key, {&get, 1}, {});
  ASSERT_TRUE(answers.has_value()) << answers.error().ToString();
  EXPECT_EQ(answers->at(0), std::optional<int64_t>(0x40));
  EXPECT_EQ(engine_->BitField(key, {&set, 1}, {}).error().code(), StatusCode::kReadOnly);
  EXPECT_TRUE(engine_->Export(key).has_value());
  EXPECT_EQ(engine_->Import(key, block_).error().code(), StatusCode::kReadOnly);
  const FactOp take{FactOpKind::kClear, {}, key, 1}, put{FactOpKind::kSet, {}, KeyOf(4), 1};
  EXPECT_EQ(engine_->Move(take, put).error().code(), StatusCode::kReadOnly);
  fs_->ClearFaults();
  static_cast<void>(engine_->Close());
}

}  // namespace
}  // namespace tallystick
