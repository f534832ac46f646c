#include "engine/storage/rocks_db.h"

#include "engine/base/assert.h"
#include "engine/storage/fs_util.h"
#include "engine/storage/rocks_options.h"
#include "engine/storage/rocks_status.h"
#include "engine/storage/wal_file_system.h"

#include <rocksdb/listener.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tallystick {
namespace {

constexpr int kBlockCacheShardBits = 4;

void LogDamage(const Log& log, const std::string& damage) {
  log.Error(
      "a table file is damaged: what it holds is refused, all else is served, and nothing is "
      "compacted any more; restore it from a backup (" +
      damage + ")");
}

// Hears of failed flushes and compactions before a writer does.
class ErrorListener final : public rocksdb::EventListener {
 public:
  ErrorListener(std::shared_ptr<WriteGate> gate, std::shared_ptr<CompactionGate> compaction,
                const Log& log)
      : gate_(std::move(gate)), compaction_(std::move(compaction)), log_(log) {}

  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override {
    if (reason == rocksdb::BackgroundErrorReason::kCompaction && error->IsCorruption()) {
      // Nothing was changed by it: what stood before stands, and so do writes.
      if (compaction_->Close()) LogDamage(log_, error->ToString());
      *error = rocksdb::Status::OK();
      return;
    }
    const Status status = TranslateStatus(*error, "background work of RocksDB");
    if (!StopsWrites(*error)) {
      log_.Warn(status.ToString());
    } else if (gate_->Close(status)) {
      log_.Error("writes stop: " + status.ToString());
    }
  }

  // A failed compaction may be tried again (data and journal are intact); a failed write may not.
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status error,
                            bool* auto_recovery) override {
    if (StopsWrites(error)) *auto_recovery = false;
  }

 private:
  static bool StopsWrites(const rocksdb::Status& error) {
    return error.severity() >= rocksdb::Status::Severity::kHardError;
  }

  const std::shared_ptr<WriteGate> gate_;
  const std::shared_ptr<CompactionGate> compaction_;
  const Log log_;
};

// Recovery keeps what it replays in memory and leaves the old log files as they are, and RocksDB
// never fsyncs those again: after a second crash, this time of power, newer log files would follow
// a hole.
Status SyncLogsOfEarlierProcess(rocksdb::FileSystem* fs, const std::string& dir) {
  std::vector<std::string> names;
  const rocksdb::IOStatus listed = fs->GetChildren(dir, rocksdb::IOOptions(), &names, nullptr);
  if (!listed.ok()) return TranslateStatus(listed, "listing of " + dir);
  bool any = false;
  for (const std::string& name : names) {
    if (!WalFileSystem::IsWalName(name)) continue;
    Status status = SyncFile(fs, dir + "/" + name);
    if (!status.ok()) return status;
    any = true;
  }
  return any ? SyncDirectory(fs, dir) : Status();
}

Status PrepareDirectory(rocksdb::FileSystem* fs, const RocksStoreOptions& options) {
  const rocksdb::IOOptions io;
  if (fs->FileExists(options.dir, io, nullptr).ok()) {
    return SyncLogsOfEarlierProcess(fs, options.dir);
  }
  if (!options.create_if_missing) {
    return Status::Error(StatusCode::kInvalidArgument, options.dir + " does not exist");
  }
  const rocksdb::IOStatus made = fs->CreateDirIfMissing(options.dir, io, nullptr);
  if (!made.ok()) return TranslateStatus(made, "creation of " + options.dir);
  return SyncDirectory(fs, ParentDirectory(options.dir));
}

bool IsKnownFamily(const std::string& name) {
  if (name == rocksdb::kDefaultColumnFamilyName) return true;
  for (size_t i = 0; i < kColumnFamilies; ++i) {
    if (name == ColumnFamilyName(static_cast<ColumnFamily>(i))) return true;
  }
  return false;
}

// RocksDB refuses to open when a column family is not named by the caller: a newer version made it.
// It also calls a failing disk an invalid argument ("options incompatible with filesystem").
Status ExplainRefusal(const rocksdb::Status& refusal, const rocksdb::DBOptions& options,
                      const std::string& dir) {
  if (!refusal.IsInvalidArgument()) return TranslateStatus(refusal, "open of " + dir);
  std::vector<std::string> families;
  if (rocksdb::DB::ListColumnFamilies(options, dir, &families).ok()) {
    const auto unknown = std::find_if_not(families.begin(), families.end(), IsKnownFamily);
    if (unknown != families.end()) {
      return Status::Error(
          StatusCode::kUnsupportedFormat,
          dir + " has a column family " + Escaped(*unknown) + ", which this version does not know");
    }
  }
  const bool absent = options.env->FileExists(dir + "/CURRENT").IsNotFound();
  return Status::Error(absent ? StatusCode::kInvalidArgument : StatusCode::kIoError,
                       "open of " + dir + ": " + refusal.ToString());
}

}  // namespace

RocksDb::RocksDb(const RocksStoreOptions& options, const Log& log)
    : dir_(options.dir),
      log_(log),
      fs_(std::make_shared<WalFileSystem>(FileSystemOrDefault(options.fs))),
      env_(std::make_shared<CompactionGate>(rocksdb::NewCompositeEnv(fs_))),
      gate_(std::make_shared<WriteGate>()),
      cache_(rocksdb::NewLRUCache(options.block_cache_bytes, kBlockCacheShardBits)) {}

RocksDb::~RocksDb() {
  CloseDatabase();
}

