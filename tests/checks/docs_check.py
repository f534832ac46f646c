"""Proves that the documents name what exists: files, links, headings, test cases.

usage: docs_check.py ROOT

Looks at every Markdown file. In backticks, what looks like a path of this tree must exist (a `*` must
match something, `{a,b}` is expanded), a bare file name such as `ring.h` must exist somewhere, and a
GoogleTest case such as `SchemaTest.DefaultSlots` must be written somewhere under tests. Code blocks are
left out. Links must lead to a file and, with #, to a heading. No document may name a path of one
particular machine.
"""

import fnmatch
import os
import re
import sys

import source_tree

TOP_FILE = re.compile(r"[\w.-]+\.(h|cc|py|md|build|txt|supp|in)$|LICENSE$")
TEST_CASE = re.compile(r"([A-Z]\w*[a-z]\w*)\.([A-Z]\w*[a-z]\w*)$")
# The folder of test data lies beside the tree; only the document on testing says so.
DATA_FOLDER = re.compile(r"\.\./shared\b")
DATA_FOLDER_DOCUMENTS = ("docs/testing.md",)
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(root|home)/\w")


def without_code_blocks(text):
    """Blanks out fenced blocks; line numbers stay."""
    return re.sub(
        r"^( *)(```|~~~).*?^\1\2[^\n]*$",
        lambda match: re.sub(r"[^\n]", "", match.group()),
        text,
        flags=re.DOTALL | re.MULTILINE,
    )


def expand(token):
    """`a/{b,c}.h` -> a/b.h, a/c.h"""
    match = re.search(r"\{([^{}]*,[^{}]*)\}", token)
    if not match:
        return [token]
    expanded = []
    for part in match.group(1).split(","):
        expanded += expand(token[: match.start()] + part.strip() + token[match.end() :])
    return expanded


def heading_anchors(text):
    """GitHub's anchors: lower case, blanks to dashes, other signs dropped."""
    anchors = set()
    for heading in re.findall(r"^#+ +(.*?) *#*$", without_code_blocks(text), re.MULTILINE):
        anchors.add(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-"))
    return anchors


class Tree:
    """What exists below root."""

    def __init__(self, root):
        self.root = root
        self.files = list(source_tree.files(root))
        self.tops = {path.split("/")[0] for path in self.files if "/" in path}
        self.folders = {os.path.dirname(path) for path in self.files}
        for folder in list(self.folders):
            while folder:
                self.folders.add(folder)
                folder = os.path.dirname(folder)
        self.names = {os.path.basename(path) for path in self.files}
        self.cases = set()
        for path in source_tree.files(root, ("tests",), (".cc",)):
            for match in re.finditer(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", source_tree.read(root, path)):
                self.cases.add(match.groups())

    def has_path(self, path):
        path = path.rstrip("/")
        if "*" in path:
            return any(fnmatch.fnmatch(existing, path) for existing in self.files)
        return path in self.files or path in self.folders


def problem_of_token(tree, token):
    """What is wrong with one piece of text in backticks, or None."""
    word = re.sub(r":\d+$", "", token.split(" ")[0].strip("<>"))
    if word.startswith("tallystick/") and word.endswith(".h"):
        word = "engine/include/" + word
        if word == "engine/include/tallystick/version.h":
            word += ".in"
    case = TEST_CASE.match(word)
    if case and " " not in token:
        return None if case.groups() in tree.cases else "no test case %s" % word
    for path in expand(word):
        if re.search(r"[^\w./*+-]", path):
            continue
        if "/" in path:
            if path.split("/")[0] in tree.tops and not tree.has_path(path):
                return "no file or folder %s" % path
        elif TOP_FILE.match(path) and not any(fnmatch.fnmatch(name, path) for name in tree.names):
            return "no file is called %s" % path
    return None


def problem_of_link(tree, document, target):
    if re.match(r"[a-z]+:", target):
        return None
    path, _, anchor = target.partition("#")
    path = os.path.normpath(os.path.join(os.path.dirname(document), path)) if path else document
    if not tree.has_path(path):
        return "the link to %s leads nowhere" % target
    if anchor and anchor not in heading_anchors(source_tree.read(tree.root, path)):
        return "%s has no heading #%s" % (path, anchor)
    return None


def problems_of(tree, document, text):
    prose = without_code_blocks(text)

    def place(offset):
        return "%s:%d: " % (document, prose.count("\n", 0, offset) + 1)

    for match in re.finditer(r"`([^`\n]+)`", prose):
        problem = problem_of_token(tree, match.group(1))
        if problem:
            yield place(match.start()) + problem
    for match in re.finditer(r"\]\(([^)\s]+)\)", prose):
        problem = problem_of_link(tree, document, match.group(1))
        if problem:
            yield place(match.start()) + problem
    for number, line in enumerate(text.split("\n"), 1):
        if MACHINE_PATH.search(line) or tree.root in line:
            yield "%s:%d: a path of one particular machine" % (document, number)
        if DATA_FOLDER.search(line) and document not in DATA_FOLDER_DOCUMENTS:
            yield "%s:%d: only %s may name the data folder" % (document, number, DATA_FOLDER_DOCUMENTS[0])


def check(root):
    """Returns (number of documents, problems)."""
    tree = Tree(os.path.abspath(root))
    examined, problems = 0, []
    for document in source_tree.files(root, None, (".md",)):
        examined += 1
        problems += problems_of(tree, document, source_tree.read(root, document))
    return examined, problems


if __name__ == "__main__":
    source_tree.report("docs_check", *check(sys.argv[1]))
