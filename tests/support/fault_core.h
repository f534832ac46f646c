// What a FaultFileSystem and its open files share, and those files.
#pragma once

#include "engine/base/mutex.h"
#include "tests/support/fault_plan.h"
#include "tests/support/unsynced_disk.h"

#include <rocksdb/file_system.h>

#include <memory>
#include <string>

namespace tallystick {

class FaultCore {
 public:
  explicit FaultCore(const std::string& base_dir) : disk(base_dir) {}

  // Of a process: files opened before a Stop never work again.
  uint64_t generation() const TALLY_REQUIRES(mutex) { return generation_; }
  rocksdb::IOStatus CheckRunning(uint64_t of_generation, const std::string& path) const
      TALLY_REQUIRES(mutex);
  // Counts the call, and fails it when it is its turn.
  rocksdb::IOStatus Enter(FaultCall call, uint64_t of_generation, const std::string& path)
      TALLY_REQUIRES(mutex);
  rocksdb::IOStatus SyncFile(UnsyncedDisk::File* file, uint64_t of_generation,
                             const std::string& path) TALLY_EXCLUDES(mutex);
  void Stop() TALLY_REQUIRES(mutex) { stopped_ = true, ++generation_; }
  void Restart() TALLY_REQUIRES(mutex) { stopped_ = false; }

  Mutex mutex;
  UnsyncedDisk disk TALLY_GUARDED_BY(mutex);
  FaultPlan plan TALLY_GUARDED_BY(mutex);
  bool failed_sync_reaches_disk TALLY_GUARDED_BY(mutex) = false;
  int files_open_for_writing TALLY_GUARDED_BY(mutex) = 0;

 private:
  bool stopped_ TALLY_GUARDED_BY(mutex) = false;
  uint64_t generation_ TALLY_GUARDED_BY(mutex) = 0;
};

rocksdb::IOStatus InjectedError(FaultError error, const std::string& path);

// Wrap an open file of the real file system. The state is the one that core->disk gave for `path`.
std::unique_ptr<rocksdb::FSSequentialFile> WrapFile(
    std::shared_ptr<FaultCore> core, const std::string& path,
    std::unique_ptr<rocksdb::FSSequentialFile> real);
std::unique_ptr<rocksdb::FSRandomAccessFile> WrapFile(
    std::shared_ptr<FaultCore> core, const std::string& path,
    std::unique_ptr<rocksdb::FSRandomAccessFile> real);
std::unique_ptr<rocksdb::FSWritableFile> WrapFile(std::shared_ptr<FaultCore> core,
                                                  const std::string& path,
                                                  std::shared_ptr<UnsyncedDisk::File> state,
                                                  std::unique_ptr<rocksdb::FSWritableFile> real);
std::unique_ptr<rocksdb::FSRandomRWFile> WrapFile(std::shared_ptr<FaultCore> core,
                                                  const std::string& path,
                                                  std::shared_ptr<UnsyncedDisk::File> state,
                                                  std::unique_ptr<rocksdb::FSRandomRWFile> real);
std::unique_ptr<rocksdb::FSDirectory> WrapDirectory(std::shared_ptr<FaultCore> core,
                                                    const std::string& path,
                                                    std::unique_ptr<rocksdb::FSDirectory> real);

}  // namespace tallystick
