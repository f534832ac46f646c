// Proves that the engine agrees with plain sets and maps under any order of operations, restarts
// and process deaths among them. A seeded, weighted stream of operations runs against both; every
// answer is compared at once and everything is compared at quiet points. A death is a copy of the
// directory taken while the engine runs: just what kill -9 leaves behind.
#include <tallystick/engine.h>

#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace tallystick {
namespace {

using SetName = std::tuple<std::string, std::string, std::string>;  // metric, etype, eid

struct Model {
  std::map<SetName, std::set<uint64_t>> facts;
  std::map<std::pair<std::string, std::string>, std::map<std::string, int64_t>> counters;
  std::map<std::string, std::string> strings;
  std::map<std::string, std::set<uint64_t>> plain_sets;      // their uids
  std::map<std::string, std::set<std::string>> plain_texts;  // and their texts
  std::map<std::string, std::string> bitmaps;                // as Redis strings

  bool HasPlain(const std::string& key) const {
    return strings.count(key) + bitmaps.count(key) > 0 || IsSet(key);
  }
  bool IsSet(const std::string& key) const {
    return plain_sets.count(key) + plain_texts.count(key) > 0;
  }
  void DropPlain(const std::string& key) {
    strings.erase(key);
    plain_sets.erase(key);
    plain_texts.erase(key);
    bitmaps.erase(key);
  }
};

struct Profile {
  const char* name;
  uint32_t shards, partitions, ring_events;
  uint32_t flush_ms, checkpoint_ms;
  bool warm_up;
  Durability durability;
  int operations;
};

class EngineModelTest : public testing::TestWithParam<Profile> {
 protected:
  void SetUp() override {
    seed_ = TestSeed(std::random_device()());
    rng_.seed(seed_);
    Open();
  }

  std::string Dir() const { return dir_.path() + "/data" + std::to_string(generation_); }

