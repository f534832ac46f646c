// Proves what users rely on of a FactSet's forms: what small sets cost, at which number of members
// a set changes form and that it does not change back at once, that spread and crowded ids live
// together, and what snapshots must write and delete when forms change.
#include "engine/facts/fact_set.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/facts/mixed_set.h"
#include "tests/unit/facts/set_store.h"

namespace tallystick {
namespace {

void AddEach(FactSet* set, uint64_t first, uint64_t step, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) ASSERT_TRUE(set->Add(first + i * step));
}

void RemoveEach(FactSet* set, uint64_t first, uint64_t step, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) ASSERT_TRUE(set->Remove(first + i * step));
}

struct Pending {
  explicit Pending(FactSet* set) { set->TakePending(&changed, &stale); }
  std::vector<uint64_t> changed;
  std::vector<uint64_t> stale;
};

using Chunks = std::vector<uint64_t>;

TEST(FactSetTest, SmallSetsCostLittle) {
  FactSet set;
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.MemoryBytes(), 0u);
  set.Add(UINT64_MAX);
  EXPECT_EQ(set.MemoryBytes(), 0u) << "one uid of any size is inside";
  FactSet three;
  AddEach(&three, 10'000'000, 77, 3);
  EXPECT_EQ(three.MemoryBytes(), 0u);
  set.Add(UINT64_MAX - (uint64_t{1} << 55));
  EXPECT_LE(set.MemoryBytes(), 32u);
  set.Add(0);  // ids from all of the 64 bits cost a little more
  EXPECT_LE(set.MemoryBytes(), 64u);
  FactSet tail;
  AddEach(&tail, 1234, 99'991, 100);
  EXPECT_LE(tail.MemoryBytes(), 100u * 11 / 4);
}

TEST(FactSetTest, SnowflakesCostSixToSevenBytesAtAnySize) {
  for (const uint64_t n : {3000u, 30000u}) {
    FactSet set;
    AddEach(&set, uint64_t{1} << 59, (uint64_t{1} << 58) / n, n);
    EXPECT_LE(set.MemoryBytes(), n * 7);
    EXPECT_FALSE(set.chunked());
  }
}

TEST(FactSetTest, AMemberThatComesAndGoesDoesNotAllocate) {
  FactSet set;
  AddEach(&set, 1u << 30, 1, 3);  // five bytes each are inside; the fourth needs a block
  EXPECT_EQ(set.MemoryBytes(), 0u);
  set.Add(1);
  const size_t block = set.MemoryBytes();
  EXPECT_GT(block, 0u);
  set.Remove(1);
  EXPECT_EQ(set.MemoryBytes(), block) << "hysteresis";
  set.Remove(1u << 30);
  EXPECT_EQ(set.MemoryBytes(), 0u);
  EXPECT_EQ(set.cardinality(), 2u);
}

TEST(FactSetTest, ABlockOfOneChunkBecomesItsContainer) {
  FactSet set;
  AddEach(&set, 5 * kChunkBits, 100, kSmallMembersMax);
  EXPECT_FALSE(set.chunked());
  set.Add(5 * kChunkBits + 1);
  EXPECT_TRUE(set.chunked());
  EXPECT_EQ(set.shape().array, 1u);
  EXPECT_EQ(set.shape().sparse, 0u);
  EXPECT_TRUE(set.IsValid());
  set.Remove(5 * kChunkBits + 1);
  EXPECT_TRUE(set.chunked()) << "hysteresis";
  RemoveEach(&set, 5 * kChunkBits, 100, kSmallMembersMax - kLargeMembersMin);
  EXPECT_EQ(set.cardinality(), kLargeMembersMin);
  EXPECT_TRUE(set.chunked());
  set.Remove(5 * kChunkBits + 100 * (kSmallMembersMax - 1));
  EXPECT_FALSE(set.chunked());
  EXPECT_EQ(set.shape().sparse, 1u);
  EXPECT_TRUE(set.IsValid());
}

