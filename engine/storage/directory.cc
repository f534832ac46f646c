#include "engine/storage/directory.h"

#include "engine/base/assert.h"
#include "engine/base/file_mode.h"
#include "engine/storage/fs_util.h"
#include "engine/storage/rocks_status.h"

#include <rocksdb/file_system.h>

#include <cerrno>
#include <cstring>

namespace tallystick {
namespace {

class FileLockHolder final : public DirectoryLock {
 public:
  FileLockHolder(std::shared_ptr<rocksdb::FileSystem> fs, rocksdb::FileLock* lock)
      : fs_(std::move(fs)), lock_(lock) {
    TALLY_ASSERT(lock_ != nullptr);
  }
  ~FileLockHolder() override {
    // A lock that cannot be released ends with the process at the latest.
    fs_->UnlockFile(lock_, rocksdb::IOOptions(), nullptr).PermitUncheckedError();
  }
  FileLockHolder(const FileLockHolder&) = delete;
  FileLockHolder& operator=(const FileLockHolder&) = delete;

 private:
  const std::shared_ptr<rocksdb::FileSystem> fs_;
  rocksdb::FileLock* const lock_;
};

bool Exists(rocksdb::FileSystem* fs, const std::string& path) {
  return fs->FileExists(path, rocksdb::IOOptions(), nullptr).ok();
}

// Parents first; each is durable in its parent before anything is put into it.
Status MakeDirectories(rocksdb::FileSystem* fs, const std::string& dir) {
  const std::string parent = ParentDirectory(dir);
  if (parent != dir && !Exists(fs, parent)) {
    Status status = MakeDirectories(fs, parent);
    if (!status.ok()) return status;
  }
  const rocksdb::IOStatus made = fs->CreateDirIfMissing(dir, rocksdb::IOOptions(), nullptr);
  if (!made.ok()) {
    return Status::Error(StatusCode::kIoError,
                         "directory " + dir + " cannot be created: " + made.ToString());
  }
  if (const int error = RestrictToOwner(dir); error != 0) {
    return Status::Error(StatusCode::kIoError,
                         "permissions of " + dir + " cannot be set: " + std::strerror(error));
  }
  return SyncDirectory(fs, parent);
}

Status CheckIsDirectory(rocksdb::FileSystem* fs, const std::string& dir) {
  bool is_directory = false;
  const rocksdb::IOStatus status =
      fs->IsDirectory(dir, rocksdb::IOOptions(), &is_directory, nullptr);
  if (!status.ok()) return TranslateStatus(status, "open of directory " + dir);
  if (is_directory) return Status();
  return Status::Error(StatusCode::kInvalidArgument, dir + " is not a directory");
}

}  // namespace

Result<std::unique_ptr<DirectoryLock>> LockDirectory(std::shared_ptr<rocksdb::FileSystem> fs,
                                                     const std::string& dir, bool create) {
  fs = FileSystemOrDefault(std::move(fs));
  if (dir.empty()) return Fail(StatusCode::kInvalidArgument, "the data directory has no name");
  if (!Exists(fs.get(), dir)) {
    if (!create) {
      return Fail(StatusCode::kInvalidArgument,
                  "data directory " + dir + " does not exist (and is not to be created)");
    }
    Status made = MakeDirectories(fs.get(), dir);
    if (!made.ok()) return Fail(std::move(made));
  }
  Status status = CheckIsDirectory(fs.get(), dir);
  if (!status.ok()) return Fail(std::move(status));

  rocksdb::FileLock* lock = nullptr;
  const rocksdb::IOStatus locked =
      fs->LockFile(dir + "/LOCK", rocksdb::IOOptions(), &lock, nullptr);
  if (locked.ok()) return std::make_unique<FileLockHolder>(std::move(fs), lock);
  if (IsLockHeld(locked)) {
    return Fail(StatusCode::kLocked,
                "data directory " + dir + " is in use by another process (or twice in this one)");
  }
  return Fail(StatusCode::kIoError,
              "data directory " + dir + " cannot be written: " + locked.ToString());
}

}  // namespace tallystick
