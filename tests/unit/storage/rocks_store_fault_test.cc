// Proves what the store on RocksDB promises when disks fail, processes die and power is lost: what
// SyncWal had returned for survives, what is found is a prefix of the writes over all column
// families, what is found is durable, a failed change is the last one until the store is opened
// again, and journal that has vanished below the watermark can be told. The model is the list of
// batches; the machine is simulated.

#include "engine/storage/rocks_store.h"
#include "engine/storage/watermark.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <thread>

namespace tallystick {
namespace {

using Contents = std::array<std::map<std::string, std::string>, kColumnFamilies>;
constexpr char kLastKey[] = "last";
constexpr char kUnloggedKey[] = "unlogged";  // in kCounts

// Set where the suite of long tests asks for more crashes and for every call. A crash that meets a
// background flush costs a second: RocksDB sleeps after the failure.
const char* const kLongCycles = std::getenv("TALLYSTICK_CRASH_CYCLES");

uint64_t Cycles() {
  return kLongCycles != nullptr ? std::strtoull(kLongCycles, nullptr, 10) : 6;
}

class SilentLogger final : public Logger {
 public:
  void Write(LogLevel, std::string_view) override {}
};

Contents Read(Store* store) {
  Contents contents;
  for (size_t i = 0; i < kColumnFamilies; ++i) {
    const auto iterator = store->NewIterator(static_cast<ColumnFamily>(i), "", "");
    for (iterator->Seek(""); iterator->Valid(); iterator->Next()) {
      contents[i].emplace(iterator->key(), iterator->value());
    }
    EXPECT_TRUE(iterator->status().ok()) << iterator->status().ToString();
  }
  return contents;
}

// The first key on which the two disagree, shortened; empty when there is none.
std::string Difference(const std::map<std::string, std::string>& found,
                       const std::map<std::string, std::string>& expected) {
  const auto describe = [](const auto& map, const std::string& key) {
    const auto it = map.find(key);
    if (it == map.end()) return std::string("absent");
    return std::to_string(it->second.size()) + " bytes of " + it->second.substr(0, 8);
  };
  std::string all;
  std::map<std::string, std::string> both = expected;
  both.insert(found.begin(), found.end());
  for (const auto& [key, unused] : both) {
    const std::string is = describe(found, key), should = describe(expected, key);
    if (is != should) all += key + " is " + is + ", should be " + should + "; ";
  }
  return all;
}

// A store on a simulated machine, and what it must hold: batch n also sets kLastKey to n, so the
// contents found say which prefix of the batches they must equal.
class RocksStoreFaultTest : public testing::Test {
 protected:
  struct Change {
    ColumnFamily cf;
    std::string key;
    std::optional<std::string> value;
  };
  using Batch = std::vector<Change>;

  RocksStoreFaultTest() : fs_(std::make_shared<FaultFileSystem>(dir_.path())) {}

