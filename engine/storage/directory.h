// The data directory: made with mode 0700, held by one process (DIR/LOCK).
#pragma once

#include <tallystick/result.h>

#include <memory>
#include <string>

namespace rocksdb {
class FileSystem;
}

namespace tallystick {

class DirectoryLock {
 public:
  virtual ~DirectoryLock() = default;  // releases
};

// Makes DIR (and parents) when missing and `create`, fsyncs what it made, and takes the lock.
// kLocked says that another process (or engine of this one) has it; kIoError names the path and
// cause; kInvalidArgument: the path is no directory, or missing and not to be created.
Result<std::unique_ptr<DirectoryLock>> LockDirectory(std::shared_ptr<rocksdb::FileSystem> fs,
                                                     const std::string& dir, bool create);

}  // namespace tallystick
