#!/usr/bin/env python3
"""Counts the test cases of one `meson test` run and prints "N passed, N failed, N skipped" last.

usage: junit_summary.py LOGBASE     (LOGBASE.junit.xml and LOGBASE.json are read)

The JUnit file lists every case of a GoogleTest program, but on its own it would report some failures
as passes: a test that timed out carries no failure element, a program that fails after its last case
(a leak report) keeps a clean list, and a test that is expected to fail looks failed. The JSON log has
meson's verdict on every program. Both are read: a program that failed counts at least one failure.

Exit status: 0 only if something passed and nothing failed.
"""

import json
import sys
import xml.etree.ElementTree as ElementTree

PASSED = ("OK", "EXPECTEDFAIL")


def read_verdicts(path):
    """Returns {name of test program: meson's verdict}."""
    verdicts = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            # Of a repeated test the worst run counts.
            if verdicts.get(entry["name"], "OK") in PASSED + ("SKIP",):
                verdicts[entry["name"]] = entry["result"]
    return verdicts


def owner_of(suite, case, verdicts):
    """The test program that a case belongs to: programs with one result are listed by case name,
    others by a suite called project.program[.suite]."""
    if case in verdicts:
        return case
    matches = [v for v in verdicts if (suite + ".").partition(".")[2].startswith(v + ".")]
    return max(matches, key=len) if matches else None


def outcome_of(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.find("skipped") is not None or case.get("status") == "notrun":
        return "skipped"
    return "passed"


def summarise(junit, verdicts):
    """Returns ({outcome: count}, [description of each failure])."""
    count = {"passed": 0, "failed": 0, "skipped": 0}
    failures = []
    cases = {name: [] for name in verdicts}
    cases[None] = []
    for suite in junit.iter("testsuite"):
        for case in suite.findall("testcase"):
            owner = owner_of(suite.get("name", ""), case.get("name", ""), verdicts)
            label = "%s.%s" % (suite.get("name"), case.get("name"))
            cases[owner].append((label, outcome_of(case)))
    for name, listed in cases.items():
        verdict = verdicts.get(name)
        if verdict == "EXPECTEDFAIL":
            count["passed"] += 1
            continue
        failed = [label for label, outcome in listed if outcome == "failed"]
        if verdict is None or verdict in PASSED + ("SKIP",):
            for _, outcome in listed:
                count[outcome] += 1
            failures += failed
            continue
        # The program failed as a whole. A case that carries the program's own name is its verdict.
        for label, outcome in listed:
            if outcome != "failed" and not label.endswith("." + name):
                count[outcome] += 1
        count["failed"] += max(1, len(failed))
        failures += failed or ["%s: %s" % (name, verdict)]
    return count, failures


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        junit = ElementTree.parse(sys.argv[1] + ".junit.xml").getroot()
        verdicts = read_verdicts(sys.argv[1] + ".json")
    except (OSError, ValueError, ElementTree.ParseError) as error:
        print("no usable test log: %s" % error)
        print("0 passed, 0 failed, 0 skipped")
        return 1
    count, failures = summarise(junit, verdicts)
    for failure in failures:
        print("FAILED %s" % failure)
    print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % count)
    return 0 if count["passed"] > 0 and count["failed"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
