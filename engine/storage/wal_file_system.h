// WalFileSystem: what RocksDB writes its log files through. It keeps them durable in their order,
// and fsyncs them without RocksDB's help.
//
// Order. RocksDB starts a new log file at every switch of a memtable and leaves the old one as it
// is. The operating system may then write the new file back before the end of the old one. When
// power is lost and the old file happens to end between two records, RocksDB 7.8 notices nothing:
// it replays the new file behind the hole, and what is recovered is no prefix of the writes
// (facebook/rocksdb#7701). So a log file is not begun before all of its predecessor, and that one's
// name, are on disk: at most the newest log file is ever unsynced.
//
// Sync. DB::SyncWAL on a log file whose last append has failed is an assertion, which Debian's
// build keeps: a failing disk could stop the process at the moment it should have become read-only.
// As all older files are durable, fsync of the newest is all that there is to do.
//
// Thread-safe; for one database.
#pragma once

#include "engine/base/mutex.h"

#include <rocksdb/file_system.h>

#include <memory>
#include <string>

namespace tallystick {

class SharedWal;

class WalFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit WalFileSystem(std::shared_ptr<rocksdb::FileSystem> real);
  ~WalFileSystem() override;

  // All that was appended to log files before the call survives power loss when it returns OK.
  // After a failure every later call, and every new log file, gets that same failure: an fsync that
  // is tried again can report success for pages that the kernel has dropped. Appends go on
  // meanwhile; a new log file waits.
  rocksdb::IOStatus SyncWal();

  // Whether RocksDB gives its log files such a name.
  static bool IsWalName(const std::string& path) { return path.ends_with(".log"); }

  const char* Name() const override { return "TallystickWalFileSystem"; }
  // A new log file costs an fsync of what was appended to the one before since the last SyncWal.
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override;
  // Would rename a log file into a new one; not used with recycle_log_file_num 0.
  rocksdb::IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* result,
                                      rocksdb::IODebugContext* debug) override;

 private:
  rocksdb::IOStatus SyncNewest() TALLY_REQUIRES(mutex_);

  Mutex mutex_;
  std::shared_ptr<SharedWal> newest_ TALLY_GUARDED_BY(mutex_);
  std::string newest_dir_ TALLY_GUARDED_BY(mutex_);
  bool newest_name_is_durable_ TALLY_GUARDED_BY(mutex_) = false;
  rocksdb::IOStatus failure_ TALLY_GUARDED_BY(mutex_);
};

}  // namespace tallystick
