#include "engine/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace tallystick {

void AssertionFailed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "tallystick: assertion failed: %s at %s:%d\n", expression, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace tallystick
