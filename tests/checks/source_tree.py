"""What the checks share: the list of files, C++ without comments and strings, and the way to report."""

import os
import re
import sys

SKIPPED_FOLDERS = re.compile(r"^(build.*|data|\..*|__pycache__|subprojects)$")
CPP = (".h", ".cc", ".h.in", ".cc.in")


def files(root, tops=None, suffixes=None):
    """Yields the paths of files, relative to root and sorted, under the folders `tops` (default: all)."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not SKIPPED_FOLDERS.match(f))
        relative = os.path.relpath(folder, root)
        if relative != "." and tops and relative.split(os.sep)[0] not in tops:
            folders[:] = []
            continue
        for name in sorted(names):
            if suffixes is None or name.endswith(tuple(suffixes)):
                yield os.path.normpath(os.path.join(relative, name))


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


TOKENS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)


def code_only(text):
    """C++ text with comments and literals blanked out; line numbers stay. An apostrophe between
    digits is a separator, not a literal."""
    text = re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "", text)

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())

    return TOKENS.sub(blank, text)


def report(name, examined, problems):
    """Prints the problems and ends the process; a check that examined nothing has failed."""
    for problem in problems:
        print(problem)
    print("%s: %d examined, %d problems" % (name, examined, len(problems)))
    sys.exit(1 if problems or examined == 0 else 0)
