#include "engine/storage/watermark.h"

#include "engine/base/assert.h"
#include "engine/storage/fs_util.h"
#include "engine/storage/rocks_status.h"
#include "engine/storage/watermark_codec.h"

#include <rocksdb/file_system.h>

#include <array>
#include <optional>

namespace tallystick {
namespace {

// The slot that was fsynced last is never overwritten: writes without fsync go to the other one
// again and again, so no power loss can tear both.
class WatermarkFile final : public Watermark {
 public:
  WatermarkFile(std::string path, std::unique_ptr<rocksdb::FSRandomRWFile> file, size_t synced_slot,
                uint64_t serial)
      : path_(std::move(path)),
        file_(std::move(file)),
        synced_slot_(synced_slot),
        serial_(serial) {}
  ~WatermarkFile() override {
    // Nothing is lost: what had to be durable was fsynced by Write.
    file_->Close(rocksdb::IOOptions(), nullptr).PermitUncheckedError();
  }
  WatermarkFile(const WatermarkFile&) = delete;
  WatermarkFile& operator=(const WatermarkFile&) = delete;

  Status Write(const WatermarkState& state, bool sync) override {
    if (!failure_.ok()) return failure_;
    WatermarkState numbered = state;
    numbered.serial = ++serial_;
    const std::string slot = EncodeWatermarkSlot(numbered);
    const size_t target = 1 - synced_slot_;
    const rocksdb::IOOptions options;
    rocksdb::IOStatus status = file_->Write(target * kWatermarkSlotStride, slot, options, nullptr);
    if (status.ok() && sync) status = file_->Sync(options, nullptr);
    if (!status.ok()) {
      // What the file now holds is unknown, and a second fsync could lie.
      failure_ = TranslateStatus(status, "write of " + path_);
      return failure_;
    }
    if (sync) synced_slot_ = target;
    return Status();
  }

 private:
  const std::string path_;
  const std::unique_ptr<rocksdb::FSRandomRWFile> file_;
  size_t synced_slot_;
  uint64_t serial_;
  Status failure_;
};

// Written to a second name and renamed, so that the file never exists without a valid slot. Its
// first slot has serial 0: created, nothing known yet.
Status CreateFile(rocksdb::FileSystem* fs, const std::string& dir, const std::string& path) {
  const std::string unfinished = path + ".new";
  const rocksdb::IOOptions options;
  std::unique_ptr<rocksdb::FSWritableFile> file;
  rocksdb::IOStatus status =
      fs->NewWritableFile(unfinished, rocksdb::FileOptions(), &file, nullptr);
  if (status.ok()) status = file->Append(EncodeWatermarkSlot(WatermarkState()), options, nullptr);
  if (status.ok()) status = file->Sync(options, nullptr);
  if (status.ok()) status = file->Close(options, nullptr);
  if (status.ok()) status = fs->RenameFile(unfinished, path, options, nullptr);
  if (!status.ok()) return TranslateStatus(status, "creation of " + path);
  return SyncDirectory(fs, dir);
}

struct Slots {
  std::optional<WatermarkState> newest;
  size_t newest_slot = 0;
  Status unsupported;
};

Result<Slots> ReadSlots(rocksdb::FSRandomRWFile* file, const std::string& path) {
  Slots slots;
  std::string scratch(kWatermarkSlotStride, '\0');
  for (size_t i = 0; i < kWatermarkSlots; ++i) {
    rocksdb::Slice bytes;
    const rocksdb::IOStatus read =
        file->Read(i * kWatermarkSlotStride, kWatermarkSlotStride, rocksdb::IOOptions(), &bytes,
                   scratch.data(), nullptr);
    if (!read.ok()) return Fail(TranslateStatus(read, "read of " + path));
    Result<WatermarkState> state = DecodeWatermarkSlot({bytes.data(), bytes.size()});
    if (!state) {
      if (state.error().code() == StatusCode::kUnsupportedFormat) slots.unsupported = state.error();
      continue;
    }
    if (slots.newest && slots.newest->serial >= state->serial) continue;
    slots.newest = std::move(*state);
    slots.newest_slot = i;
  }
  return slots;
}

}  // namespace

Result<std::unique_ptr<Watermark>> Watermark::Open(std::shared_ptr<rocksdb::FileSystem> fs,
                                                   const std::string& dir, bool* found,
                                                   WatermarkState* state) {
  fs = FileSystemOrDefault(std::move(fs));
  const std::string path = dir + "/WATERMARK";
  if (!fs->FileExists(path, rocksdb::IOOptions(), nullptr).ok()) {
    Status created = CreateFile(fs.get(), dir, path);
    if (!created.ok()) return Fail(std::move(created));
  }
  std::unique_ptr<rocksdb::FSRandomRWFile> file;
  rocksdb::IOStatus status = fs->NewRandomRWFile(path, rocksdb::FileOptions(), &file, nullptr);
  // The newest slot may be a write without fsync of a process that was killed; the other slot is
  // overwritten next, so it must be durable first.
  if (status.ok()) status = file->Sync(rocksdb::IOOptions(), nullptr);
  if (!status.ok()) return Fail(TranslateStatus(status, "open of " + path));

  Result<Slots> slots = ReadSlots(file.get(), path);
  if (!slots) return Fail(slots.error());
  if (!slots->unsupported.ok()) return Fail(slots->unsupported);
  if (!slots->newest) {
    return Fail(StatusCode::kCorruption,
                path + " has no valid slot: how far the journal was durable is unknown");
  }
  *found = slots->newest->serial > 0;
  if (*found) *state = *slots->newest;
  return std::make_unique<WatermarkFile>(path, std::move(file), slots->newest_slot,
                                         slots->newest->serial);
}

}  // namespace tallystick
