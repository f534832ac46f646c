// Nanoseconds per operation and bytes per fact of fact sets, by shape of the ids.
//
// usage: facts_bench [--benchmark_filter=REGEX] ...
//
// Counters: bytes_per_fact is what the set's memory accounting says, the set itself included.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/facts/fact_set.h"
#include "engine/facts/popcount.h"

namespace tallystick {
namespace {

struct Shape {
  const char* name;
  uint64_t ids;  // uids are uniform below this; 0: snowflake, 1: a run
  size_t members;
};

constexpr std::array<Shape, 11> kShapes = {{
    {"3 of 10 million", 10'000'000, 3},
    {"30 of 10 million", 10'000'000, 30},
    {"200 of 10 million", 10'000'000, 200},
    {"2,000 of 10 million", 10'000'000, 2'000},
    {"50,000 of 10 million", 10'000'000, 50'000},
    {"1 million of 1 million", 1, 1'000'000},
    {"1 million of 10 million", 10'000'000, 1'000'000},
    {"1 million of 1 billion", 1'000'000'000, 1'000'000},
    {"5 million of 10 million", 10'000'000, 5'000'000},
    {"50,000 snowflakes", 0, 50'000},
    {"3,650 days", 1, 3'650},
}};

uint64_t RandomId(const Shape& shape, std::mt19937_64* random) {
  if (shape.ids == 0) {  // milliseconds of three years, a machine, a counter
    return (uint64_t{1} << 60) + (((*random)() % 94'608'000'000) << 22) + (*random)() % 4'194'304;
  }
  return (*random)() % shape.ids;
}

const std::vector<uint64_t>& Members(const Shape& shape) {
  static std::vector<uint64_t> members;
  static const Shape* made = nullptr;
  if (made == &shape) return members;
  made = &shape;
  members.clear();
  std::mt19937_64 random(42);
  if (shape.ids == 1) {
    for (uint64_t uid = 0; uid < shape.members; ++uid) members.push_back(uid);
    return members;
  }
  while (members.size() < shape.members) {
    while (members.size() < shape.members) members.push_back(RandomId(shape, &random));
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
  }
  std::shuffle(members.begin(), members.end(), random);
  return members;
}

FactSet Filled(const Shape& shape) {
  FactSet set;
  for (const uint64_t uid : Members(shape)) set.Add(uid);
  return set;
}

void Report(benchmark::State& state, const Shape& shape, const FactSet& set) {
  state.SetLabel(shape.name);
  state.counters["bytes_per_fact"] =
      static_cast<double>(set.MemoryBytes() + sizeof(set)) / static_cast<double>(set.cardinality());
}

const Shape& ShapeOf(const benchmark::State& state) {
  return kShapes[static_cast<size_t>(state.range(0))];
}

void BM_Fill(benchmark::State& state) {
  const Shape& shape = ShapeOf(state);
  const auto& members = Members(shape);
  FactSet set;
  for (auto _ : state) {
    state.PauseTiming();
    set = FactSet();
    state.ResumeTiming();
    for (const uint64_t uid : members) set.Add(uid);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(members.size()));
  Report(state, shape, set);
}

void BM_Contains(benchmark::State& state) {
  const Shape& shape = ShapeOf(state);
  const FactSet set = Filled(shape);
  const auto& members = Members(shape);
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(set.Contains(members[next]));
    next = next + 1 == members.size() ? 0 : next + 1;
  }
  Report(state, shape, set);
}

// Takes a member out and puts it back: two operations an iteration.
void BM_Toggle(benchmark::State& state) {
  const Shape& shape = ShapeOf(state);
  FactSet set = Filled(shape);
  const auto& members = Members(shape);
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(set.Remove(members[next]));
    benchmark::DoNotOptimize(set.Add(members[next]));
    next = next + 1 == members.size() ? 0 : next + 1;
  }
  state.SetItemsProcessed(state.iterations() * 2);
  Report(state, shape, set);
}

void BM_EncodeAll(benchmark::State& state) {
  const Shape& shape = ShapeOf(state);
  FactSet set = Filled(shape);
  std::vector<uint64_t> chunks;
  std::vector<uint64_t> stale;
  set.TakePending(&chunks, &stale);
  size_t bytes = 0;
  for (auto _ : state) {
    std::string image;
    set.EncodeHeader(&image);
    for (const uint64_t chunk : chunks) set.EncodeChunk(chunk, &image);
    bytes = image.size();
  }
  state.SetLabel(shape.name);
  state.counters["image_bytes_per_fact"] =
      static_cast<double>(bytes) / static_cast<double>(set.cardinality());
}

void BM_Popcount4KiB(benchmark::State& state) {
  const auto kind = static_cast<PopcountKind>(state.range(0));
  if (!PopcountSupported(kind)) {
    state.SkipWithError("not supported by this processor");
    return;
  }
  std::vector<uint64_t> words(512);
  std::mt19937_64 random(42);
  for (uint64_t& word : words) word = random();
  for (auto _ : state) benchmark::DoNotOptimize(PopcountWith(kind, words.data(), words.size()));
  static constexpr std::array<const char*, 4> kNames = {"scalar", "popcnt", "avx2", "avx512"};
  state.SetLabel(kNames[static_cast<size_t>(kind)]);
}

constexpr auto kLastShape = static_cast<int64_t>(kShapes.size()) - 1;
BENCHMARK(BM_Fill)->DenseRange(0, kLastShape)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Contains)->DenseRange(0, kLastShape);
BENCHMARK(BM_Toggle)->DenseRange(0, kLastShape);
BENCHMARK(BM_EncodeAll)->DenseRange(0, kLastShape)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Popcount4KiB)->DenseRange(0, 3);

}  // namespace
}  // namespace tallystick
