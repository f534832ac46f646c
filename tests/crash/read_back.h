// Reads everything back after a crash and compares it with what the clients know.
#pragma once

#include "tests/crash/universe.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tallystick::test {

struct ReadBackResult {
  std::vector<std::string> problems;  // empty: all is right; else the first few dozen
  uint64_t cells = 0;                 // compared
  uint64_t in_doubt = 0;              // of these: had unanswered operations
  uint64_t entities = 0;              // whose counts, record and proof were compared
};

// Compares every cell, looks for members that nobody wrote, and (unless the universe is
// `only_redis`) compares every count, record and COUNT.VERIFY with the facts. What was in doubt is
// then taken as read. Nobody may write meanwhile.
ReadBackResult ReadBack(Universe* universe, uint16_t port);

}  // namespace tallystick::test
