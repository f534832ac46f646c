// Proves that a FactSet behaves as std::set does, in every form and on the way between them: random
// operations on ids from dense to snowflake, in phases that mostly add and phases that mostly
// remove, with snapshots, reloads with absent chunks, and range operations at both ends of the
// number range. Chunks are filled and thinned on purpose to just past the numbers at which forms
// change. The set's own IsValid() is asked after each step (of large sets, now and then).
//
// TALLYSTICK_TEST_OPERATIONS is how many single changes and questions all profiles make together at
// least; without it each makes its own few steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/facts/fact_set.h"
#include "tests/support/test_seed.h"
#include "tests/unit/facts/set_store.h"

namespace tallystick {
namespace {

enum class Ids {
  kOneChunk,
  kFewChunks,
  kTenMillion,
  kBillion,
  kSnowflake,
  kAny,
  kEdges,
  kClusters,
  kRuns,
};

enum Forms : unsigned {
  kSparse = 1,
  kArray = 2,
  kRoaring = 4,
  kDense = 8,
  kAbsent = 16,
  kSmall = 32
};

struct Profile {
  const char* name;
  Ids ids;
  size_t grow_to;    // members at which a phase begins to shrink
  size_t shrink_to;  // and to grow again
  int steps;
  unsigned forms;  // that must be met on the way
};

constexpr std::array<Profile, 13> kProfiles = {{
    {"tiny_any", Ids::kAny, 20, 0, 20000, kSparse | kSmall},
    {"tiny_ten_million", Ids::kTenMillion, 8, 0, 20000, kSparse | kSmall},
    {"small_any", Ids::kAny, 400, 90, 20000, kSparse},
    {"small_one_chunk", Ids::kOneChunk, 400, 90, 20000, kSparse | kArray | kAbsent},
    {"one_chunk", Ids::kOneChunk, 5000, 0, 40000, kArray | kDense | kAbsent | kSmall},
    {"few_chunks", Ids::kFewChunks, 12000, 0, 60000, kSparse | kArray | kDense | kAbsent},
    {"runs", Ids::kRuns, 12000, 0, 40000, kSparse | kArray | kRoaring | kAbsent},
    {"ten_million", Ids::kTenMillion, 15000, 100, 60000, kSparse | kArray | kAbsent},
    {"billion", Ids::kBillion, 6000, 0, 30000, kSparse | kArray | kSmall},
    {"snowflake", Ids::kSnowflake, 6000, 0, 30000, kSparse | kArray | kSmall},
    {"any", Ids::kAny, 4000, 0, 30000, kSparse | kArray | kAbsent | kSmall},
    {"edges", Ids::kEdges, 6000, 0, 40000, kArray | kAbsent | kSmall},
    {"clusters", Ids::kClusters, 8000, 0, 60000, kSparse | kArray | kAbsent},
}};

std::ostream& operator<<(std::ostream& out, const Profile& profile) {
  return out << profile.name;
}

class FactSetModel : public testing::TestWithParam<Profile> {
 protected:
  uint64_t Random(uint64_t bound) { return random_() % bound; }

