// `tallystick replay FILE`.
#pragma once

#include "tools/cli/endpoint.h"
#include "tools/cli/replay.h"

#include <string>

namespace tallystick {

inline constexpr size_t kBatchRowsDefault = 4096;

struct ReplayFlags {
  std::string file;
  Endpoint endpoint;
  std::string config;  // empty: none
  size_t batch_rows = kBatchRowsDefault;
  bool json = false;
};

// Prints the report to stdout, everything else to stderr.
ExitCode RunReplay(const ReplayFlags& flags);

}  // namespace tallystick
