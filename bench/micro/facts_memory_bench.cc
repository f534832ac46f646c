// Bytes per fact of whole data sets: how the process grows (resident memory) when it holds them, in
// a fresh process for each figure, and beside it what our own accounting says.
//
// Compared: the entities and fact sets of the engine, CRoaring's bitmaps (one per entity and upper
// 32 bits of the ids) and std::unordered_set, the last two in a std::unordered_map by entity id.
// All under jemalloc, all from the same ids, which are made while they are added and leave nothing.
// And a redis-server on this machine, if there is one, by its used_memory: a Set for each entity,
// and bitmap strings of 32K bits. Where it would take more than 2 GiB or one minute, the first
// facts of the row are measured, and the figure is marked with ~ and their number.
//
// usage: facts_memory_bench [ROW]: one row by its number, or all.
#include "bench/micro/redis_memory.h"
#include "engine/base/checksum.h"
#include "engine/facts/fact_table.h"

#include <jemalloc/jemalloc.h>
#include <roaring/roaring.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tallystick {
namespace {

using Add = std::function<void(uint64_t entity, uint64_t uid)>;

struct Row {
  const char* name;
  std::function<void(const Add&)> fill;
};

// ---- Data ---------------------------------------------------------------------------------------

void Zipf(const Add& add) {
  constexpr size_t kItems = 100'000;
  constexpr size_t kLikes = 5'000'000;
  std::vector<double> sums(kItems);
  double sum = 0;
  for (size_t i = 0; i < kItems; ++i) sums[i] = sum += 1.0 / static_cast<double>(i + 1);
  std::mt19937_64 rng(1);
  std::uniform_real_distribution<double> at(0, sum);
  for (size_t i = 0; i < kLikes; ++i) {
    const auto item = std::lower_bound(sums.begin(), sums.end(), at(rng)) - sums.begin();
    add(static_cast<uint64_t>(item), rng() % 10'000'000);
  }
}

// `count` different ids below `bound` on each of `items`, in no order. More than one item where the
// process's own overhead, about 0.8 MB, would be seen.
std::function<void(const Add&)> Items(uint64_t items, uint64_t count, uint64_t bound) {
  return [=](const Add& add) {
    // Multiplying by an odd number permutes the ids below a power of two.
    const uint64_t power = std::bit_ceil(bound);
    for (uint64_t item = 0; item < items; ++item) {
      uint64_t added = 0;
      for (uint64_t i = 0; added < count; ++i) {
        const uint64_t uid = (i * 0x9e3779b97f4a7c15u + item) % power;
        if (uid >= bound) continue;
        add(item, uid);
        ++added;
      }
    }
  };
}

// 41 bits of milliseconds over half a year, 10 of a worker, 12 of a sequence.
uint64_t Snowflake(std::mt19937_64& rng) {
  constexpr uint64_t kHalfYearMs = 15'768'000'000;
  return (50'000'000'000 + rng() % kHalfYearMs) << 22 | rng() % 32 << 12 | rng() % 4;
}

void SnowflakesSmall(const Add& add) {
  std::mt19937_64 rng(2);
  for (uint64_t item = 0; item < 500'000; ++item) {
    for (uint64_t n = 1 + rng() % 10; n > 0; --n) add(item, Snowflake(rng));
  }
}

void SnowflakesLarge(const Add& add) {
  std::mt19937_64 rng(3);
  for (uint64_t i = 0; i < 20 * 50'000; ++i) add(i % 20, Snowflake(rng));
}

void Range(const Add& add) {
  for (uint64_t item = 0; item < 20; ++item) {
    for (uint64_t uid = 0; uid < 1'000'000; ++uid) add(item, uid);
  }
}

void CheckIns(const Add& add) {
  for (uint64_t user = 0; user < 20'000; ++user) {
    for (uint64_t day = 0; day < 3652; ++day) add(user, day);
  }
}

void Tail(const Add& add) {
  std::mt19937_64 rng(4);
  for (uint64_t item = 0; item < 10'000'000; ++item) {
    for (uint64_t n = 1 + rng() % 3; n > 0; --n) add(item, rng() % 10'000'000);
  }
}

const Row kRows[] = {
    {"5 M likes, Zipf over 100 k items, users of 10 M", Zipf},
    {"1 M of 1 M ids on an item (ten items)", Items(10, 1'000'000, 1'000'000)},
    {"1 M of 10 M (ten)", Items(10, 1'000'000, 10'000'000)},
    {"1 M of 1 G (ten)", Items(10, 1'000'000, 1'000'000'000)},
    {"5 M of 10 M (four)", Items(4, 5'000'000, 10'000'000)},
    {"snowflakes, 1 to 10 a set", SnowflakesSmall},
    {"snowflakes, 50,000 a set (twenty)", SnowflakesLarge},
    {"runs: a range of 1 M ids (twenty)", Range},
    {"runs: every day of ten years", CheckIns},
    {"10 M entities with 1 to 3 likes", Tail},
};

// ---- Structures ---------------------------------------------------------------------------------

struct Measured {
  uint64_t facts = 0;
  uint64_t entities = 0;
  uint64_t resident_bytes = 0;
  uint64_t own_bytes = 0;
  FactSet::Shape shape;  // containers by form; sparse: sets that have members in none
};

// Anonymous memory, once the allocator has given back what it keeps for later.
uint64_t ResidentBytes() {
  const std::string purge_all = "arena." + std::to_string(MALLCTL_ARENAS_ALL) + ".purge";
  if (mallctl(purge_all.c_str(), nullptr, nullptr, nullptr, 0) != 0) std::abort();
  std::ifstream status("/proc/self/status");
  uint64_t kib = 0;
  for (std::string word; status >> word;) {
    if (word == "RssAnon:") status >> kib;
  }
  return kib * 1024;
}

template <typename Sets>
Measured Measure(const Row& row) {
  Measured measured;
  const uint64_t before = ResidentBytes();
  auto sets = std::make_unique<Sets>();
  row.fill([&](uint64_t entity, uint64_t uid) { sets->Add(entity, uid); });
  measured.resident_bytes = ResidentBytes() - before;
  sets->Count(&measured);
  return measured;
}

class Ours {
 public:
  void Add(uint64_t entity, uint64_t uid) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof(digits), entity).ptr;
    const Eid eid(std::string_view(digits, static_cast<size_t>(end - digits)));
    const uint64_t hash = Hash64(eid.text, 7);
    FactTable& table = tables_[hash % kShards];
    Entity* found = table.Find(hash, 1, eid);
    if (found == nullptr) {
      found = table.Insert(
          std::make_unique<Entity>(hash, static_cast<uint32_t>(hash % kShards), 1, eid));
    }
    found->SetFor(0).set.Add(uid);
  }
  void Count(Measured* measured) const {
    for (const FactTable& table : tables_) {
      measured->entities += table.size();
      measured->own_bytes += sizeof(FactTable) + table.MemoryBytes();
      table.ForEach([&](const Entity* entity) {
        measured->own_bytes += entity->MemoryBytes();
        for (const MetricSet& set : entity->sets()) {
          measured->facts += set.set.cardinality();
          const FactSet::Shape shape = set.set.shape();
          measured->shape.sparse += shape.sparse;
          measured->shape.array += shape.array;
          measured->shape.roaring += shape.roaring;
          measured->shape.dense += shape.dense;
        }
      });
    }
  }

 private:
  static constexpr uint32_t kShards = 256;
  FactTable tables_[kShards];
};

class Roaring {
 public:
  void Add(uint64_t entity, uint64_t uid) {
    roaring_bitmap_t*& bitmap = sets_[entity][static_cast<uint32_t>(uid >> 32)];
    if (bitmap == nullptr) bitmap = roaring_bitmap_create();
    roaring_bitmap_add(bitmap, static_cast<uint32_t>(uid));
  }
  void Count(Measured* measured) const {
    measured->entities = sets_.size();
    for (const auto& [entity, set] : sets_) {
      for (const auto& [upper, bitmap] : set) {
        measured->facts += roaring_bitmap_get_cardinality(bitmap);
      }
    }
  }

 private:
  std::unordered_map<uint64_t, std::map<uint32_t, roaring_bitmap_t*>> sets_;
};

class Hashed {
 public:
  void Add(uint64_t entity, uint64_t uid) { sets_[entity].insert(uid); }
  void Count(Measured* measured) const {
    measured->entities = sets_.size();
    for (const auto& [entity, set] : sets_) measured->facts += set.size();
  }

 private:
  std::unordered_map<uint64_t, std::unordered_set<uint64_t>> sets_;
};

// In a process of its own, so that each figure begins with an untouched heap.
Measured InFreshProcess(const Row& row, Measured (*measure)(const Row&)) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    const Measured measured = measure(row);
    _exit(write(ends[1], &measured, sizeof(measured)) == sizeof(measured) ? 0 : 1);
  }
  close(ends[1]);
  Measured measured;
  if (read(ends[0], &measured, sizeof(measured)) != sizeof(measured)) std::abort();
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return measured;
}

std::string InRedis(const Row& row, RedisMemory::As as) {
  RedisMemory redis(as);
  row.fill([&redis](uint64_t entity, uint64_t uid) { redis.Add(entity, uid); });
  const uint64_t bytes = redis.UsedBytes();
  char text[64];
  std::snprintf(text, sizeof(text), redis.cut() ? "~%.1f (%.1f M)" : "%.1f",
                static_cast<double>(bytes) / static_cast<double>(redis.facts()),
                static_cast<double>(redis.facts()) / 1e6);
  return text;
}

void Print(const Row& row) {
  const Measured ours = InFreshProcess(row, Measure<Ours>);
  const Measured roaring = InFreshProcess(row, Measure<Roaring>);
  const Measured hashed = InFreshProcess(row, Measure<Hashed>);
  if (ours.facts != hashed.facts || ours.facts != roaring.facts) std::abort();
  const auto per_fact = [&](uint64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(ours.facts);
  };
  const bool redis = RedisMemory::Present();
  const std::string sets = redis ? InRedis(row, RedisMemory::As::kSets) : "absent";
  const std::string chunks = redis ? InRedis(row, RedisMemory::As::kChunks) : "absent";
  std::printf("| %s | %.3f | %.3f | %.1f | %.3f | %.1f | %s | %s | %llu / %llu / %llu / %llu |\n",
              row.name, per_fact(ours.resident_bytes), per_fact(ours.own_bytes),
              static_cast<double>(ours.resident_bytes) / static_cast<double>(ours.entities),
              per_fact(roaring.resident_bytes), per_fact(hashed.resident_bytes), sets.c_str(),
              chunks.c_str(), static_cast<unsigned long long>(ours.shape.sparse),
              static_cast<unsigned long long>(ours.shape.array),
              static_cast<unsigned long long>(ours.shape.roaring),
              static_cast<unsigned long long>(ours.shape.dense));
  std::fflush(stdout);
}

}  // namespace
}  // namespace tallystick

int main(int argc, char** argv) {
  using namespace tallystick;
  const size_t only = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 0;
  std::printf("bytes per fact, growth of a fresh process\n");
  std::printf(
      "| data | tallystick | own accounting | per entity | CRoaring | unordered_set | Redis Set | "
      "Redis bitmaps of 32K | sparse sets / array / roaring / dense chunks |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  std::fflush(stdout);
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (only == 0 || only == i + 1) Print(kRows[i]);
  }
}
