// Result<T>: a value or a failed Status. tl::expected stands in for C++23's std::expected.
#pragma once

#include <tallystick/status.h>

#include <tl/expected.hpp>

namespace tallystick {

template <typename T>
using Result = tl::expected<T, Status>;

using Failure = tl::unexpected<Status>;

inline Failure Fail(Status status) {
  return Failure(std::move(status));
}
inline Failure Fail(StatusCode code, std::string message) {
  return Failure(Status::Error(code, std::move(message)));
}

}  // namespace tallystick
