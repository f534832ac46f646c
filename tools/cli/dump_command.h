// `tallystick dump ENTITY`.
#pragma once

#include "tools/cli/endpoint.h"

#include <string>

namespace tallystick {

inline constexpr size_t kDumpMembersMax = 100000;

struct DumpFlags {
  Endpoint endpoint;
  std::string entity;   // etype:eid
  size_t members = 10;  // of each fact set; at most kDumpMembersMax
};

ExitCode RunDump(const DumpFlags& flags);

}  // namespace tallystick
