// A verification as text and as JSON.
#pragma once

#include <tallystick/verify.h>

#include <string>

namespace tallystick {

std::string FormatVerification(const VerifyReport& report);
// One object: ok, entities, fact_sets, facts, slots, plain_keys, tail_events, drift_count, drifts,
// damaged_count, damaged.
std::string FormatVerificationJson(const VerifyReport& report);

}  // namespace tallystick
