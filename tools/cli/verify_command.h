// `tallystick verify`: of a directory offline, of a server entity by entity with COUNT.VERIFY.
#pragma once

#include "tools/cli/endpoint.h"

namespace tallystick {

struct VerifyFlags {
  Endpoint endpoint;
  bool json = false;
};

// kOk: no drift. Prints the report to stdout.
ExitCode RunVerify(const VerifyFlags& flags);

}  // namespace tallystick
