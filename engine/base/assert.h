// Assertions. TALLY_ASSERT stays on in release: a broken invariant stops the process before
// anything wrong is persisted. TALLY_DCHECK is for checks that cost more than the code they guard.
#pragma once

namespace tallystick {

[[noreturn]] void AssertionFailed(const char* expression, const char* file, int line);

}  // namespace tallystick

#define TALLY_ASSERT(expression)                      \
  (__builtin_expect(static_cast<bool>(expression), 1) \
       ? static_cast<void>(0)                         \
       : ::tallystick::AssertionFailed(#expression, __FILE__, __LINE__))

#ifdef NDEBUG
#define TALLY_DCHECK(expression) static_cast<void>(0)
#else
#define TALLY_DCHECK(expression) TALLY_ASSERT(expression)
#endif
