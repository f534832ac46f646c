// Proves: all public headers together, included twice and in another order than their own, compile.
// How: by being compiled; running it proves nothing more.
// clang-format off
#include <tallystick/types.h>
#include <tallystick/status.h>
#include <tallystick/stats.h>
#include <tallystick/result.h>
#include <tallystick/options.h>
#include <tallystick/engine.h>
#include <tallystick/counts.h>
#include <tallystick/engine.h>
// clang-format on

int main() {
  return 0;
}
