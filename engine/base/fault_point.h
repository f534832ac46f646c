// Named places where tests make things go wrong. Compiled in only with -Dfault_points=true; in a
// release build TALLY_FAULT_POINT is the constant false.
//
//   if (TALLY_FAULT_POINT("commit.before_write")) return Status::Error(StatusCode::kIoError,
//   "injected");
//
// Armed by FaultPoints::Arm or, in a child process, by the environment variable TALLYSTICK_FAULTS:
// "name=fail", "name=kill@3" (SIGKILL at the third hit), "name=fail@2" (from the second hit on),
// several separated by commas.
#pragma once

#ifdef TALLYSTICK_FAULT_POINTS
#include <cstdint>
#include <string>
#include <string_view>

namespace tallystick {

class FaultPoints {
 public:
  enum class Action : uint8_t { kFail, kKill };
  static void Arm(std::string_view name, Action action, uint64_t from_hit = 1);
  static void Disarm(std::string_view name);
  static void DisarmAll();
  static bool Hit(std::string_view name);  // true: the caller is to fail
  static uint64_t hits(std::string_view name);
};

}  // namespace tallystick

#define TALLY_FAULT_POINT(name) (::tallystick::FaultPoints::Hit(name))
#else
#define TALLY_FAULT_POINT(name) (false)
#endif
