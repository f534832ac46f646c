#include "engine/storage/fs_util.h"

#include "engine/storage/rocks_status.h"

#include <rocksdb/file_system.h>

namespace tallystick {

std::shared_ptr<rocksdb::FileSystem> FileSystemOrDefault(std::shared_ptr<rocksdb::FileSystem> fs) {
  return fs ? std::move(fs) : rocksdb::FileSystem::Default();
}

std::string ParentDirectory(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return path.empty() ? "." : "/";
  const size_t slash = path.find_last_of('/', end);
  if (slash == std::string::npos) return ".";
  const size_t keep = path.find_last_not_of('/', slash);
  return keep == std::string::npos ? "/" : path.substr(0, keep + 1);
}

Status SyncDirectory(rocksdb::FileSystem* fs, const std::string& dir) {
  const rocksdb::IOOptions options;
  std::unique_ptr<rocksdb::FSDirectory> handle;
  rocksdb::IOStatus status = fs->NewDirectory(dir, options, &handle, nullptr);
  if (status.ok()) status = handle->Fsync(options, nullptr);
  if (status.ok()) status = handle->Close(options, nullptr);
  return TranslateStatus(status, "fsync of directory " + dir);
}

Status SyncFile(rocksdb::FileSystem* fs, const std::string& path) {
  const rocksdb::IOOptions options;
  std::unique_ptr<rocksdb::FSRandomRWFile> file;
  rocksdb::IOStatus status = fs->NewRandomRWFile(path, rocksdb::FileOptions(), &file, nullptr);
  if (status.ok()) status = file->Fsync(options, nullptr);
  if (status.ok()) status = file->Close(options, nullptr);
  return TranslateStatus(status, "fsync of " + path);
}

}  // namespace tallystick
