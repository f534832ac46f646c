// What the store costs on its own: opening after a kill, by what the log holds, and writing with
// and without fsyncs beside it. The directory is under TEST_TMPDIR or /tmp: point it at the disk to
// measure.

#include "engine/storage/rocks_store.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/temp_dir.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

namespace tallystick {
namespace {

// Failures of the dying process are expected.
class SilentLogger final : public Logger {
 public:
  void Write(LogLevel, std::string_view) override {}
};

std::unique_ptr<Store> Open(const std::string& dir,
                            std::shared_ptr<rocksdb::FileSystem> fs = nullptr) {
  RocksStoreOptions options;
  options.dir = dir;
  options.fs = std::move(fs);
  auto store = OpenRocksStore(options, Log(std::make_shared<SilentLogger>()));
  if (!store) std::abort();
  return std::move(*store);
}

std::string RandomBytes(size_t bytes) {
  std::mt19937_64 random(bytes);
  std::string value(bytes, '\0');
  for (char& c : value) c = static_cast<char>(random());
  return value;
}

// Writes `total` bytes of values of one size, as journal (in order) or as sets (scattered), a batch
// for each thousand bytes and more. Then the process dies, as far as the files can tell.
void WriteAndDie(const std::string& dir, uint64_t total, uint64_t value_bytes, bool journal) {
  const auto fs = std::make_shared<FaultFileSystem>(dir);
  auto store = Open(dir, fs);
  const auto batch = store->NewBatch();
  const std::string value = RandomBytes(value_bytes);
  const ColumnFamily cf = journal ? ColumnFamily::kJournal : ColumnFamily::kSets;
  const uint64_t values = total / value_bytes;
  for (uint64_t i = 0; i < values; ++i) {
    char key[24];
    const uint64_t number = journal ? i : i * 2'654'435'761u % 1'000'000'007;
    std::snprintf(key, sizeof key, "%02d%020llu", static_cast<int>(i % 16),
                  static_cast<unsigned long long>(number));
    batch->Put(cf, key, value);
    if (batch->bytes() < 1000 && i + 1 < values) continue;
    if (!store->Write(batch.get()).ok()) std::abort();
    batch->Clear();
  }
  fs->Stop();
  store.reset();
}

// Arguments: MB of values (0: an empty store), bytes of one value, whether it is journal.
void BM_OpenAfterKill(benchmark::State& state) {
  TempDir dir;
  WriteAndDie(dir / "killed", static_cast<uint64_t>(state.range(0)) << 20,
              static_cast<uint64_t>(state.range(1)), state.range(2) != 0);
  uint64_t wal_bytes = 0;
  for (auto _ : state) {
    std::filesystem::copy(dir / "killed", dir / "copy");
    const auto start = std::chrono::steady_clock::now();
    auto store = Open(dir / "copy");
    state.SetIterationTime(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    wal_bytes = store->GetStats().wal_bytes;
    store.reset();
    std::filesystem::remove_all(dir / "copy");
  }
  state.counters["wal_MB"] = static_cast<double>(wal_bytes) / (1 << 20);
}
BENCHMARK(BM_OpenAfterKill)
    ->Args({0, 1, 1})
    ->Args({1, 100, 0})
    ->Args({4, 100, 0})
    ->Args({16, 8192, 1})
    ->Args({32, 8192, 1})
    ->Args({64, 8192, 1})
    ->Args({16, 400, 1})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Argument: pause between fsyncs of another thread in ms; 0: none.
void BM_WriteJournal(benchmark::State& state) {
  TempDir dir;
  const auto store = Open(dir / "store");
  std::atomic<bool> stop{false};
  std::thread syncer;
  if (state.range(0) > 0) {
    syncer = std::thread([&] {
      while (!stop.load()) {
        if (!store->SyncWal().ok()) std::abort();
        std::this_thread::sleep_for(std::chrono::milliseconds(state.range(0)));
      }
    });
  }
  const auto batch = store->NewBatch();
  const std::string value = RandomBytes(4096);
  uint64_t number = 0;
  double slowest_ms = 0;
  for (auto _ : state) {
    batch->Clear();
    batch->Put(ColumnFamily::kJournal, std::to_string(1'000'000'000 + number++), value);
    const auto start = std::chrono::steady_clock::now();
    if (!store->Write(batch.get()).ok()) std::abort();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    slowest_ms = std::max(slowest_ms, took.count());
  }
  stop.store(true);
  if (syncer.joinable()) syncer.join();
  state.counters["slowest_ms"] = slowest_ms;
  state.SetBytesProcessed(static_cast<int64_t>(number * value.size()));
}
BENCHMARK(BM_WriteJournal)->Arg(0)->Arg(1000)->Arg(5)->UseRealTime();

}  // namespace
}  // namespace tallystick
