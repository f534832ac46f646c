"""Proves that docs/operations.md and `tallystick-server --help` name the same flags.

usage: flags_check.py ROOT SERVER
"""

import re
import subprocess
import sys

import source_tree

# Flags of other programs, and of tools, that the page mentions.
OTHERS = {"--version", "--help", "--host"}


def difference(page, help_text):
    """Returns the problems: flags that only one of the two texts has."""
    documented = set(re.findall(r"`(--[a-z][a-z-]*)`", page)) - OTHERS
    known = set(re.findall(r"^ +(?:-\w,)?(--[a-z][a-z-]*)", help_text, re.MULTILINE)) - OTHERS
    problems = ["docs/operations.md does not name %s" % flag for flag in sorted(known - documented)]
    problems += ["the server has no flag %s" % flag for flag in sorted(documented - known)]
    return len(known), problems


def main(root, server):
    done = subprocess.run(
        [server, "--help"], stdout=subprocess.PIPE, encoding="utf-8", check=True
    )
    page = source_tree.read(root, "docs/operations.md")
    source_tree.report("flags_check", *difference(page, done.stdout))


if __name__ == "__main__":
    main(*sys.argv[1:])
