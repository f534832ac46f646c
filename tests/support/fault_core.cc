#include "tests/support/fault_core.h"

#include "engine/base/assert.h"

namespace tallystick {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// What every wrapped file carries.
class Handle {
 public:
  Handle(std::shared_ptr<FaultCore> core, std::string path)
      : core_(std::move(core)), path_(std::move(path)), generation_(GenerationOf(core_.get())) {}

  IOStatus CheckRead() const {
    MutexLock lock(core_->mutex);
    return core_->Enter(FaultCall::kRead, generation_, path_);
  }

  const std::shared_ptr<FaultCore> core_;
  const std::string path_;
  const uint64_t generation_;

 private:
  static uint64_t GenerationOf(FaultCore* core) {
    MutexLock lock(core->mutex);
    return core->generation();
  }
};

class SequentialFile final : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  SequentialFile(Handle handle, std::unique_ptr<rocksdb::FSSequentialFile> real)
      : FSSequentialFileOwnerWrapper(std::move(real)), handle_(std::move(handle)) {}

  IOStatus Read(size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) override {
    const IOStatus status = handle_.CheckRead();
    return status.ok() ? target()->Read(n, options, result, scratch, debug) : status;
  }

 private:
  const Handle handle_;
};

class RandomAccessFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  RandomAccessFile(Handle handle, std::unique_ptr<rocksdb::FSRandomAccessFile> real)
      : FSRandomAccessFileOwnerWrapper(std::move(real)), handle_(std::move(handle)) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) const override {
    const IOStatus status = handle_.CheckRead();
    return status.ok() ? target()->Read(offset, n, options, result, scratch, debug) : status;
  }
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const IOOptions& options,
                     IODebugContext* debug) override {
    for (size_t i = 0; i < count; ++i) {
      rocksdb::FSReadRequest& request = requests[i];
      request.status =
          Read(request.offset, request.len, options, &request.result, request.scratch, debug);
    }
    return IOStatus::OK();
  }

 private:
  const Handle handle_;
};

class WritableFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WritableFile(Handle handle, std::shared_ptr<UnsyncedDisk::File> state,
               std::unique_ptr<rocksdb::FSWritableFile> real)
      : FSWritableFileOwnerWrapper(std::move(real)),
        handle_(std::move(handle)),
        state_(std::move(state)) {
    MutexLock lock(handle_.core_->mutex);
    ++handle_.core_->files_open_for_writing;
  }
  ~WritableFile() override {
    MutexLock lock(handle_.core_->mutex);
    --handle_.core_->files_open_for_writing;
  }
  WritableFile(const WritableFile&) = delete;
  WritableFile& operator=(const WritableFile&) = delete;

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    FaultCore* core = handle_.core_.get();
    MutexLock lock(core->mutex);
    IOStatus status = core->Enter(FaultCall::kAppend, handle_.generation_, handle_.path_);
    size_t fit = data.size();
    if (!status.ok()) {
      // A stopped process writes nothing; a failing disk may have taken some of it.
      const bool running = core->CheckRunning(handle_.generation_, handle_.path_).ok();
      fit = running ? data.size() / 2 : 0;
    } else if (fit = core->plan.TakeQuota(data.size()); fit < data.size()) {
      status = InjectedError(FaultError::kNoSpace, handle_.path_);
    }
    if (fit > 0) {
      const IOStatus real = target()->Append(Slice(data.data(), fit), options, debug);
      if (!real.ok()) return real;
      state_->bytes += fit;
    }
    return status;
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus PositionedAppend(const Slice&, uint64_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::NotSupported("PositionedAppend");
  }
  IOStatus PositionedAppend(const Slice&, uint64_t, const IOOptions&,
                            const rocksdb::DataVerificationInfo&, IODebugContext*) override {
    return IOStatus::NotSupported("PositionedAppend");
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    MutexLock lock(handle_.core_->mutex);
    IOStatus status = handle_.core_->CheckRunning(handle_.generation_, handle_.path_);
    if (status.ok()) status = target()->Truncate(size, options, debug);
    if (!status.ok()) return status;
    state_->bytes = size;
    state_->durable_bytes = std::min(state_->durable_bytes, size);
    return status;
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    return handle_.core_->SyncFile(state_.get(), handle_.generation_, handle_.path_);
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Sync(options, debug);
  }
  // Not an fsync, and preallocated bytes would only slow the tests.
  IOStatus RangeSync(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::OK();
  }
  void PrepareWrite(size_t, size_t, const IOOptions&, IODebugContext*) override {}
  IOStatus Allocate(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::OK();
  }

 private:
  const Handle handle_;
  const std::shared_ptr<UnsyncedDisk::File> state_;
};

class RandomRwFile final : public rocksdb::FSRandomRWFileOwnerWrapper {
 public:
  RandomRwFile(Handle handle, std::shared_ptr<UnsyncedDisk::File> state,
               std::unique_ptr<rocksdb::FSRandomRWFile> real)
      : FSRandomRWFileOwnerWrapper(std::move(real)),
        handle_(std::move(handle)),
        state_(std::move(state)) {
    MutexLock lock(handle_.core_->mutex);
    ++handle_.core_->files_open_for_writing;
  }
  ~RandomRwFile() override {
    MutexLock lock(handle_.core_->mutex);
    --handle_.core_->files_open_for_writing;
  }
  RandomRwFile(const RandomRwFile&) = delete;
  RandomRwFile& operator=(const RandomRwFile&) = delete;

