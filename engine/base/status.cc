#include <tallystick/status.h>

namespace tallystick {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid argument";
    case StatusCode::kWrongType:
      return "wrong type";
    case StatusCode::kBusy:
      return "busy";
    case StatusCode::kReadOnly:
      return "read only";
    case StatusCode::kLoading:
      return "loading";
    case StatusCode::kOutOfMemory:
      return "out of memory";
    case StatusCode::kCorruption:
      return "corruption";
    case StatusCode::kIoError:
      return "I/O error";
    case StatusCode::kUnsupportedFormat:
      return "unsupported format";
    case StatusCode::kLocked:
      return "locked";
    case StatusCode::kDataLoss:
      return "data loss";
    case StatusCode::kTimedOut:
      return "timed out";
    case StatusCode::kOverflow:
      return "overflow";
    case StatusCode::kTooLarge:
      return "too large";
  }
  return "unknown";
}

std::string Status::ToString() const {
  if (ok()) return "ok";
  std::string text(StatusCodeName(code()));
  text += ": ";
  text += message();
  return text;
}

}  // namespace tallystick
