#include "tests/support/fault_file_system.h"

#include "engine/base/assert.h"
#include "tests/support/fault_core.h"

namespace tallystick {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

IOStatus FromError(const std::error_code& error, const std::string& path) {
  return error ? IOStatus::IOError(path, error.message()) : IOStatus::OK();
}

}  // namespace

FaultFileSystem::FaultFileSystem(const std::string& base_dir)
    : FileSystemWrapper(rocksdb::FileSystem::Default()),
      core_(std::make_shared<FaultCore>(base_dir)) {}

void FaultFileSystem::Arm(const Fault& fault) {
  MutexLock lock(core_->mutex);
  core_->plan.Arm(fault);
}

void FaultFileSystem::SetQuota(uint64_t bytes) {
  MutexLock lock(core_->mutex);
  core_->plan.SetQuota(bytes);
}

void FaultFileSystem::ClearFaults() {
  MutexLock lock(core_->mutex);
  core_->plan.Clear();
}

void FaultFileSystem::SetFailedSyncReachesDisk(bool reaches) {
  MutexLock lock(core_->mutex);
  core_->failed_sync_reaches_disk = reaches;
}

uint64_t FaultFileSystem::fired() const {
  MutexLock lock(core_->mutex);
  return core_->plan.fired();
}

uint64_t FaultFileSystem::calls(FaultCall call) const {
  MutexLock lock(core_->mutex);
  return core_->plan.calls(call);
}

uint64_t FaultFileSystem::unsynced_bytes() const {
  MutexLock lock(core_->mutex);
  return core_->disk.unsynced_bytes();
}

void FaultFileSystem::Stop() {
  MutexLock lock(core_->mutex);
  core_->Stop();
}

void FaultFileSystem::Restart() {
  MutexLock lock(core_->mutex);
  core_->Restart();
}

void FaultFileSystem::LosePower(uint64_t seed, const TailFate* fate) {
  MutexLock lock(core_->mutex);
  TALLY_ASSERT(core_->files_open_for_writing == 0);
  core_->disk.PowerLoss(seed, fate);
  core_->Restart();
}

void FaultFileSystem::PowerLoss(uint64_t seed) {
  LosePower(seed, nullptr);
}
void FaultFileSystem::PowerLoss(uint64_t seed, TailFate fate) {
  LosePower(seed, &fate);
}

IOStatus FaultFileSystem::Enter(FaultCall call, const std::string& path) {
  MutexLock lock(core_->mutex);
  return core_->Enter(call, core_->generation(), path);
}

bool FaultFileSystem::Covers(const std::string& path) const {
  MutexLock lock(core_->mutex);
  return core_->disk.Covers(path);
}

template <typename File, typename OpenReal>
IOStatus FaultFileSystem::OpenForReading(const std::string& name, std::unique_ptr<File>* result,
                                         OpenReal open_real) {
  if (!Covers(name)) return open_real(result);
  IOStatus status = Enter(FaultCall::kOpen, name);
  std::unique_ptr<File> real;
  if (status.ok()) status = open_real(&real);
  if (status.ok()) *result = WrapFile(core_, name, std::move(real));
  return status;
}

template <typename File, typename OpenReal>
IOStatus FaultFileSystem::OpenForWriting(const std::string& name, bool create,
                                         std::unique_ptr<File>* result, OpenReal open_real) {
  if (!Covers(name)) return open_real(result);
  IOStatus status = Enter(FaultCall::kOpen, name);
  if (!status.ok()) return status;
  std::shared_ptr<UnsyncedDisk::File> state;
  if (create) {
    MutexLock lock(core_->mutex);
    state = core_->disk.Create(name);
  }
  std::unique_ptr<File> real;
  status = open_real(&real);
  if (!status.ok()) return status;
  if (!create) {
    MutexLock lock(core_->mutex);
    state = core_->disk.Open(name);
  }
  *result = WrapFile(core_, name, std::move(state), std::move(real));
  return status;
}

IOStatus FaultFileSystem::NewSequentialFile(const std::string& name, const FileOptions& options,
                                            std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                            IODebugContext* debug) {
  return OpenForReading(name, result, [&](auto* real) {
    return target_->NewSequentialFile(name, options, real, debug);
  });
}