  uint64_t RandomId() {
    switch (GetParam().ids) {
      case Ids::kOneChunk:
        return kChunkBits * 7 + Random(kChunkBits);
      case Ids::kFewChunks:
        return Random(5 * kChunkBits);
      case Ids::kTenMillion:
        return Random(10'000'000);
      case Ids::kBillion:
        return Random(1'000'000'000);
      case Ids::kSnowflake:
        return (uint64_t{1} << 60) + (Random(1u << 30) << 22) + Random(4);
      case Ids::kAny:
        return random_() >> Random(64);
      case Ids::kEdges:
        return Random(2) == 0 ? Random(70000) : UINT64_MAX - Random(70000);
      case Ids::kClusters:
        return (Random(40) << 40) + (Random(3) == 0 ? Random(1u << 30) : Random(300));
      case Ids::kRuns:
        return Random(3) * 1'000'000 + (model_.empty() || Random(50) == 0 ? 0 : runs_++ % 6000);
    }
    return 0;
  }

  uint64_t SomeMember() {
    const auto at = model_.lower_bound(RandomId());
    return at == model_.end() ? *model_.begin() : *at;
  }

  UidRange RandomRange() {
    uint64_t first = Random(8) == 0 ? 0 : RandomId();
    uint64_t last = Random(8) == 0 ? UINT64_MAX : RandomId();
    if (first > last) std::swap(first, last);
    if (Random(3) == 0) {  // whole chunks
      first = first / kChunkBits * kChunkBits;
      last = last / kChunkBits * kChunkBits + (kChunkBits - 1);
    }
    if (Random(4) == 0) last = first + std::min<uint64_t>(UINT64_MAX - first, Random(100000));
    return {first, last};
  }

  std::vector<uint64_t> ModelIn(UidRange range) const {
    return {model_.lower_bound(range.first), model_.upper_bound(range.last)};
  }

  void Add(uint64_t uid) {
    ++operations_;
    store_.Bring({uid, uid}, &set_);
    ASSERT_EQ(set_.Add(uid), model_.insert(uid).second) << uid;
    ASSERT_TRUE(set_.Contains(uid));
  }

  void Remove(uint64_t uid) {
    ++operations_;
    store_.Bring({uid, uid}, &set_);
    ASSERT_EQ(set_.Remove(uid), model_.erase(uid) != 0) << uid;
    ASSERT_FALSE(set_.Contains(uid));
  }

  // Brings one chunk to a number of members around which its form changes.
  void Force() {
    static constexpr std::array<size_t, 8> kMembers = {10, 63, 64, 129, 160, 300, 1535, 2049};
    const size_t members = kMembers[Random(GetParam().grow_to < 1000 ? 5 : kMembers.size())];
    const uint64_t first = RandomId() / kChunkBits * kChunkBits;
    const UidRange chunk{first, first + (kChunkBits - 1)};
    std::vector<uint64_t> here = ModelIn(chunk);
    std::shuffle(here.begin(), here.end(), random_);
    for (; here.size() > members; here.pop_back()) Remove(here.back());
    for (size_t missing = members - here.size(); missing > 0;) {
      const uint64_t uid = first + Random(kChunkBits);
      if (model_.count(uid) == 0) --missing;
      Add(uid);
    }
    ASSERT_EQ(ModelIn(chunk).size(), members);
    ASSERT_TRUE(set_.IsValid());
  }

  void AddRun() {
    const uint64_t first = RandomId();
    const uint64_t length = std::min<uint64_t>(Random(400), UINT64_MAX - first);
    for (uint64_t i = 0; i <= length; ++i) Add(Random(2) == 0 ? first + i : first + length - i);
  }

  void RemoveRange() {
    ++operations_;
    UidRange range = RandomRange();
    if (Random(10) != 0)
      range.last =
          std::min(range.last, range.first + std::min<uint64_t>(UINT64_MAX - range.first, 2000));
    store_.Bring(range, &set_);
    std::vector<uint64_t> removed{1};
    const std::vector<uint64_t> expected = ModelIn(range);
    ASSERT_EQ(set_.RemoveRange(range, &removed), expected.size());
    removed.erase(removed.begin());
    ASSERT_EQ(removed, expected);
    model_.erase(model_.lower_bound(range.first), model_.upper_bound(range.last));
  }

  void Look() {
    ++operations_;
    const uint64_t uid = Random(2) == 0 || model_.empty() ? RandomId() : SomeMember();
    store_.Bring({uid, uid}, &set_);
    ASSERT_EQ(set_.Contains(uid), model_.count(uid) != 0) << uid;
  }

  void Count() {
    ++operations_;
    const UidRange range = RandomRange();
    store_.BringPartly(range, &set_);
    ASSERT_EQ(set_.CardinalityIn(range), ModelIn(range).size())
        << range.first << ".." << range.last;
  }

  void Last() {
    ++operations_;
    const UidRange range = RandomRange();
    store_.Bring(range, &set_);
    const auto expected = ModelIn(range);
    const auto found = set_.LastIn(range);
    ASSERT_EQ(found.has_value(), !expected.empty());
    ASSERT_EQ(found.value_or(0), expected.empty() ? 0 : expected.back());
  }

  void Scan() {
    ++operations_;
    std::vector<uint64_t> uids;
    const uint64_t start = RandomRange().first;
    std::optional<uint64_t> from = start;
    while (from) {
      const size_t limit = Random(1000);
      const size_t before = uids.size();
      // Brings chunk after chunk until the slice is surely covered.
      store_.Bring({*from, UINT64_MAX}, &set_);
      from = set_.Collect(*from, limit, &uids);
      if (from) {
        ASSERT_EQ(uids.size() - before, limit);
        ASSERT_EQ(*from, *model_.lower_bound(uids.empty() ? start : uids.back() + 1));
      }
    }
    ASSERT_EQ(uids, ModelIn({start, UINT64_MAX}));
  }

  void ReadBits() {
    ++operations_;
    const uint64_t first = Random(4) == 0 ? UINT64_MAX - Random(20000) : RandomRange().first;
    const size_t bytes = Random(6000);
    const uint64_t last = first + std::min<uint64_t>(UINT64_MAX - first, bytes * 8);
    store_.Bring({first, last}, &set_);
    std::string got(bytes + 2, '\x10');
    std::string expected = got;
    set_.ReadBits(first, bytes, got.data() + 1);
    for (const uint64_t uid : ModelIn({first, last})) {
      if (uid - first >= bytes * 8) continue;
      char& byte = expected[1 + (uid - first) / 8];
      byte = static_cast<char>(byte | (0x80 >> ((uid - first) % 8)));
    }
    ASSERT_EQ(got, expected);
  }

  void Snapshot() {
    ++operations_;
    store_.Snapshot(&set_);
    if (Random(2) == 0) return;
    FactSet loaded = store_.Load();
    set_ = std::move(loaded);
    std::vector<uint64_t> changed;
    std::vector<uint64_t> stale;
    set_.TakePending(&changed, &stale);
    ASSERT_TRUE(changed.empty() && stale.empty());
  }

  void Check(int step) {
    ASSERT_EQ(set_.cardinality(), model_.size());
    ASSERT_EQ(set_.empty(), model_.empty());
    if (model_.size() > 1000 && step % 64 != 0) return;
    ASSERT_TRUE(set_.IsValid());
    const FactSet::Shape shape = set_.shape();
    seen_ |= (shape.sparse != 0 ? kSparse : 0u) | (shape.array != 0 ? kArray : 0u) |
             (shape.roaring != 0 ? kRoaring : 0u) | (shape.dense != 0 ? kDense : 0u) |
             (shape.absent != 0 ? kAbsent : 0u) | (set_.MemoryBytes() == 0 ? kSmall : 0u);
    std::vector<uint64_t> chunks;
    set_.ChunksWithMembers(&chunks);
    std::vector<uint64_t> expected;
    for (const uint64_t uid : model_) {
      if (expected.empty() || expected.back() != uid / kChunkBits) {
        expected.push_back(uid / kChunkBits);
      }
    }
    ASSERT_EQ(chunks, expected);
  }

  void Step(bool growing) {
    const uint64_t dice = Random(1000);
    if (dice < 700) return growing || model_.empty() ? Add(RandomId()) : Remove(SomeMember());
    if (dice < 800) return growing && !model_.empty() ? Remove(SomeMember()) : Add(RandomId());
    if (dice < 860) return Look();
    if (dice < 900) return Count();
    if (dice < 920) return Last();
    if (dice < 930) return ReadBits();
    if (dice < 935) return Scan();
    if (dice < 945) return Snapshot();
    if (dice < 954) return AddRun();
    if (dice < 955 && Random(4) == 0) return Force();
    if (!growing && dice < 965) return RemoveRange();
    if (model_.empty()) return;
    const uint64_t uid = SomeMember();  // comes and goes
    Remove(uid);
    Add(uid);
  }

  // What TALLYSTICK_TEST_OPERATIONS wants of each of the profiles; 0 without it.
  static uint64_t OperationsWanted() {
    const char* text = std::getenv("TALLYSTICK_TEST_OPERATIONS");
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10) / kProfiles.size() + 1;
  }

  uint64_t operations_ = 0;
  unsigned seen_ = 0;
  uint64_t runs_ = 0;
  std::mt19937_64 random_;
  std::set<uint64_t> model_;
  FactSet set_;
  SetStore store_;
};

TEST_P(FactSetModel, BehavesAsASet) {
  random_.seed(TestSeed(0x7a11 + static_cast<uint64_t>(GetParam().grow_to)));
  bool growing = true;
  const uint64_t wanted = OperationsWanted();
  for (int step = 0; step < GetParam().steps || operations_ < wanted; ++step) {
    if (model_.size() >= GetParam().grow_to) growing = false;
    if (model_.size() <= GetParam().shrink_to) growing = true;
    Step(growing);
    Check(step);
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "at step " << step;
  }
  std::printf("[operations] %llu\n", static_cast<unsigned long long>(operations_));
  EXPECT_EQ(seen_ & GetParam().forms, GetParam().forms) << "a form was not met";
}

INSTANTIATE_TEST_SUITE_P(Ids, FactSetModel, testing::ValuesIn(kProfiles),
                         [](const auto& profile) { return profile.param.name; });

}  // namespace
}  // namespace tallystick
