"""Proves that tools/junit_summary.py counts right where meson's JUnit file alone would mislead.

How: writes the log pairs that meson 1.0 writes in each situation (they were copied from real runs and
cut short) and compares counts, exit status and last line.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.environ["TALLYSTICK_SOURCE_ROOT"], "tools", "junit_summary.py")

GTEST_SUITE = (
    '<testsuite name="tallystick.tallystick:unit / %s.A" tests="2">'
    '<testcase name="b" status="run" classname="A"/>'
    '<testcase name="c" status="run" classname="A">%s</testcase></testsuite>'
)
PLAIN_SUITE = (
    '<testsuite name="tallystick"><testcase name="tallystick:unit / %s" classname="tallystick">%s'
    "</testcase></testsuite>"
)


def summarise(suites, verdicts):
    """Runs the script; returns (exit status, last line)."""
    with tempfile.TemporaryDirectory() as folder:
        base = os.path.join(folder, "testlog")
        with open(base + ".junit.xml", "w", encoding="utf-8") as file:
            file.write("<testsuites>%s</testsuites>" % "".join(suites))
        with open(base + ".json", "w", encoding="utf-8") as file:
            for name, result in verdicts:
                file.write(json.dumps({"name": "tallystick:unit / " + name, "result": result}) + "\n")
        run = subprocess.run(
            [sys.executable, SCRIPT, base], stdout=subprocess.PIPE, encoding="utf-8", check=False
        )
        return run.returncode, run.stdout.splitlines()[-1]


class JunitSummaryTest(unittest.TestCase):
    def expect(self, suites, verdicts, status, line):
        self.assertEqual(summarise(suites, verdicts), (status, line))

    def test_cases_of_a_gtest_program_are_counted(self):
        self.expect([GTEST_SUITE % ("x", "")], [("x", "OK")], 0, "2 passed, 0 failed, 0 skipped")

    def test_skipped_case(self):
        self.expect(
            [GTEST_SUITE % ("x", "<skipped/>")], [("x", "OK")], 0, "1 passed, 0 failed, 1 skipped"
        )

    def test_failed_case(self):
        self.expect(
            [GTEST_SUITE % ("x", "<failure/>")], [("x", "FAIL")], 1, "1 passed, 1 failed, 0 skipped"
        )

    def test_failure_after_the_last_case(self):
        self.expect([GTEST_SUITE % ("x", "")], [("x", "FAIL")], 1, "2 passed, 1 failed, 0 skipped")

    def test_timeout_has_no_failure_element(self):
        self.expect([PLAIN_SUITE % ("x", "")], [("x", "TIMEOUT")], 1, "0 passed, 1 failed, 0 skipped")

    def test_crash(self):
        self.expect(
            [PLAIN_SUITE % ("x", "<failure/>")], [("x", "FAIL")], 1, "0 passed, 1 failed, 0 skipped"
        )

    def test_program_that_is_expected_to_fail(self):
        self.expect(
            [GTEST_SUITE % ("x", "<failure/>")],
            [("x", "EXPECTEDFAIL")],
            0,
            "1 passed, 0 failed, 0 skipped",
        )

    def test_unexpected_pass(self):
        self.expect(
            [GTEST_SUITE % ("x", "")], [("x", "UNEXPECTEDPASS")], 1, "2 passed, 1 failed, 0 skipped"
        )

    def test_skipped_program_alone_is_not_success(self):
        self.expect(
            [PLAIN_SUITE % ("x", "<skipped/>")], [("x", "SKIP")], 1, "0 passed, 0 failed, 1 skipped"
        )

    def test_names_where_one_begins_with_the_other(self):
        self.expect(
            [GTEST_SUITE % ("x", ""), GTEST_SUITE % ("x.y", "<failure/>")],
            [("x", "OK"), ("x.y", "FAIL")],
            1,
            "3 passed, 1 failed, 0 skipped",
        )

    def test_no_tests(self):
        self.expect([], [], 1, "0 passed, 0 failed, 0 skipped")

    def test_no_log(self):
        run = subprocess.run(
            [sys.executable, SCRIPT, "/nonexistent/testlog"],
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stdout.splitlines()[-1], "0 passed, 0 failed, 0 skipped")


if __name__ == "__main__":
    unittest.main()