IOStatus FaultFileSystem::NewRandomAccessFile(const std::string& name, const FileOptions& options,
                                              std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                              IODebugContext* debug) {
  return OpenForReading(name, result, [&](auto* real) {
    return target_->NewRandomAccessFile(name, options, real, debug);
  });
}

IOStatus FaultFileSystem::NewWritableFile(const std::string& name, const FileOptions& options,
                                          std::unique_ptr<rocksdb::FSWritableFile>* result,
                                          IODebugContext* debug) {
  return OpenForWriting(name, /*create=*/true, result, [&](auto* real) {
    return target_->NewWritableFile(name, options, real, debug);
  });
}

IOStatus FaultFileSystem::ReopenWritableFile(const std::string& name, const FileOptions& options,
                                             std::unique_ptr<rocksdb::FSWritableFile>* result,
                                             IODebugContext* debug) {
  return OpenForWriting(
      name, !FileExists(name, options.io_options, debug).ok(), result,
      [&](auto* real) { return target_->ReopenWritableFile(name, options, real, debug); });
}

IOStatus FaultFileSystem::ReuseWritableFile(const std::string&, const std::string&,
                                            const FileOptions&,
                                            std::unique_ptr<rocksdb::FSWritableFile>*,
                                            IODebugContext*) {
  return IOStatus::NotSupported("ReuseWritableFile");
}

IOStatus FaultFileSystem::NewRandomRWFile(const std::string& name, const FileOptions& options,
                                          std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                          IODebugContext* debug) {
  return OpenForWriting(name, /*create=*/false, result, [&](auto* real) {
    return target_->NewRandomRWFile(name, options, real, debug);
  });
}

IOStatus FaultFileSystem::NewDirectory(const std::string& name, const IOOptions& options,
                                       std::unique_ptr<rocksdb::FSDirectory>* result,
                                       IODebugContext* debug) {
  if (!Covers(name)) return target_->NewDirectory(name, options, result, debug);
  std::unique_ptr<rocksdb::FSDirectory> real;
  const IOStatus status = target_->NewDirectory(name, options, &real, debug);
  if (status.ok()) *result = WrapDirectory(core_, name, std::move(real));
  return status;
}

IOStatus FaultFileSystem::DeleteFile(const std::string& name, const IOOptions& options,
                                     IODebugContext* debug) {
  if (!Covers(name) || !FileExists(name, options, debug).ok()) {
    return target_->DeleteFile(name, options, debug);
  }
  MutexLock lock(core_->mutex);
  const IOStatus status = core_->CheckRunning(core_->generation(), name);
  return status.ok() ? FromError(core_->disk.Delete(name), name) : status;
}

IOStatus FaultFileSystem::CreateDir(const std::string& name, const IOOptions& options,
                                    IODebugContext* debug) {
  IOStatus status = Covers(name) ? Enter(FaultCall::kOpen, name) : IOStatus::OK();
  if (status.ok()) status = target_->CreateDir(name, options, debug);
  if (status.ok() && Covers(name)) {
    MutexLock lock(core_->mutex);
    core_->disk.MadeDirectory(name);
  }
  return status;
}

IOStatus FaultFileSystem::CreateDirIfMissing(const std::string& name, const IOOptions& options,
                                             IODebugContext* debug) {
  if (FileExists(name, options, debug).ok()) {
    return target_->CreateDirIfMissing(name, options, debug);
  }
  return CreateDir(name, options, debug);
}

IOStatus FaultFileSystem::RenameFile(const std::string& from, const std::string& to,
                                     const IOOptions& options, IODebugContext* debug) {
  if (!Covers(from) || !FileExists(from, options, debug).ok()) {
    return target_->RenameFile(from, to, options, debug);
  }
  MutexLock lock(core_->mutex);
  const IOStatus status = core_->Enter(FaultCall::kRename, core_->generation(), from);
  return status.ok() ? FromError(core_->disk.Rename(from, to), from) : status;
}

IOStatus FaultFileSystem::LinkFile(const std::string& from, const std::string& to,
                                   const IOOptions& options, IODebugContext* debug) {
  if (!Covers(from)) return target_->LinkFile(from, to, options, debug);
  MutexLock lock(core_->mutex);
  const IOStatus status = core_->CheckRunning(core_->generation(), from);
  return status.ok() ? FromError(core_->disk.Link(from, to), from) : status;
}

}  // namespace tallystick
