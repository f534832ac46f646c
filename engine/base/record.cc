#include "engine/base/record.h"

#include "engine/base/checksum.h"

namespace tallystick {

Status DamagedRecord(const RecordKind& kind, std::string_view what) {
  std::string message(kind.name);
  message += ": ";
  message += what;
  return Status::Error(StatusCode::kCorruption, std::move(message));
}

Status UnsupportedRecord(const RecordKind& kind, uint64_t found) {
  std::string message(kind.name);
  message += ": version " + std::to_string(found) + " was found, the newest understood is " +
             std::to_string(kind.newest);
  return Status::Error(StatusCode::kUnsupportedFormat, std::move(message));
}

Status OpenVersionedRecord(const RecordKind& kind, std::string_view key, std::string_view sealed,
                           std::string_view* body) {
  std::string_view inner;
  if (!OpenRecord(key, sealed, &inner)) {
    return DamagedRecord(kind, "the checksum does not match its key and bytes");
  }
  if (inner.empty()) return DamagedRecord(kind, "no version byte");
  const uint8_t version = static_cast<uint8_t>(inner[0]);
  if (version == 0 || version > kind.newest) return UnsupportedRecord(kind, version);
  *body = inner.substr(1);
  return Status();
}

}  // namespace tallystick
