// What it costs to write and to read a journal batch, per event, and how many bytes an event takes:
// one hot entity, likes spread as Zipf's law has it, every like another entity; small numeric ids,
// 32-bit uids, 16 shards. The builder and the reader are warm, as in a running engine.
#include "engine/counts/schema.h"
#include "engine/counts/sds_record.h"
#include "engine/events/batch_codec.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tallystick {
namespace {

constexpr std::string_view kKey = "0123456789";
constexpr uint32_t kShards = 16;

enum Spread : int64_t { kHot, kZipf, kDistinct };

struct Workload {
  struct Entity {
    std::string eid;
    char padding[200];  // entities lie apart in memory, as an engine's do
  };
  std::vector<Entity> entities;
  std::vector<JournalEvent> events;  // shard by shard
  std::vector<const void*> identities;
};

// Ranks with probability proportional to 1/rank, as item popularity goes.
std::vector<double> ZipfCumulative(size_t ranks) {
  std::vector<double> sums(ranks);
  double sum = 0;
  for (size_t i = 0; i < ranks; ++i) sums[i] = sum += 1.0 / static_cast<double>(i + 1);
  for (double& s : sums) s /= sum;
  return sums;
}

Workload Make(Spread spread, size_t events) {
  std::mt19937_64 random(1);
  Workload w;
  const size_t entities = spread == kHot ? 1 : spread == kZipf ? 100000 : events;
  w.entities.resize(entities);
  for (size_t i = 0; i < entities; ++i) w.entities[i].eid = std::to_string(random() % 1000000);
  const std::vector<double> cumulative = ZipfCumulative(entities);
  std::vector<std::vector<size_t>> of_shard(kShards);
  for (size_t i = 0; i < events; ++i) {
    size_t entity = i;
    if (spread == kHot) entity = 0;
    if (spread == kZipf) {
      const double at = static_cast<double>(random() >> 11) / 9007199254740992.0;
      entity = static_cast<size_t>(std::lower_bound(cumulative.begin(), cumulative.end(), at) -
                                   cumulative.begin());
    }
    of_shard[(entity * 2654435761u >> 7) % kShards].push_back(entity);
  }
  for (uint32_t shard = 0; shard < kShards; ++shard) {
    uint64_t sequence = 1000000;
    for (const size_t entity : of_shard[shard]) {
      JournalEvent e;
      e.shard = shard;
      e.sequence = sequence++;
      e.uid = random() & UINT32_MAX;
      e.delta = random() % 8 == 0 ? -1 : 1;
      e.metric = random() % 4 == 0 ? "fav" : "like";
      e.label_any = 1;
      e.label_first = 1;
      e.etype = "article";
      e.eid = w.entities[entity].eid;
      w.events.push_back(e);
      w.identities.push_back(&w.entities[entity]);
    }
  }
  return w;
}

void Report(benchmark::State& state, size_t events, size_t bytes) {
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(events));
  state.counters["bytes/event"] = static_cast<double>(bytes) / static_cast<double>(events);
  state.counters["per_event"] = benchmark::Counter(
      static_cast<double>(events),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

std::string_view Encode(const Workload& w, BatchBuilder* builder) {
  builder->Begin(3, 123456789, 12, 1764547200000);
  for (size_t i = 0; i < w.events.size(); ++i) builder->Add(w.events[i], w.identities[i]);
  return builder->Finish(kKey);
}

void EncodeBatch(benchmark::State& state) {
  const Workload w = Make(static_cast<Spread>(state.range(0)), static_cast<size_t>(state.range(1)));
  BatchBuilder builder;
  size_t bytes = 0;
  for (auto _ : state) {
    bytes = Encode(w, &builder).size();
    benchmark::DoNotOptimize(bytes);
  }
  Report(state, w.events.size(), bytes);
}

void DecodeBatchOf(benchmark::State& state) {
  const Workload w = Make(static_cast<Spread>(state.range(0)), static_cast<size_t>(state.range(1)));
  BatchBuilder builder;
  const std::string value(Encode(w, &builder));
  BatchHeader header;
  std::vector<JournalEvent> events;
  for (auto _ : state) {
    if (!DecodeBatch(kKey, value, &header, &events).ok()) state.SkipWithError("refused");
    benchmark::DoNotOptimize(events.data());
  }
  Report(state, w.events.size(), value.size());
}

// Spread (0 hot, 1 Zipf, 2 distinct) x events in a batch.
const std::vector<std::vector<int64_t>> kBatches = {{kHot, kZipf, kDistinct}, {1, 64, 4096}};
BENCHMARK(EncodeBatch)->ArgsProduct(kBatches);
BENCHMARK(DecodeBatchOf)->ArgsProduct(kBatches);

CountRecord SampleRecord() {
  CountRecord record;
  record.sequence = 1234567;
  record.slots = 5;
  record.values = {1520, 33, 12, 4, 98231};
  record.counter_parts = {0, 0, 12, 4, 98231};
  return record;
}

void EncodeRecord(benchmark::State& state) {
  const CountRecord record = SampleRecord();
  for (auto _ : state) benchmark::DoNotOptimize(EncodeCountRecord(kKey, record));
  state.counters["bytes"] = static_cast<double>(EncodeCountRecord(kKey, record).size());
}
BENCHMARK(EncodeRecord);

void DecodeRecord(benchmark::State& state) {
  const std::string value = EncodeCountRecord(kKey, SampleRecord());
  for (auto _ : state) benchmark::DoNotOptimize(DecodeCountRecord(kKey, value, 5));
}
BENCHMARK(DecodeRecord);

void SchemaLookup(benchmark::State& state) {
  SchemaSpec spec = SchemaSpec::Default();
  for (const char* etype : {"article", "comment", "user", "video", "place"}) {
    spec.types.push_back(spec.types[0]);
    spec.types.back().etype = etype;
  }
  const Schema schema = Schema::Make(spec).value();
  for (auto _ : state) {
    benchmark::DoNotOptimize(schema.Slots("article").data());
    benchmark::DoNotOptimize(schema.Slots("unlisted").data());
  }
}
BENCHMARK(SchemaLookup);

}  // namespace
}  // namespace tallystick