  Status TryOpen() {
    store_.reset();
    RocksStoreOptions options;
    options.dir = dir_ / "rocksdb";
    options.fs = fs_;
    options.memtable_bytes_max = 256u << 10;  // so that flushes and compactions happen
    options.wal_bytes_max = 512u << 10;
    auto opened = OpenRocksStore(options, Log(std::make_shared<SilentLogger>()));
    if (!opened) return opened.error();
    store_ = std::move(*opened);
    return Status();
  }
  void Open() {
    const Status status = TryOpen();
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  // Batch number written() + 1. It is in the model whether it succeeds or not.
  Status Write(const Batch& changes) {
    Batch batch = changes;
    batch.push_back({ColumnFamily::kMeta, kLastKey, std::to_string(written() + 1)});
    const auto rocks_batch = store_->NewBatch();
    for (const Change& change : batch) {
      if (change.value) {
        rocks_batch->Put(change.cf, change.key, *change.value);
      } else {
        rocks_batch->Delete(change.cf, change.key);
      }
    }
    batches_.push_back(std::move(batch));
    const Status status = store_->Write(rocks_batch.get());
    if (status.ok()) acknowledged_ = written();
    return status;
  }
  Status WriteOne(const std::string& key, const std::string& value) {
    return Write({{ColumnFamily::kJournal, key, value}});
  }
  // Says that batch written() is there, as a count record says it of the journal.
  Status WriteUnlogged() {
    const auto batch = store_->NewBatch();
    batch->Put(ColumnFamily::kCounts, kUnloggedKey, std::to_string(written()));
    return store_->WriteUnlogged(batch.get());
  }
  Status WriteRandom() {
    Batch batch;
    for (uint64_t n = 1 + Draw(4); n > 0; --n) {
      const auto cf = static_cast<ColumnFamily>(Draw(kColumnFamilies));
      const std::string key = "k" + std::to_string(Draw(200));
      if (Draw(5) == 0) {
        batch.push_back({cf, key, std::nullopt});
      } else {
        const std::string number = std::to_string(written() + 1);
        batch.push_back({cf, key, number + std::string(Draw(3000), ' ')});
      }
    }
    return Write(batch);
  }
  Status Sync() {
    const uint64_t before = written();
    const Status status = store_->SyncWal();
    if (status.ok()) synced_ = before;
    return status;
  }

  // The process dies; with `power`, the machine too.
  void Crash(bool power, uint64_t seed) {
    fs_->Stop();
    store_.reset();
    fs_->ClearFaults();
    if (power) {
      fs_->PowerLoss(seed);
      acknowledged_ = synced_;
    } else {
      fs_->Restart();
    }
  }

  // Reads everything; the contents must be those after one of the batches from the last that must
  // have survived to the last that was tried. That one is the end of the model from now on.
  void ExpectPrefix() {
    Contents found = Read(store_.get());
    const auto& meta = found[static_cast<size_t>(ColumnFamily::kMeta)];
    const uint64_t last = meta.contains(kLastKey) ? std::stoull(meta.at(kLastKey)) : 0;
    ASSERT_GE(last, acknowledged_);
    ASSERT_LE(last, written());
    auto& counts = found[static_cast<size_t>(ColumnFamily::kCounts)];
    const auto unlogged = counts.find(kUnloggedKey);
    if (unlogged != counts.end()) {
      ASSERT_LE(std::stoull(unlogged->second), last);  // never ahead of the log
      counts.erase(unlogged);
    }
    while (base_ < last) {
      for (const Change& change : batches_[base_ - first_]) Apply(change);
      ++base_;
    }
    batches_.clear();
    first_ = base_;
    for (size_t i = 0; i < kColumnFamilies; ++i) {
      ASSERT_EQ(Difference(found[i], state_[i]), "")
          << ColumnFamilyName(static_cast<ColumnFamily>(i));
    }
    synced_ = acknowledged_ = last;  // opening makes durable what it finds
  }

  void Apply(const Change& change) {
    auto& map = state_[static_cast<size_t>(change.cf)];
    if (change.value) {
      map[change.key] = *change.value;
    } else {
      map.erase(change.key);
    }
  }
  uint64_t written() const { return first_ + batches_.size(); }
  uint64_t Draw(uint64_t below) { return random_() % below; }
  std::vector<std::string> FilesOf(const std::string& extension) const {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(dir_ / "rocksdb")) {
      if (entry.path().extension() == extension) paths.push_back(entry.path());
    }
    return paths;
  }

  TempDir dir_;
  std::shared_ptr<FaultFileSystem> fs_;
  std::unique_ptr<Store> store_;
  std::mt19937_64 random_;