  IOStatus Write(uint64_t offset, const Slice& data, const IOOptions& options,
                 IODebugContext* debug) override {
    MutexLock lock(handle_.core_->mutex);
    IOStatus status = handle_.core_->Enter(FaultCall::kAppend, handle_.generation_, handle_.path_);
    if (!status.ok()) return status;
    if (handle_.core_->plan.TakeQuota(data.size()) < data.size()) {
      return InjectedError(FaultError::kNoSpace, handle_.path_);
    }
    UnsyncedDisk::Overwrite write{offset, data.ToString(), std::string(data.size(), '\0'),
                                  state_->bytes};
    Slice old;
    status = target()->Read(offset, data.size(), options, &old, write.old_bytes.data(), debug);
    if (!status.ok()) return status;
    write.old_bytes.resize(old.size());
    status = target()->Write(offset, data, options, debug);
    if (!status.ok()) return status;
    state_->bytes = std::max<uint64_t>(state_->bytes, offset + data.size());
    state_->overwrites.push_back(std::move(write));
    return status;
  }
  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) const override {
    const IOStatus status = handle_.CheckRead();
    return status.ok() ? target()->Read(offset, n, options, result, scratch, debug) : status;
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    return handle_.core_->SyncFile(state_.get(), handle_.generation_, handle_.path_);
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Sync(options, debug);
  }

 private:
  const Handle handle_;
  const std::shared_ptr<UnsyncedDisk::File> state_;
};

class Directory final : public rocksdb::FSDirectoryWrapper {
 public:
  Directory(Handle handle, std::unique_ptr<rocksdb::FSDirectory> real)
      : FSDirectoryWrapper(std::move(real)), handle_(std::move(handle)) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    MutexLock lock(handle_.core_->mutex);
    const IOStatus status =
        handle_.core_->Enter(FaultCall::kSync, handle_.generation_, handle_.path_);
    if (status.ok()) handle_.core_->disk.SyncDirectory(handle_.path_);
    return status;
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions&) override {
    return Fsync(options, debug);
  }

 private:
  const Handle handle_;
};

}  // namespace

IOStatus InjectedError(FaultError error, const std::string& path) {
  if (error == FaultError::kNone) return IOStatus::OK();
  if (error == FaultError::kEio) return IOStatus::IOError("injected failure: " + path);
  IOStatus status = IOStatus::NoSpace("injected: no space left: " + path);
  status.SetRetryable(true);  // as the real file system marks it
  return status;
}

IOStatus FaultCore::CheckRunning(uint64_t of_generation, const std::string& path) const {
  if (!stopped_ && of_generation == generation_) return IOStatus::OK();
  return IOStatus::IOError("the process was stopped: " + path);
}

IOStatus FaultCore::Enter(FaultCall call, uint64_t of_generation, const std::string& path) {
  const IOStatus running = CheckRunning(of_generation, path);
  return running.ok() ? InjectedError(plan.Next(call, path), path) : running;
}

IOStatus FaultCore::SyncFile(UnsyncedDisk::File* file, uint64_t of_generation,
                             const std::string& path) {
  MutexLock lock(mutex);
  const IOStatus running = CheckRunning(of_generation, path);
  if (!running.ok()) return running;
  const IOStatus status = Enter(FaultCall::kSync, of_generation, path);
  if (status.ok() || failed_sync_reaches_disk) {
    disk.Sync(file);
  } else {
    disk.FailSync(file);
  }
  return status;
}

std::unique_ptr<rocksdb::FSSequentialFile> WrapFile(
    std::shared_ptr<FaultCore> core, const std::string& path,
    std::unique_ptr<rocksdb::FSSequentialFile> real) {
  return std::make_unique<SequentialFile>(Handle(std::move(core), path), std::move(real));
}

std::unique_ptr<rocksdb::FSRandomAccessFile> WrapFile(
    std::shared_ptr<FaultCore> core, const std::string& path,
    std::unique_ptr<rocksdb::FSRandomAccessFile> real) {
  return std::make_unique<RandomAccessFile>(Handle(std::move(core), path), std::move(real));
}

std::unique_ptr<rocksdb::FSWritableFile> WrapFile(std::shared_ptr<FaultCore> core,
                                                  const std::string& path,
                                                  std::shared_ptr<UnsyncedDisk::File> state,
                                                  std::unique_ptr<rocksdb::FSWritableFile> real) {
  return std::make_unique<WritableFile>(Handle(std::move(core), path), std::move(state),
                                        std::move(real));
}

std::unique_ptr<rocksdb::FSRandomRWFile> WrapFile(std::shared_ptr<FaultCore> core,
                                                  const std::string& path,
                                                  std::shared_ptr<UnsyncedDisk::File> state,
                                                  std::unique_ptr<rocksdb::FSRandomRWFile> real) {
  return std::make_unique<RandomRwFile>(Handle(std::move(core), path), std::move(state),
                                        std::move(real));
}

std::unique_ptr<rocksdb::FSDirectory> WrapDirectory(std::shared_ptr<FaultCore> core,
                                                    const std::string& path,
                                                    std::unique_ptr<rocksdb::FSDirectory> real) {
  return std::make_unique<Directory>(Handle(std::move(core), path), std::move(real));
}

}  // namespace tallystick
