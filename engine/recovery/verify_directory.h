// The offline check over an open store; VerifyDirectory without the opening.
#pragma once

#include "engine/storage/store.h"

#include <tallystick/verify.h>

namespace tallystick {

// Reads only. Nobody else may write the store meanwhile. Errors as VerifyDirectory's.
Result<VerifyReport> VerifyStore(Store* store, const VerifyProgress& progress);

}  // namespace tallystick