void RocksDb::CloseDatabase() {
  if (db_ == nullptr) return;
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  db_->DestroyColumnFamilyHandle(default_handle_).PermitUncheckedError();
  // What had to be durable was synced by SyncWal; a failing close changes nothing on disk.
  db_->Close().PermitUncheckedError();
  db_.reset();
}

Status RocksDb::OpenDatabase(const RocksStoreOptions& options, Damage damage, const Log& log) {
  const rocksdb::DBOptions db_options =
      MakeDbOptions(options, damage, env_.get(), std::make_shared<ErrorListener>(gate_, env_, log));
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (size_t i = 0; i < kColumnFamilies; ++i) {
    const auto cf = static_cast<ColumnFamily>(i);
    families.emplace_back(std::string(ColumnFamilyName(cf)),
                          MakeColumnFamilyOptions(cf, options, damage, cache_));
  }
  // RocksDB insists on it; it stays empty.
  families.emplace_back(rocksdb::kDefaultColumnFamilyName,
                        MakeColumnFamilyOptions(ColumnFamily::kMeta, options, damage, cache_));

  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened = rocksdb::DB::Open(db_options, dir_, families, &handles, &db);
  if (!opened.ok()) return ExplainRefusal(opened, db_options, dir_);
  TALLY_ASSERT(handles.size() == kColumnFamilies + 1);
  db_.reset(db);
  std::copy_n(handles.begin(), kColumnFamilies, handles_.begin());
  default_handle_ = handles.back();

  AssertDbOptions(db_->GetDBOptions(), damage);
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    AssertColumnFamilyOptions(db_->GetOptions(handle));
  }
  // Compaction yields to everybody. Best effort: the pool is the process's, a sandbox may refuse.
  env_->LowerThreadPoolCPUPriority(rocksdb::Env::Priority::LOW, rocksdb::CpuPriority::kLow)
      .PermitUncheckedError();
  return Status();
}

Status RocksDb::OpenAroundDamage(const RocksStoreOptions& options, const Status& damage,
                                 const Log& log) {
  if (!OpenDatabase(options, Damage::kServeAround, log).ok()) return damage;
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  for (const rocksdb::LiveFileMetaData& file : files) {
    if (env_->FileExists(dir_ + "/" + file.relative_filename).ok()) continue;
    CloseDatabase();
    return damage;
  }
  log.Error(
      "opened around damaged files, without compaction: what they hold is refused, all else is "
      "served; restore them from a backup (" +
      std::string(damage.message()) + ")");
  return Status();
}

bool RocksDb::Tend() {
  constexpr size_t kFilesPerPiece = 16;
  if (!std::exchange(listed_files_, true)) {
    std::vector<rocksdb::LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    for (const rocksdb::LiveFileMetaData& file : files) {
      unseen_files_.push_back(dir_ + "/" + file.relative_filename);
    }
  }
  for (size_t i = 0; i < kFilesPerPiece && !unseen_files_.empty(); ++i) {
    LookInto(unseen_files_.back());
    unseen_files_.pop_back();
  }
  if (!unseen_files_.empty()) return true;
  env_->Open();
  if (env_->closed() && !std::exchange(ended_compaction_, true)) {
    // Else the number of files would hold writers up.
    for (rocksdb::ColumnFamilyHandle* handle : handles_) {
      Change(handle, "disable_auto_compactions", "true");
    }
  }
  // Queues behind writers, so it comes when compaction no longer keeps them.
  if (!std::exchange(opened_many_files_, true)) {
    Change(nullptr, "max_open_files", std::to_string(kOpenFilesMax));
  }
  return false;
}

bool RocksDb::SlowsWritersSoon() const {
  return std::any_of(handles_.begin(), handles_.end(), [this](rocksdb::ColumnFamilyHandle* handle) {
    std::string files;
    return db_->GetProperty(handle, rocksdb::DB::Properties::kNumFilesAtLevelPrefix + "0",
                            &files) &&
           std::stoi(files) >= kLevel0FilesSlow / 2;
  });
}

void RocksDb::LookInto(const std::string& table_file) {
  rocksdb::Options options;
  options.env = env_.get();
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  const rocksdb::Status status = rocksdb::SstFileReader(options).Open(table_file);
  if (!status.IsCorruption()) return;
  env_->Close();
  LogDamage(log_, table_file + ": " + status.ToString());
}

void RocksDb::Change(rocksdb::ColumnFamilyHandle* family, const char* option,
                     const std::string& value) {
  const rocksdb::Status status = family == nullptr ? db_->SetDBOptions({{option, value}})
                                                   : db_->SetOptions(family, {{option, value}});
  if (!status.ok()) log_.Warn(std::string(option) + " stays as it is: " + status.ToString());
}

Result<std::unique_ptr<RocksDb>> RocksDb::Open(const RocksStoreOptions& options, const Log& log) {
  TALLY_ASSERT(options.wal_bytes_max > 0 && options.memtable_bytes_max > 0);
  TALLY_ASSERT(options.background_jobs >= 1);
  std::unique_ptr<RocksDb> opened(new RocksDb(options, log));
  Status status = PrepareDirectory(opened->fs_.get(), options);
  if (status.ok()) status = opened->OpenDatabase(options, Damage::kRefuse, log);
  if (status.code() == StatusCode::kCorruption) {
    status = opened->OpenAroundDamage(options, status, log);
  }
  if (!status.ok()) return Fail(std::move(status));
  // Writers would soon wait for compaction, and whoever lets it go perhaps for them.
  if (opened->SlowsWritersSoon()) {
    while (opened->Tend()) continue;
  }
  return opened;
}

}  // namespace tallystick
