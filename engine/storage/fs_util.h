// Small helpers over RocksDB's FileSystem.
#pragma once

#include <tallystick/status.h>

#include <memory>
#include <string>

namespace rocksdb {
class FileSystem;
}

namespace tallystick {

// `fs`, or the real one when null.
std::shared_ptr<rocksdb::FileSystem> FileSystemOrDefault(std::shared_ptr<rocksdb::FileSystem> fs);

// The directory that holds `path` ("." for a bare name, "/" for the root itself).
std::string ParentDirectory(const std::string& path);

// Makes created, renamed and deleted entries of `dir` survive power loss. kIoError.
Status SyncDirectory(rocksdb::FileSystem* fs, const std::string& dir);

// Makes the bytes of an existing file survive power loss, whoever wrote them. kIoError.
Status SyncFile(rocksdb::FileSystem* fs, const std::string& path);

}  // namespace tallystick
