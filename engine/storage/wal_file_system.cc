#include "engine/storage/wal_file_system.h"

#include "engine/base/assert.h"
#include "engine/storage/fs_util.h"

#include <atomic>

namespace tallystick {

using rocksdb::FileOptions;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// An open log file, shared by RocksDB's handle and by who syncs it.
class SharedWal {
 public:
  explicit SharedWal(std::unique_ptr<FSWritableFile> file) : file_(std::move(file)) {}

  FSWritableFile* file() const { return file_.get(); }

  // After the bytes were handed over: a sync that sees the number has them.
  void NoteAppend() { appends_.fetch_add(1, std::memory_order_release); }

  IOStatus Sync() {
    MutexLock lock(mutex_);
    const uint64_t appends = appends_.load(std::memory_order_acquire);
    if (closed_ || appends == synced_appends_) return IOStatus::OK();
    const IOStatus status = file_->Sync(IOOptions(), nullptr);
    if (status.ok()) synced_appends_ = appends;
    return status;
  }
  // RocksDB closes a log file only when it is synced or needed no more.
  IOStatus Close(const IOOptions& options, IODebugContext* debug) {
    MutexLock lock(mutex_);
    closed_ = true;
    return file_->Close(options, debug);
  }

 private:
  const std::unique_ptr<FSWritableFile> file_;
  std::atomic<uint64_t> appends_{0};
  Mutex mutex_;
  uint64_t synced_appends_ TALLY_GUARDED_BY(mutex_) = 0;
  bool closed_ TALLY_GUARDED_BY(mutex_) = false;
};

namespace {

class WalFile final : public rocksdb::FSWritableFileWrapper {
 public:
  explicit WalFile(std::shared_ptr<SharedWal> wal)
      : FSWritableFileWrapper(wal->file()), wal_(std::move(wal)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    const IOStatus status = target()->Append(data, options, debug);
    wal_->NoteAppend();
    return status;
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& verification,
                  IODebugContext* debug) override {
    const IOStatus status = target()->Append(data, options, verification, debug);
    wal_->NoteAppend();
    return status;
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override { return wal_->Sync(); }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return wal_->Sync(); }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    return wal_->Close(options, debug);
  }

 private:
  const std::shared_ptr<SharedWal> wal_;
};

IOStatus FsyncDirectory(rocksdb::FileSystem* fs, const std::string& dir) {
  std::unique_ptr<rocksdb::FSDirectory> handle;
  IOStatus status = fs->NewDirectory(dir, IOOptions(), &handle, nullptr);
  if (status.ok()) status = handle->Fsync(IOOptions(), nullptr);
  if (status.ok()) status = handle->Close(IOOptions(), nullptr);
  return status;
}

}  // namespace

WalFileSystem::WalFileSystem(std::shared_ptr<rocksdb::FileSystem> real)
    : FileSystemWrapper(std::move(real)) {}

WalFileSystem::~WalFileSystem() = default;

IOStatus WalFileSystem::SyncWal() {
  MutexLock lock(mutex_);
  return SyncNewest();
}

IOStatus WalFileSystem::SyncNewest() {
  if (!failure_.ok() || newest_ == nullptr) return failure_;
  failure_ = newest_->Sync();
  if (failure_.ok() && !newest_name_is_durable_) {
    failure_ = FsyncDirectory(target_.get(), newest_dir_);
    newest_name_is_durable_ = failure_.ok();
  }
  return failure_;
}

IOStatus WalFileSystem::NewWritableFile(const std::string& path, const FileOptions& options,
                                        std::unique_ptr<FSWritableFile>* result,
                                        IODebugContext* debug) {
  if (!IsWalName(path)) return target_->NewWritableFile(path, options, result, debug);
  MutexLock lock(mutex_);
  IOStatus status = SyncNewest();
  std::unique_ptr<FSWritableFile> file;
  if (status.ok()) status = target_->NewWritableFile(path, options, &file, debug);
  if (!status.ok()) return status;
  newest_ = std::make_shared<SharedWal>(std::move(file));
  newest_dir_ = ParentDirectory(path);
  newest_name_is_durable_ = false;
  *result = std::make_unique<WalFile>(newest_);
  return status;
}

IOStatus WalFileSystem::ReuseWritableFile(const std::string& path, const std::string&,
                                          const FileOptions&, std::unique_ptr<FSWritableFile>*,
                                          IODebugContext*) {
  return IOStatus::NotSupported("reuse of " + path);
}

}  // namespace tallystick
