"""Prints test results in the Test Anything Protocol, so that the runner lists every case.

    with tap.Suite("what this test proves") as suite:
        with suite.case("a name"):
            assert ...

A case fails by any exception (the traceback is printed as a comment) and ends by `tap.skip(why)`
when it cannot run here. The process exits with 1 when a case failed. Not thread-safe.
"""

import contextlib
import os
import random
import sys
import traceback


class Skip(Exception):
    """Raised by skip(): the case cannot run here, and the message says why."""


def skip(why):
    raise Skip(why)


def comment(text, out=None):
    """Prints text as comment lines, which the runner keeps in its log."""
    for line in str(text).splitlines() or [""]:
        print("# " + line, file=out, flush=True)


def seed():
    """The seed of this run: TALLYSTICK_TEST_SEED, or a fresh one. Printed, so that it can be given."""
    value = int(os.environ.get("TALLYSTICK_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
    comment(f"seed {value} (repeat with TALLYSTICK_TEST_SEED={value})")
    return value


def skip_all(why):
    """Ends the process with the one TAP line that says that nothing can run here."""
    print(f"1..0 # SKIP {why}", flush=True)
    sys.exit(0)


class Suite:
    """Numbers the cases and prints the plan at the end. With `out` it prints there and does not end
    the process: so a canary runs a suite that has to fail."""

    def __init__(self, proves, out=None):
        self.count = 0
        self.failed = 0
        self.out = out
        comment(proves, out)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None and not issubclass(kind, SystemExit):
            # A failure outside every case: it is reported as one.
            traceback.print_exception(kind, value, trace, file=sys.stderr)
            self._report(False, "the test itself")
        print(f"1..{self.count}", file=self.out, flush=True)
        if self.out is None and (self.failed or kind is not None):
            sys.exit(1)

    def _report(self, passed, name, suffix=""):
        self.count += 1
        self.failed += not passed
        name = name.replace("#", "no.")
        print(f"{'ok' if passed else 'not ok'} {self.count} - {name}{suffix}", file=self.out,
              flush=True)

    @contextlib.contextmanager
    def case(self, name):
        try:
            yield
        except Skip as why:
            self._report(True, name, f" # SKIP {why}")
        except Exception:
            comment(traceback.format_exc(), self.out)
            self._report(False, name)
        else:
            self._report(True, name)
