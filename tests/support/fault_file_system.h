// FaultFileSystem: a rocksdb::FileSystem over a real directory on which calls fail on demand,
// processes die, and power is lost. What crash tests stand on.
//
// Everything below `base_dir` is covered; other paths go through untouched. Real bytes live in
// base_dir, so after PowerLoss the plain files are what a real machine would have; nothing is ever
// really fsynced.
//
// A killed process: Stop (from now on nothing reaches the disk), destroy what was open (its last
// calls fail), Restart; what was written is still there, but not durable. A power loss: Stop,
// destroy, PowerLoss(seed); the same seed on the same state gives the same files.
//
// Thread-safe; one lock for all calls. Only public RocksDB headers are used.
#pragma once

#include "tests/support/fault_plan.h"
#include "tests/support/unsynced_disk.h"

#include <rocksdb/file_system.h>

#include <memory>
#include <string>

namespace tallystick {

class FaultCore;

class FaultFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  // base_dir: absolute or as the tested code will spell it, without a trailing slash.
  explicit FaultFileSystem(const std::string& base_dir);

  void Arm(const Fault& fault);
  // The disk is full after so many more bytes; a write that does not fit is cut.
  void SetQuota(uint64_t bytes);
  void ClearFaults();
  // Whether the bytes of a failed fsync may still be read, but never reach the disk (what Linux
  // does), or reach it all the same. Default: they never do.
  void SetFailedSyncReachesDisk(bool reaches);
  uint64_t fired() const;                // injected failures so far
  uint64_t calls(FaultCall call) const;  // matching or not
  uint64_t unsynced_bytes() const;

  void Stop();
  void Restart();
  // Implies Restart. All files of the tested code must be closed.
  void PowerLoss(uint64_t seed);
  void PowerLoss(uint64_t seed, TailFate fate);  // every torn tail has this fate

  const char* Name() const override { return "FaultFileSystem"; }
  rocksdb::IOStatus NewSequentialFile(const std::string& name, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                        rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* result,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& name, const std::string& old_name,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* result,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomRWFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDir(const std::string& name, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDirIfMissing(const std::string& name, const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;

 private:
  bool Covers(const std::string& path) const;
  // For calls by name; those of open files are in fault_core.cc.
  rocksdb::IOStatus Enter(FaultCall call, const std::string& path);
  template <typename File, typename OpenReal>
  rocksdb::IOStatus OpenForReading(const std::string& name, std::unique_ptr<File>* result,
                                   OpenReal open_real);
  template <typename File, typename OpenReal>
  rocksdb::IOStatus OpenForWriting(const std::string& name, bool create,
                                   std::unique_ptr<File>* result, OpenReal open_real);
  void LosePower(uint64_t seed, const TailFate* fate);

  const std::shared_ptr<FaultCore> core_;  // shared with the open files
};

}  // namespace tallystick
