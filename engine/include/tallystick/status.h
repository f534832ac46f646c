// Status: the outcome of a call that can fail for reasons outside the program (disk, bytes,
// limits).
//
// A Status is one pointer; OK is null and costs no allocation. Copying a failed Status allocates.
// Thread-safety: like a std::string. A bug is never a Status: it stops the process by assertion.
#pragma once

#include <tallystick/export.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tallystick {

// A code exists only where a caller reacts to it differently. Values are stable.
enum class StatusCode : uint8_t {
  kOk = 0,
  kInvalidArgument = 1,    // the caller's input breaks a documented limit; nothing changed
  kWrongType = 2,          // a plain key holds another type; nothing changed
  kBusy = 3,               // the ring stayed full for the caller's patience; nothing changed
  kReadOnly = 4,           // an earlier write or fsync failed: reads go on, writes are refused
  kLoading = 5,            // not answerable until recovery has come further
  kOutOfMemory = 6,        // the memory limit is reached; nothing changed
  kCorruption = 7,         // stored bytes are damaged and could not be healed
  kIoError = 8,            // the operating system failed a call
  kUnsupportedFormat = 9,  // written by a version that this one cannot read
  kLocked = 10,            // another process has the directory open
  kDataLoss = 11,  // durable journal has vanished since it was written (see Options::accept_loss)
  kTimedOut = 12,  // a wait ended before its condition held
  kOverflow = 13,  // a 64-bit result would not fit; nothing changed
  kTooLarge = 14,  // the answer or argument is beyond a named limit
};

class [[nodiscard]] TALLYSTICK_EXPORT Status {
 public:
  Status() = default;
  Status(const Status& other) : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}
  Status& operator=(const Status& other) {
    if (this != &other) rep_ = other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr;
    return *this;
  }
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  static Status Error(StatusCode code, std::string message) {
    Status s;
    s.rep_ = std::make_unique<Rep>(Rep{code, std::move(message)});
    return s;
  }

  bool ok() const { return rep_ == nullptr; }
  StatusCode code() const { return rep_ ? rep_->code : StatusCode::kOk; }
  // Says what failed and what to do about it; empty when ok(). Valid while this Status is.
  std::string_view message() const { return rep_ ? std::string_view(rep_->message) : ""; }
  std::string ToString() const;

 private:
  struct Rep {
    StatusCode code;
    std::string message;
  };
  std::unique_ptr<Rep> rep_;
};

// "read only", "wrong type" ...: stable words for logs.
TALLYSTICK_EXPORT std::string_view StatusCodeName(StatusCode code);

}  // namespace tallystick