  void Open() {
    const Profile& profile = GetParam();
    Options options;
    options.dir = Dir();
    options.shards = profile.shards;
    options.partitions = profile.partitions;
    options.ring_events_per_shard = profile.ring_events;
    options.flush_interval_ms = profile.flush_ms;
    options.checkpoint_interval_ms = profile.checkpoint_ms;
    options.warm_up = profile.warm_up;
    options.durability = profile.durability;
    auto opened = Engine::Open(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
    engine_ = std::move(*opened);
  }

  void Restart() {
    const Status closed = engine_->Close();
    ASSERT_TRUE(closed.ok()) << closed.ToString();
    engine_.reset();
    Open();
  }

  // RocksDB may delete a file while it is copied; then the copy is no picture of one moment.
  bool CopyDirectory(const std::string& to) {
    std::error_code error;
    std::filesystem::remove_all(to, error);
    std::filesystem::copy(Dir(), to, std::filesystem::copy_options::recursive, error);
    return !error;
  }

  void Die() {
    const std::string copy = dir_.path() + "/data" + std::to_string(generation_ + 1);
    bool copied = false;
    for (int attempt = 0; attempt < 20 && !copied; ++attempt) copied = CopyDirectory(copy);
    if (!copied) return Restart();
    // The real one goes on to its end; only the copy is looked at again.
    static_cast<void>(engine_->Close());
    engine_.reset();
    std::filesystem::remove_all(Dir());
    ++generation_;
    Open();
  }

  uint64_t Below(uint64_t n) { return std::uniform_int_distribution<uint64_t>(0, n - 1)(rng_); }

  uint64_t Uid() {
    switch (Below(8)) {
      case 0:
        return Below(64);
      case 1:
      case 2:
        return Below(5000);
      case 3:
        return 32760 + Below(20);
      case 4:
        return Below(1'000'000);
      case 5:
        return (uint64_t{1} << 40) + Below(100'000);
      case 6:
        return (1700000000000ull + Below(1000)) << 22 | Below(4096);
      default:
        return UINT64_MAX - Below(10);
    }
  }
  SetName Name() {
    static const char* kMetrics[] = {"like", "fav", "share", "unslotted"};
    static const char* kEtypes[] = {"article", "comment"};
    return {kMetrics[Below(4)], kEtypes[Below(2)], Eid()};
  }
  std::string Eid() {
    return Below(10) == 0 ? "a:b:" + std::to_string(Below(3)) : std::to_string(Below(12));
  }
  std::string PlainKey() { return "k" + std::to_string(Below(12)); }
  static FactKey KeyOf(const SetName& name) {
    return {std::get<0>(name), std::get<1>(name), std::get<2>(name)};
  }

  void Step();
  void FactStep();
  void BatchStep();
  void PlainStep();
  void TextStep(const std::string& key);
  void CheckTexts();
  void CheckAll();

  uint64_t seed_ = 0;
  std::mt19937_64 rng_;
  TempDir dir_;
  int generation_ = 0;
  std::unique_ptr<Engine> engine_;
  Model model_;
};

void EngineModelTest::FactStep() {
  const SetName name = Name();
  std::set<uint64_t>& facts = model_.facts[name];
  uint64_t uid = Uid();
  if (!facts.empty() && Below(2) == 0) {
    const auto near = facts.lower_bound(uid);
    uid = near == facts.end() ? *facts.rbegin() : *near;
  }
  const bool had = facts.count(uid) != 0;
  const FactKey key = KeyOf(name);
  switch (Below(5)) {
    case 0:
    case 1: {
      const auto outcome = engine_->Set(key, uid);
      ASSERT_TRUE(outcome.has_value()) << outcome.error().ToString();
      facts.insert(uid);
      ASSERT_EQ(outcome->before, had);
      ASSERT_EQ(outcome->cardinality, facts.size());
      break;
    }
    case 2: {
      const auto outcome = engine_->Clear(key, uid);
      ASSERT_TRUE(outcome.has_value());
      facts.erase(uid);
      ASSERT_EQ(outcome->before, had);
      ASSERT_EQ(outcome->cardinality, facts.size());
      break;
    }
    case 3: {
      const auto outcome = engine_->Toggle(key, uid);
      ASSERT_TRUE(outcome.has_value());
      ASSERT_EQ(outcome->before, had);
      if (had) {
        facts.erase(uid);
      } else {
        facts.insert(uid);
      }
      ASSERT_EQ(outcome->after, !had);
      break;
    }
    default:
      ASSERT_EQ(engine_->Has(key, uid).value(), had);
  }
}

void EngineModelTest::BatchStep() {
  const size_t n = 1 + Below(200);
  std::vector<SetName> names;
  std::vector<FactOp> ops;
  for (size_t i = 0; i < n; ++i) names.push_back(Name());
  const bool dense = Below(2) == 0;
  const uint64_t base = Below(3) * 40000;
  for (size_t i = 0; i < n; ++i) {
    ops.push_back(FactOp{static_cast<FactOpKind>(Below(4)),
                         {},
                         KeyOf(names[dense ? 0 : i]),
                         dense ? base + Below(40000) : Uid()});
  }
  std::vector<FactOutcome> outcomes(n);
  ASSERT_TRUE(engine_->Apply(ops, outcomes).ok());
  for (size_t i = 0; i < n; ++i) {
    std::set<uint64_t>& facts = model_.facts[names[dense ? 0 : i]];
    const bool had = facts.count(ops[i].uid) != 0;
    ASSERT_EQ(outcomes[i].error, StatusCode::kOk);
    ASSERT_EQ(outcomes[i].before, had);
    const bool want = ops[i].kind == FactOpKind::kHas      ? had
                      : ops[i].kind == FactOpKind::kToggle ? !had
                                                           : ops[i].kind == FactOpKind::kSet;
    ASSERT_EQ(outcomes[i].after, want);
    if (want) {
      facts.insert(ops[i].uid);
    } else {
      facts.erase(ops[i].uid);
    }
    ASSERT_EQ(outcomes[i].cardinality, facts.size());
  }
}

void EngineModelTest::PlainStep() {
  const std::string key = PlainKey();
  switch (Below(8)) {
    case 0: {
      const std::string value(Below(40), static_cast<char>('a' + Below(26)));
      ASSERT_TRUE(engine_->PlainSet(key, value).has_value());
      model_.DropPlain(key);
      model_.strings[key] = value;
      break;
    }
    case 1: {
      const bool existed = model_.HasPlain(key);
      ASSERT_EQ(engine_->PlainDelete(key).value(), existed);
      model_.DropPlain(key);
      break;
    }
    case 2:
    case 3: {  // a plain set
      const uint64_t uid = Uid();
      const bool add = Below(3) != 0;
      const FactKey fact{kPlainSetMetric, "", key};
      const auto outcome = add ? engine_->Set(fact, uid) : engine_->Clear(fact, uid);
      if (model_.strings.count(key) + model_.bitmaps.count(key) > 0) {
        ASSERT_FALSE(outcome.has_value());
        ASSERT_EQ(outcome.error().code(), StatusCode::kWrongType);
        break;
      }
      ASSERT_TRUE(outcome.has_value()) << outcome.error().ToString();
      std::set<uint64_t>& members = model_.plain_sets[key];
      ASSERT_EQ(outcome->before, members.count(uid) != 0);
      if (add) {
        members.insert(uid);
      } else {
        members.erase(uid);
      }
      if (members.empty()) model_.plain_sets.erase(key);
      break;
    }
    case 6:
    case 7:
      return TextStep(key);
    case 4: {  // a bit of a string or bitmap
      const uint64_t bit = Below(4) == 0 ? Below(100'000) : Below(300);
      const bool on = Below(3) != 0;
      const FactKey fact{kPlainBitsMetric, "", key};
      const auto outcome = on ? engine_->Set(fact, bit) : engine_->Clear(fact, bit);
      if (model_.IsSet(key)) {
        ASSERT_FALSE(outcome.has_value());
        ASSERT_EQ(outcome.error().code(), StatusCode::kWrongType);
        break;
      }
      ASSERT_TRUE(outcome.has_value()) << outcome.error().ToString();
      std::string& bytes =
          model_.strings.count(key) != 0 ? model_.strings[key] : model_.bitmaps[key];
      const bool had = bit / 8 < bytes.size() &&
                       ((static_cast<unsigned char>(bytes[bit / 8]) >> (7 - bit % 8)) & 1) != 0;
      ASSERT_EQ(outcome->before, had);
      if (bytes.size() <= bit / 8) bytes.resize(bit / 8 + 1, '\0');
      const auto mask = static_cast<unsigned char>(0x80u >> (bit % 8));
      const auto old = static_cast<unsigned char>(bytes[bit / 8]);
      bytes[bit / 8] = static_cast<char>(on ? old | mask : old & ~mask);
      break;
    }
    default: {
      const auto value = engine_->PlainGet(key);
      if (model_.IsSet(key)) {
        ASSERT_FALSE(value.has_value());
      } else {
        ASSERT_TRUE(value.has_value()) << value.error().ToString();
        std::optional<std::string> want;
        if (model_.strings.count(key) != 0) want = model_.strings[key];
        if (model_.bitmaps.count(key) != 0) want = model_.bitmaps[key];
        ASSERT_EQ(*value, want);
      }
    }
  }
}

// Texts of a plain set: one, or so many at once that they fill several pages.
void EngineModelTest::TextStep(const std::string& key) {
  const FactKey fact{kPlainSetMetric, "", key};
  if (Below(6) == 0 && model_.IsSet(key)) {
    Members taken;
    ASSERT_TRUE(engine_->TakeRandom(fact, Below(4) == 0 ? Below(400) : 1, &taken).ok());
    for (const uint64_t uid : taken.uids) ASSERT_EQ(model_.plain_sets[key].erase(uid), 1u);
    for (const std::string& text : taken.texts) {
      ASSERT_EQ(model_.plain_texts[key].erase(text), 1u);
    }
  } else {
    const size_t count = Below(8) == 0 ? 1 + Below(400) : 1;
    std::vector<std::string> texts;
    for (size_t i = 0; i < count; ++i) {
      texts.push_back("text" + std::to_string(Below(600)) + std::string(Below(20) * Below(2), '-'));
    }
    const FactOpKind kind = Below(3) == 0 ? FactOpKind::kClear : FactOpKind::kSet;
    std::vector<FactOp> ops;
    for (const std::string& text : texts) {
      FactOp op{kind, {}, fact};
      op.is_text = true;
      op.text = text;
      ops.push_back(op);
    }
    std::vector<FactOutcome> outcomes(ops.size());
    ASSERT_TRUE(engine_->Apply(ops, outcomes).ok());
    const bool wrong = model_.HasPlain(key) && !model_.IsSet(key);
    std::set<std::string>& model = model_.plain_texts[key];
    for (size_t i = 0; i < count; ++i) {
      if (wrong) {
        ASSERT_EQ(outcomes[i].error, StatusCode::kWrongType);
        continue;
      }
      ASSERT_EQ(outcomes[i].error, StatusCode::kOk);
      ASSERT_EQ(outcomes[i].before, model.count(texts[i]) != 0);
      if (kind == FactOpKind::kSet) {
        model.insert(texts[i]);
      } else {
        model.erase(texts[i]);
      }
    }
  }
  if (model_.plain_texts[key].empty()) model_.plain_texts.erase(key);
  if (model_.plain_sets[key].empty()) model_.plain_sets.erase(key);
}

void EngineModelTest::CheckTexts() {
  for (const auto& [key, texts] : model_.plain_texts) {
    const FactKey fact{kPlainSetMetric, "", key};
    std::vector<std::string> found;
    std::optional<uint64_t> from = 0;
    while (from) {
      const auto next = engine_->ScanTexts(fact, *from, 1 + Below(100), &found);
      ASSERT_TRUE(next.has_value()) << next.error().ToString();
      from = *next;
    }
    std::sort(found.begin(), found.end());
    ASSERT_TRUE(std::equal(found.begin(), found.end(), texts.begin(), texts.end()))
        << key << " has " << found.size() << " of " << texts.size();
    const auto uids = model_.plain_sets.find(key);
    ASSERT_EQ(engine_->Cardinality(fact).value(),
              texts.size() + (uids != model_.plain_sets.end() ? uids->second.size() : 0));
  }
}

void EngineModelTest::Step() {
  const uint64_t roll = Below(1000);
  if (roll < 600) return FactStep();
  if (roll < 700) return BatchStep();
  if (roll < 900) return PlainStep();
  const SetName name = Name();
  const FactKey key = KeyOf(name);
  std::set<uint64_t>& facts = model_.facts[name];
  if (roll < 930) {  // a counter part
    static const char* kSlots[] = {"comment", "share", "view"};
    const std::string slot = kSlots[Below(3)];
    const auto delta = static_cast<int64_t>(Below(20)) - 5;
    int64_t& counter = model_.counters[{std::get<1>(name), std::get<2>(name)}][slot];
    counter += delta;
    const auto in_facts =
        static_cast<int64_t>(model_.facts[{slot, std::get<1>(name), std::get<2>(name)}].size());
    ASSERT_EQ(engine_->AddToCounter(key.entity(), slot, delta).value(), counter + in_facts);
  } else if (roll < 945) {
    uint64_t first = Uid(), last = Uid();
    if (first > last) std::swap(first, last);
    const auto begin = facts.lower_bound(first), end = facts.upper_bound(last);
    const auto count = static_cast<uint64_t>(std::distance(begin, end));
    ASSERT_EQ(engine_->Cardinality(key, {first, last}).value(), count);
    if (Below(3) == 0) {
      ASSERT_EQ(engine_->ClearRange(key, {first, last}).value(), count);
      facts.erase(begin, end);
    }
  } else if (roll < 960) {
    const uint64_t from = Uid();
    std::vector<uint64_t> uids;
    const auto next = engine_->Scan(key, from, 10, &uids);
    ASSERT_TRUE(next.has_value());
    std::vector<uint64_t> want;
    auto it = facts.lower_bound(from);
    for (; it != facts.end() && want.size() < 10; ++it) want.push_back(*it);
    ASSERT_EQ(uids, want);
    if (it == facts.end()) {
      ASSERT_FALSE(next->has_value());
    } else {
      ASSERT_TRUE(next->has_value());
      ASSERT_LE(**next, *it);
      ASSERT_TRUE(want.empty() || **next > want.back());
    }
  } else if (roll < 975) {
    const auto proof = engine_->Verify(key.entity());
    ASSERT_TRUE(proof.has_value()) << proof.error().ToString();
    for (const VerifiedSlot& slot : proof->slots) {
      ASSERT_TRUE(slot.ok()) << slot.name << " record " << slot.record << " pending "
                             << slot.pending << " facts " << slot.facts << " counter "
                             << slot.counter_part;
    }
  } else if (roll < 985) {
    ASSERT_TRUE(engine_->Rebuild(key.entity()).has_value());
  } else if (roll < 990) {
    ASSERT_TRUE(engine_->Sync().ok());
  } else if (roll < 994) {
    ASSERT_TRUE(engine_->Checkpoint().ok());
  } else if (roll < 996) {
    Restart();
  } else if (roll < 998) {
    Die();
  } else if (roll < 999 && Below(4) == 0) {
    const Status wiped = engine_->Wipe();
    ASSERT_TRUE(wiped.ok()) << wiped.ToString();
    model_ = Model();
  }
}

void EngineModelTest::CheckAll() {
  for (const auto& [name, facts] : model_.facts) {
    const FactKey key = KeyOf(name);
    std::vector<uint64_t> uids;
    ASSERT_TRUE(engine_->Scan(key, 0, SIZE_MAX, &uids).has_value());
    ASSERT_TRUE(std::equal(uids.begin(), uids.end(), facts.begin(), facts.end()))
        << std::get<0>(name) << ":" << std::get<1>(name) << ":" << std::get<2>(name) << " has "
        << uids.size() << " of " << facts.size();
    const auto counts = engine_->GetCounts(key.entity());
    ASSERT_TRUE(counts.has_value());
    const std::vector<SlotSpec>& slots = engine_->Slots(key.etype);
    for (size_t i = 0; i < slots.size(); ++i) {
      int64_t want = 0;
      const auto set = model_.facts.find({slots[i].name, std::get<1>(name), std::get<2>(name)});
      if (set != model_.facts.end()) want += static_cast<int64_t>(set->second.size());
      const auto entity = model_.counters.find({std::get<1>(name), std::get<2>(name)});
      if (entity != model_.counters.end()) {
        const auto counter = entity->second.find(slots[i].name);
        if (counter != entity->second.end()) want += counter->second;
      }
      ASSERT_EQ(counts->values[i], want) << slots[i].name << " of " << key.etype << ":" << key.eid;
    }
  }
  std::vector<Listed> listed;
  uint64_t cursor = 0;
  do {
    const auto next = engine_->List(cursor, 1 + Below(50), {}, &listed);
    ASSERT_TRUE(next.has_value()) << next.error().ToString();
    cursor = *next;
  } while (cursor != 0);
  std::set<SetName> seen;
  std::set<std::string> plain;
  for (const Listed& item : listed) {
    if (item.etype.empty()) {
      ASSERT_TRUE(plain.insert(item.eid).second);
    } else {
      ASSERT_TRUE(seen.insert({item.metric, item.etype, item.eid}).second);
    }
  }
  std::set<SetName> want;
  for (const auto& [name, facts] : model_.facts) {
    if (!facts.empty()) want.insert(name);
  }
  ASSERT_EQ(seen, want);
  std::set<std::string> sets;
  for (const auto& [key, uids] : model_.plain_sets) sets.insert(key);
  for (const auto& [key, texts] : model_.plain_texts) sets.insert(key);
  ASSERT_EQ(plain.size(), model_.strings.size() + sets.size() + model_.bitmaps.size());
  CheckTexts();
}

TEST_P(EngineModelTest, AgreesWithPlainSetsAndMaps) {
  const int operations = GetParam().operations;
  for (int i = 0; i < operations; ++i) {
    Step();
    if (HasFatalFailure()) FAIL() << "seed " << seed_ << ", operation " << i;
    if (i % (operations / 10) == operations / 10 - 1) {
      CheckAll();
      if (HasFatalFailure()) FAIL() << "seed " << seed_ << ", after operation " << i;
    }
  }
  Die();
  CheckAll();
}

INSTANTIATE_TEST_SUITE_P(
    Profiles, EngineModelTest,
    testing::Values(Profile{"usual", 256, 16, 512, 200, 5000, true, Durability::kEverySec, 12000},
                    Profile{"tiny", 1, 1, 2, 1, 1, true, Durability::kNo, 8000},
                    Profile{"lazy", 8, 2, 64, 20, 50, false, Durability::kEverySec, 8000},
                    Profile{"long_tail", 16, 4, 512, 3'600'000, 3'600'000, false,
                            Durability::kEverySec, 8000},
                    Profile{"always", 4, 2, 64, 50, 100, true, Durability::kAlways, 400}),
    [](const testing::TestParamInfo<Profile>& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace tallystick
