// The engine in process: what a like costs, everything that the engine does for it included
// (look-up, flip, event, and in the background journal, fold, records), durability everysec,
// RocksDB on disk.
//
// "random": 10 million facts spread over 1 million sets, so nearly every operation misses the
// caches. "hot": one set of 1 million uids. "cold" variants time the first touch after opening.
#include "engine/events/ring.h"

#include <tallystick/engine.h>

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace tallystick {
namespace {

constexpr uint64_t kSets = 1'000'000;
constexpr uint64_t kFacts = 10'000'000;
constexpr uint64_t kUsers = 10'000'000;
constexpr uint64_t kHotUsers = 1'000'000;

WriteOptions Memory() {
  WriteOptions options;
  options.wait = WaitFor::kMemory;
  return options;
}

std::string BenchDirectory() {
  const char* base = std::getenv("TALLYSTICK_BENCH_DIR");
  return (base != nullptr ? std::string(base) : std::filesystem::temp_directory_path().string()) +
         "/tallystick-engine-bench";
}

std::unique_ptr<Engine> OpenAt(const std::string& dir) {
  Options options;
  options.dir = dir;
  auto opened = Engine::Open(options);
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().ToString().c_str());
    std::exit(1);
  }
  return std::move(*opened);
}

struct RandomOps {
  explicit RandomOps(uint64_t seed) : rng(seed) {}
  // Names are made beforehand: their printing is not the engine's work.
  void Refill(size_t n, FactOpKind kind) {
    eids.resize(n);
    ops.resize(n);
    for (size_t i = 0; i < n; ++i) {
      eids[i] = std::to_string(rng() % kSets);
      ops[i] = FactOp{kind, {}, {"like", "article", eids[i]}, rng() % kUsers};
    }
  }
  std::mt19937_64 rng;
  std::vector<std::string> eids;
  std::vector<FactOp> ops;
};

// One engine for all: filling it takes a while.
Engine& Filled() {
  static std::unique_ptr<Engine> engine = [] {
    std::filesystem::remove_all(BenchDirectory());
    auto made = OpenAt(BenchDirectory());
    const size_t heap_before = mallinfo2().uordblks;
    RandomOps random(1);
    std::vector<FactOutcome> outcomes(1000);
    for (uint64_t done = 0; done < kFacts; done += outcomes.size()) {
      random.Refill(outcomes.size(), FactOpKind::kSet);
      if (!made->Apply(random.ops, outcomes, Memory()).ok()) std::abort();
    }
    for (uint64_t uid = 0; uid < kHotUsers; uid += 2) {
      if (!made->Set({"like", "hot", "1"}, uid, Memory())) std::abort();
    }
    if (!made->Checkpoint().ok()) std::abort();
    const Stats stats = made->GetStats();
    std::printf(
        "bytes per fact: heap %.1f, own accounting %.1f (%llu facts, %llu entities)\n",
        static_cast<double>(mallinfo2().uordblks - heap_before) / static_cast<double>(stats.facts),
        static_cast<double>(stats.memory_bytes) / static_cast<double>(stats.facts),
        static_cast<unsigned long long>(stats.facts),
        static_cast<unsigned long long>(stats.entities));
    return made;
  }();
  return *engine;
}

void Random(benchmark::State& state, FactOpKind kind) {
  Engine& engine = Filled();
  const auto batch = static_cast<size_t>(state.range(0));
  RandomOps random(7 + static_cast<uint64_t>(state.thread_index()));
  std::vector<FactOutcome> outcomes(batch);
  constexpr size_t kPrepared = 65536;
  size_t at = kPrepared;
  for (auto _ : state) {
    if (at + batch > kPrepared) {
      state.PauseTiming();
      random.Refill(kPrepared, kind);
      at = 0;
      state.ResumeTiming();
    }
    const Status status =
        engine.Apply(std::span(random.ops).subspan(at, batch), outcomes, Memory());
    if (!status.ok()) state.SkipWithError(status.ToString().c_str());
    at += batch;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void Hot(benchmark::State& state, FactOpKind kind) {
  Engine& engine = Filled();
  const auto batch = static_cast<size_t>(state.range(0));
  std::mt19937_64 rng(11 + static_cast<uint64_t>(state.thread_index()));
  std::vector<FactOp> ops(65536);
  for (FactOp& op : ops) op = FactOp{kind, {}, {"like", "hot", "1"}, rng() % kHotUsers};
  std::vector<FactOutcome> outcomes(batch);
  size_t at = 0;
  for (auto _ : state) {
    if (at + batch > ops.size()) at = 0;
    const Status status = engine.Apply(std::span(ops).subspan(at, batch), outcomes, Memory());
    if (!status.ok()) state.SkipWithError(status.ToString().c_str());
    at += batch;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void CountsOfRandom(benchmark::State& state) {
  Engine& engine = Filled();
  RandomOps random(13);
  random.Refill(65536, FactOpKind::kHas);
  size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(engine.GetCounts(random.ops[at].key.entity()));
    at = (at + 1) % random.ops.size();
  }
  state.SetItemsProcessed(state.iterations());
}

// Opening, and the first answer about one entity, of the filled directory.
void ColdFirstAnswer(benchmark::State& state) {
  const std::string copy = BenchDirectory() + "-copy";
  if (!Filled().Checkpoint().ok()) std::abort();
  for (auto _ : state) {
    state.PauseTiming();
    std::filesystem::remove_all(copy);
    std::filesystem::copy(BenchDirectory(), copy, std::filesystem::copy_options::recursive);
    state.ResumeTiming();
    auto engine = OpenAt(copy);
    benchmark::DoNotOptimize(engine->Has({"like", "article", "17"}, 1));
    state.PauseTiming();
    engine.reset();
    state.ResumeTiming();
  }
  std::filesystem::remove_all(copy);
}

void RingPushPop(benchmark::State& state) {
  Ring ring(1);
  std::vector<Event> out(256);
  Event event;
  for (auto _ : state) {
    for (size_t i = 0; i < out.size(); ++i) ring.Push(0, event);
    benchmark::DoNotOptimize(ring.Pop(out.data(), out.size()));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(out.size()));
}

BENCHMARK_CAPTURE(Random, set, FactOpKind::kSet)
    ->Arg(1)
    ->Arg(64)
    ->Threads(1)
    ->Threads(2)
    ->UseRealTime();
BENCHMARK_CAPTURE(Random, toggle, FactOpKind::kToggle)
    ->Arg(1)
    ->Arg(64)
    ->Threads(1)
    ->Threads(2)
    ->UseRealTime();
BENCHMARK_CAPTURE(Random, has, FactOpKind::kHas)
    ->Arg(1)
    ->Arg(64)
    ->Threads(1)
    ->Threads(2)
    ->UseRealTime();
BENCHMARK_CAPTURE(Hot, toggle, FactOpKind::kToggle)
    ->Arg(1)
    ->Arg(64)
    ->Threads(1)
    ->Threads(2)
    ->UseRealTime();
BENCHMARK_CAPTURE(Hot, has, FactOpKind::kHas)
    ->Arg(1)
    ->Arg(64)
    ->Threads(1)
    ->Threads(2)
    ->UseRealTime();
BENCHMARK(CountsOfRandom)->UseRealTime();
BENCHMARK(ColdFirstAnswer)->Iterations(3)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(RingPushPop);

}  // namespace
}  // namespace tallystick