  Contents state_;                 // after batch base_
  uint64_t base_ = 0, first_ = 0;  // batches_[0] is number first_ + 1
  std::vector<Batch> batches_;
  uint64_t acknowledged_ = 0;  // survives the next crash
  uint64_t synced_ = 0;        // survives a power loss
};

TEST_F(RocksStoreFaultTest, CrashLoopFindsAPrefixThatHoldsWhatWasSynced) {
  const uint64_t seed = TestSeed(1);
  random_.seed(seed);
  for (uint64_t cycle = 0; cycle < Cycles(); ++cycle) {
    SCOPED_TRACE("cycle " + std::to_string(cycle));
    Open();
    ASSERT_NO_FATAL_FAILURE(ExpectPrefix());
    for (uint64_t steps = Draw(150); steps > 0; --steps) {
      const uint64_t action = Draw(40);
      if (action == 0) {
        ASSERT_TRUE(store_->Flush().ok());
      } else if (action <= 4) {
        ASSERT_TRUE(WriteUnlogged().ok());
        if (action == 4) {
          ASSERT_TRUE(store_->FlushFamily(ColumnFamily::kCounts).ok());
        }
      } else if (action <= 6) {
        ASSERT_TRUE(Sync().ok());
      } else {
        ASSERT_TRUE(WriteRandom().ok());
      }
    }
    Crash(/*power=*/Draw(10) < 7, seed * 1000 + cycle);
  }
  Open();
  ExpectPrefix();
}

TEST_F(RocksStoreFaultTest, SyncBesideWritersCoversWhatWasWrittenBefore) {
  const uint64_t seed = TestSeed(2);
  random_.seed(seed);
  for (uint64_t cycle = 0; cycle < Cycles(); ++cycle) {
    SCOPED_TRACE("cycle " + std::to_string(cycle));
    Open();
    ASSERT_NO_FATAL_FAILURE(ExpectPrefix());
    std::atomic<uint64_t> returned{written()}, covered{0};
    std::atomic<bool> done{false};
    std::thread syncer([&] {
      while (!done.load()) {
        const uint64_t before = returned.load();
        if (store_->SyncWal().ok()) covered.store(before);
      }
    });
    for (uint64_t steps = 50 + Draw(300); steps > 0; --steps) {
      EXPECT_TRUE(WriteRandom().ok());
      returned.store(written());
    }
    fs_->Stop();
    done.store(true);
    syncer.join();
    synced_ = std::max(synced_, covered.load());
    Crash(/*power=*/true, seed * 1000 + cycle);
  }
  Open();
  ExpectPrefix();
}

// The script of the exhaustive loops. Any failure ends it.
Status Script(const std::function<Status()>& open, const std::function<Status(int)>& write,
              const std::function<Status()>& sync, const std::function<Status()>& flush) {
  Status status = open();
  for (int i = 0; status.ok() && i < 12; ++i) {
    status = write(i);
    if (status.ok() && i % 4 == 3) status = sync();
    if (status.ok() && i == 6) status = flush();
  }
  return status;
}

// Every call in the long form; otherwise calls of all stages, chosen by the seed.
TEST_F(RocksStoreFaultTest, EveryCallMayFailOnceAndNothingPromisedIsLost) {
  const uint64_t seed = TestSeed(4);
  random_.seed(seed);
  uint64_t runs = 0;
  for (const FaultCall call : {FaultCall::kAppend, FaultCall::kSync, FaultCall::kOpen,
                               FaultCall::kRename, FaultCall::kRead}) {
    bool fired = true;
    for (uint64_t nth = 1; fired;
         nth += kLongCycles != nullptr ? 1 : 3 + Draw(1 + 2 * nth), ++runs) {
      SCOPED_TRACE("call " + std::to_string(static_cast<int>(call)) + " number " +
                   std::to_string(nth));
      const uint64_t fired_before = fs_->fired();
      fs_->Arm({.call = call,
                .nth = nth,
                .error = nth % 2 == 0 ? FaultError::kEio : FaultError::kNoSpace});
      const Status status =
          Script([this] { return TryOpen(); },
                 [this](int i) { return WriteOne("k" + std::to_string(i), std::string(500, 'v')); },
                 [this] { return Sync(); }, [this] { return store_->Flush(); });
      fired = fs_->fired() > fired_before;
      if (!status.ok()) {
        EXPECT_TRUE(fired);
        EXPECT_TRUE(status.code() == StatusCode::kIoError || status.code() == StatusCode::kReadOnly)
            << status.ToString();
      }
      Crash(/*power=*/true, nth);
      Open();
      ASSERT_NO_FATAL_FAILURE(ExpectPrefix());
      Crash(/*power=*/false, 0);
    }
  }
  EXPECT_GT(runs, 10u);
}

TEST_F(RocksStoreFaultTest, FailedLogWriteOrSyncIsTheLastChangeUntilReopened) {
  for (const FaultCall call : {FaultCall::kAppend, FaultCall::kSync}) {
    for (const FaultError error : {FaultError::kEio, FaultError::kNoSpace}) {
      Open();
      ASSERT_NO_FATAL_FAILURE(ExpectPrefix());
      ASSERT_TRUE(WriteOne("before", "1").ok());
      fs_->Arm({.call = call, .error = error, .path_contains = ".log"});
      Status status = WriteOne("during", "2");
      if (call == FaultCall::kSync) {
        ASSERT_TRUE(status.ok());
        status = Sync();
      }
      EXPECT_EQ(status.code(), StatusCode::kIoError) << status.ToString();
      EXPECT_NE(status.message().find(dir_ / "rocksdb"), std::string_view::npos);
      // The disk is well again, but the store must not believe it.
      const uint64_t tried = written();
      EXPECT_EQ(WriteOne("after", "3").code(), StatusCode::kReadOnly);
      batches_.resize(tried - first_);  // refused, so not in doubt
      EXPECT_EQ(store_->SyncWal().code(), StatusCode::kReadOnly);
      EXPECT_EQ(store_->Flush().code(), StatusCode::kReadOnly);
      EXPECT_EQ(store_->DropRange(ColumnFamily::kJournal, "", "").code(), StatusCode::kReadOnly);
      EXPECT_TRUE(store_->GetStats().write_stopped);
      std::string value;
      bool found = false;
      ASSERT_TRUE(store_->Get(ColumnFamily::kJournal, "before", &value, &found).ok());
      EXPECT_TRUE(found);
      Crash(/*power=*/false, 0);
    }
  }
  Open();
  ExpectPrefix();
  EXPECT_TRUE(WriteOne("again", "4").ok());
}

TEST_F(RocksStoreFaultTest, FullDiskStopsWritesAndReopeningWithSpaceGoesOn) {
  Open();
  fs_->SetQuota(20'000);
  Status status;
  while (status.ok()) status = WriteOne("k" + std::to_string(written()), std::string(1000, 'v'));
  EXPECT_EQ(status.code(), StatusCode::kIoError) << status.ToString();
  EXPECT_NE(status.message().find("space"), std::string_view::npos) << status.ToString();
  const uint64_t tried = written();
  EXPECT_EQ(WriteOne("later", "v").code(), StatusCode::kReadOnly);
  batches_.resize(tried - first_);
  Crash(/*power=*/false, 0);  // clears the quota
  Open();
  ASSERT_NO_FATAL_FAILURE(ExpectPrefix());
  EXPECT_TRUE(WriteOne("later", "v").ok());
}

TEST_F(RocksStoreFaultTest, FailedFlushStopsWritesButNotReads) {
  Open();
  ASSERT_TRUE(WriteOne("a", "1").ok());
  fs_->Arm({.call = FaultCall::kAppend, .path_contains = ".sst"});
  EXPECT_EQ(store_->Flush().code(), StatusCode::kIoError);
  EXPECT_EQ(WriteOne("b", "2").code(), StatusCode::kReadOnly);
  batches_.pop_back();
  std::string value;
  bool found = false;
  ASSERT_TRUE(store_->Get(ColumnFamily::kJournal, "a", &value, &found).ok());
  EXPECT_EQ(value, "1");
  Crash(/*power=*/false, 0);
  Open();
  ExpectPrefix();
}

TEST_F(RocksStoreFaultTest, FailedReadIsAnErrorOfThatReadOnly) {
  Open();
  ASSERT_TRUE(WriteOne("a", "1").ok());
  ASSERT_TRUE(store_->Flush().ok());
  ASSERT_TRUE(TryOpen().ok());  // nothing cached
  fs_->Arm({.call = FaultCall::kRead, .path_contains = ".sst"});
  std::string value;
  bool found = false;
  EXPECT_EQ(store_->Get(ColumnFamily::kJournal, "a", &value, &found).code(), StatusCode::kIoError);
  ASSERT_TRUE(store_->Get(ColumnFamily::kJournal, "a", &value, &found).ok());
  EXPECT_EQ(value, "1");
  EXPECT_TRUE(WriteOne("b", "2").ok());
}

TEST_F(RocksStoreFaultTest, DamagedBlockIsCorruption) {
  Open();
  ASSERT_TRUE(WriteOne("a", std::string(1000, 'x')).ok());
  ASSERT_TRUE(store_->Flush().ok());
  store_.reset();
  int journal_files = 0;
  for (const std::string& path : FilesOf(".sst")) {
    std::string bytes;
    ASSERT_TRUE(ReadFileToString(fs_.get(), path, &bytes).ok());
    bytes[0] = static_cast<char>(bytes[0] ^ 1);  // the first data block
    ASSERT_TRUE(WriteStringToFile(fs_.get(), bytes, path, true).ok());
    ++journal_files;
  }
  ASSERT_GE(journal_files, 1);
  Open();
  std::string value;
  bool found = false;
  const Status status = store_->Get(ColumnFamily::kJournal, "a", &value, &found);
  EXPECT_EQ(status.code(), StatusCode::kCorruption) << status.ToString();
  EXPECT_NE(status.message().find("journal"), std::string_view::npos);
}

// What the engine does with the watermark: written after a good SyncWal, compared on opening.
TEST_F(RocksStoreFaultTest, WatermarkNeverClaimsMoreThanSurvives) {
  const uint64_t seed = TestSeed(3);
  random_.seed(seed);
  uint64_t proven = 0;  // the last watermark that was itself fsynced
  for (uint64_t cycle = 0; cycle < Cycles(); ++cycle) {
    SCOPED_TRACE("cycle " + std::to_string(cycle));
    Open();
    ASSERT_NO_FATAL_FAILURE(ExpectPrefix());
    bool found = false;
    WatermarkState state;
    auto watermark = Watermark::Open(fs_, dir_.path(), &found, &state);
    ASSERT_TRUE(watermark) << watermark.error().ToString();
    const uint64_t claimed = found ? state.durable_offsets.at(0) : 0;
    EXPECT_LE(claimed, written());
    EXPECT_GE(claimed, proven);
    proven = claimed;  // opening fsyncs the file
    for (uint64_t steps = Draw(60); steps > 0; --steps) {
      ASSERT_TRUE(WriteRandom().ok());
      if (Draw(4) != 0) continue;
      ASSERT_TRUE(Sync().ok());
      state.durable_offsets = {synced_};
      const bool sync = Draw(3) == 0;
      ASSERT_TRUE((*watermark)->Write(state, sync).ok());
      if (sync) proven = synced_;
    }
    fs_->Stop();
    watermark->reset();
    Crash(/*power=*/Draw(10) < 7, seed * 1000 + cycle);
  }
}

// Damage to the log that RocksDB mostly finds nothing wrong with.
class LostJournalTest : public RocksStoreFaultTest {
 protected:
  // Fifty fsynced batches under a watermark that says so, closed; `damage` is done to each log
  // file.
  void ExpectLossIsTold(const std::function<void(const std::string& path)>& damage) {
    Open();
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(WriteOne(std::to_string(i), std::string(500, 'v')).ok());
    }
    ASSERT_TRUE(Sync().ok());
    bool found = false;
    WatermarkState state;
    {
      auto watermark = Watermark::Open(fs_, dir_.path(), &found, &state);
      ASSERT_TRUE(watermark);
      state.durable_offsets = {synced_};
      ASSERT_TRUE((*watermark)->Write(state, true).ok());
    }
    store_.reset();
    for (const std::string& path : FilesOf(".log")) damage(path);
    const Status opened = TryOpen();
    if (!opened.ok()) {  // a flush beforehand made files that are ahead of the log
      EXPECT_EQ(opened.code(), StatusCode::kCorruption) << opened.ToString();
      return;
    }
    std::string last;
    ASSERT_TRUE(store_->Get(ColumnFamily::kMeta, kLastKey, &last, &found).ok());
    ASSERT_TRUE(Watermark::Open(fs_, dir_.path(), &found, &state));
    EXPECT_LT(last.empty() ? 0 : std::stoull(last), state.durable_offsets.at(0));
  }
};

TEST_F(LostJournalTest, CutFileIsBelowTheWatermark) {
  ExpectLossIsTold([](const std::string& path) {
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  });
}

TEST_F(LostJournalTest, MissingFileIsBelowTheWatermark) {
  ExpectLossIsTold([](const std::string& path) { std::filesystem::remove(path); });
}

TEST_F(RocksStoreFaultTest, FailedWatermarkWriteIsTheLast) {
  bool found = false;
  WatermarkState state;
  auto watermark = Watermark::Open(fs_, dir_.path(), &found, &state);
  ASSERT_TRUE(watermark);
  state.durable_offsets = {1};
  fs_->Arm({.call = FaultCall::kSync, .path_contains = "WATERMARK"});
  EXPECT_TRUE((*watermark)->Write(state, false).ok());
  EXPECT_EQ((*watermark)->Write(state, true).code(), StatusCode::kIoError);
  EXPECT_EQ((*watermark)->Write(state, true).code(), StatusCode::kIoError);
}

TEST_F(RocksStoreFaultTest, WatermarkCreationMayFailAtEveryCall) {
  for (const FaultCall call :
       {FaultCall::kOpen, FaultCall::kAppend, FaultCall::kSync, FaultCall::kRename}) {
    bool fired = true;
    for (uint64_t nth = 1; fired; ++nth) {
      std::filesystem::remove(dir_ / "WATERMARK");
      const uint64_t fired_before = fs_->fired();
      fs_->Arm({.call = call, .nth = nth});
      bool found = true;
      WatermarkState state;
      const auto failing = Watermark::Open(fs_, dir_.path(), &found, &state);
      fired = fs_->fired() > fired_before;
      EXPECT_EQ(!failing, fired);
      fs_->Stop();
      fs_->ClearFaults();
      if (!failing) fs_->PowerLoss(nth);
      fs_->Restart();
      const auto opened = Watermark::Open(fs_, dir_.path(), &found, &state);
      ASSERT_TRUE(opened) << opened.error().ToString();
      EXPECT_FALSE(found);
    }
  }
}

}  // namespace
}  // namespace tallystick