TEST(FactSetTest, CrowdedChunksGetContainersOthersStaySparse) {
  FactSet set;
  AddEach(&set, 0, kChunkBits, 300);
  EXPECT_FALSE(set.chunked());
  AddEach(&set, 7 * kChunkBits + 1, 3, kChunkPromoteMembers - 2);
  EXPECT_FALSE(set.chunked());
  AddEach(&set, 7 * kChunkBits + 20000, 1, 16);  // it is looked at now and then only
  EXPECT_EQ(set.shape().array, 1u);
  EXPECT_EQ(set.shape().sparse, 1u);
  EXPECT_TRUE(set.IsValid());
  RemoveEach(&set, 7 * kChunkBits + 1, 3, kChunkPromoteMembers + 15 - kChunkDemoteBelow);
  EXPECT_EQ(set.CardinalityIn({7 * kChunkBits, 8 * kChunkBits - 1}), kChunkDemoteBelow);
  EXPECT_TRUE(set.chunked()) << "hysteresis";
  set.Remove(7 * kChunkBits + 20000);
  EXPECT_FALSE(set.chunked());
  EXPECT_EQ(set.CardinalityIn({7 * kChunkBits, 8 * kChunkBits - 1}), kChunkDemoteBelow - 1);
  EXPECT_TRUE(set.IsValid());
}

TEST(FactSetTest, SnapshotsWriteWhatChangedAndDeleteWhatIsGone) {
  FactSet set;
  AddEach(&set, 0, 2, 1000);
  AddEach(&set, 3 * kChunkBits, 2, 1000);
  set.Add(uint64_t{9} << 40);
  Pending first(&set);
  EXPECT_EQ(first.changed, (Chunks{0, 3}));
  EXPECT_TRUE(first.stale.empty());
  EXPECT_TRUE(Pending(&set).changed.empty());

  EXPECT_FALSE(set.Add(0));
  EXPECT_FALSE(set.Remove(1));
  EXPECT_TRUE(Pending(&set).changed.empty()) << "nothing changed";
  EXPECT_TRUE(set.Add(1));
  EXPECT_EQ(Pending(&set).changed, Chunks{0});

  std::vector<uint64_t> removed;
  set.RemoveRange({0, kChunkBits - 1}, &removed);
  AddEach(&set, 0, 2, 1000);  // gone and back before the snapshot: written, not deleted
  Pending back(&set);
  EXPECT_EQ(back.changed, Chunks{0});
  EXPECT_TRUE(back.stale.empty());

  set.RemoveRange({3 * kChunkBits, 4 * kChunkBits - 1}, &removed);
  Pending gone(&set);
  EXPECT_TRUE(gone.changed.empty());
  EXPECT_EQ(gone.stale, Chunks{3});
  EXPECT_TRUE(set.IsValid());
}

// A set that is emptied still remembers which records must go.
TEST(FactSetTest, AnEmptiedSetDeletesItsRecords) {
  for (const bool whole : {true, false}) {
    for (const uint64_t other : {uint64_t{1}, uint64_t{5} << 40}) {
      FactSet set;
      AddEach(&set, 0, 2, 1000);
      set.Add(other);
      EXPECT_EQ(Pending(&set).changed, Chunks{0});
      std::vector<uint64_t> removed;
      if (whole) {
        EXPECT_EQ(set.RemoveRange({}, &removed), 1001u);
      } else {
        RemoveEach(&set, 0, 2, 1000);
        EXPECT_TRUE(set.Remove(other));
      }
      EXPECT_TRUE(set.empty() && set.IsValid());
      Pending pending(&set);
      EXPECT_TRUE(pending.changed.empty());
      EXPECT_EQ(pending.stale, Chunks{0});
      EXPECT_EQ(set.MemoryBytes(), 0u);
    }
  }
}

TEST(FactSetTest, WorkOnOneChunkNeedsNoOther) {
  FactSet set;
  for (uint64_t chunk = 0; chunk < 20; ++chunk) AddEach(&set, chunk * kChunkBits, 5, 200);
  SetStore store;
  store.Snapshot(&set);
  FactSet loaded = store.Load();
  EXPECT_EQ(loaded.cardinality(), 4000u);
  store.Bring({4 * kChunkBits, 4 * kChunkBits}, &loaded);
  RemoveEach(&loaded, 4 * kChunkBits, 5, 200);  // down to sparse, and away
  EXPECT_TRUE(loaded.Add(4 * kChunkBits + 9));
  EXPECT_TRUE(loaded.Add(uint64_t{1} << 50));
  EXPECT_EQ(loaded.cardinality(), 3802u);
  EXPECT_EQ(loaded.shape().absent, 19u);
  EXPECT_EQ(loaded.CardinalityIn({3 * kChunkBits, 6 * kChunkBits - 1}), 401u);
  EXPECT_EQ(Pending(&loaded).stale, Chunks{4});
  EXPECT_TRUE(loaded.IsValid());
}

