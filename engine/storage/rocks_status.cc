#include "engine/storage/rocks_status.h"

#include <string>

namespace tallystick {
namespace {

StatusCode CodeOf(const rocksdb::Status& status) {
  using Code = rocksdb::Status::Code;
  using SubCode = rocksdb::Status::SubCode;
  if (IsLockHeld(status)) return StatusCode::kLocked;
  if (status.subcode() == SubCode::kPathNotFound) return StatusCode::kCorruption;
  if (status.subcode() == SubCode::kMemoryLimit) return StatusCode::kOutOfMemory;
  switch (status.code()) {
    case Code::kCorruption:
      return StatusCode::kCorruption;
    case Code::kNotSupported:
      return StatusCode::kUnsupportedFormat;
    case Code::kInvalidArgument:
    case Code::kNotFound:
      return StatusCode::kInvalidArgument;
    default:
      return StatusCode::kIoError;
  }
}

}  // namespace

Status TranslateStatus(const rocksdb::Status& status, std::string_view what) {
  if (status.ok()) return Status();
  std::string message(what);
  message += ": ";
  message += status.ToString();
  return Status::Error(CodeOf(status), std::move(message));
}

bool IsLockHeld(const rocksdb::Status& status) {
  if (!status.IsIOError() || status.getState() == nullptr) return false;
  const std::string_view text = status.getState();
  return text.find("While lock file") != std::string_view::npos ||
         text.find("lock hold by current process") != std::string_view::npos;
}

}  // namespace tallystick