// Absent chunks keep a set from becoming small; once they are here, the snapshot comes first.
TEST(FactSetTest, AChunkThatTakePendingNamesCanBeEncoded) {
  FactSet set;
  AddEach(&set, 0, 5, 200);
  AddEach(&set, 9 * kChunkBits, 5, 200);
  RemoveEach(&set, 9 * kChunkBits, 5, 200 - kChunkDemoteBelow);
  SetStore store;
  store.Snapshot(&set);
  FactSet loaded = store.Load();
  store.Bring({0, 0}, &loaded);
  RemoveEach(&loaded, 0, 5, 200 - kChunkDemoteBelow);
  EXPECT_LT(loaded.cardinality(), kLargeMembersMin);
  store.Bring({}, &loaded);
  store.Snapshot(&loaded);
  FactSet again = store.Load();
  EXPECT_EQ(again.cardinality(), 2 * kChunkDemoteBelow);
  store.Bring({}, &again);
  EXPECT_TRUE(again.Remove(200 * 5 - 5));  // now it becomes a block, and both records go
  EXPECT_FALSE(again.chunked());
  Pending pending(&again);
  EXPECT_TRUE(pending.changed.empty());
  EXPECT_EQ(pending.stale, (Chunks{0, 9}));
  EXPECT_TRUE(again.IsValid());
  EXPECT_EQ(again.cardinality(), 2 * kChunkDemoteBelow - 1);
}

TEST(FactSetTest, ScanStopsInFrontOfAnAbsentChunk) {
  FactSet set;
  AddEach(&set, 100, kChunkBits, 10);
  AddEach(&set, 20 * kChunkBits, 5, 1000);
  SetStore store;
  store.Snapshot(&set);
  FactSet loaded = store.Load();
  std::vector<uint64_t> uids;
  EXPECT_EQ(loaded.Collect(0, 10, &uids), 20 * kChunkBits) << "needs no member of the chunk";
  EXPECT_EQ(uids.size(), 10u);
  EXPECT_DEATH(loaded.Collect(0, 11, &uids), "");
}

TEST(FactSetTest, MovesLeaveTheSourceEmpty) {
  for (const uint64_t n : {2u, 100u, 3000u}) {
    FactSet set;
    AddEach(&set, 0, 999'983, n);
    FactSet moved(std::move(set));
    EXPECT_TRUE(set.empty());  // NOLINT: the contract says so
    EXPECT_TRUE(set.Add(1));
    EXPECT_EQ(moved.cardinality(), n);
    set = std::move(moved);
    EXPECT_TRUE(moved.empty());  // NOLINT
    EXPECT_EQ(set.cardinality(), n);
    FactSet* same = &set;
    set = std::move(*same);
    EXPECT_EQ(set.cardinality(), n);
  }
}

TEST(FactSetTest, RedisBitOrder) {
  FactSet set;
  AddEach(&set, 0, 7, 1000);
  set.Add(UINT64_MAX);
  std::string bits(2, '\0');
  set.ReadBits(0, 2, bits.data());
  EXPECT_EQ(bits, "\x81\x02");
  bits = std::string(1, '\0');
  set.ReadBits(UINT64_MAX - 3, 1, bits.data());  // ends before 2^64
  EXPECT_EQ(bits, "\x10");
}

TEST(FactSet, TheHighestUidJoinsTheLowest) {
  for (uint64_t lowest = 1; lowest < 256; ++lowest) {
    for (const uint64_t uid : {UINT64_MAX, UINT64_MAX - 255, UINT64_MAX - 300}) {
      FactSet set;
      for (uint64_t i = 0; i < lowest; ++i) ASSERT_TRUE(set.Add(i));
      ASSERT_TRUE(set.Add(uid));
      ASSERT_TRUE(set.IsValid()) << lowest;
      ASSERT_TRUE(set.Contains(uid));
      ASSERT_EQ(set.cardinality(), lowest + 1);
    }
  }
}

}  // namespace
}  // namespace tallystick
