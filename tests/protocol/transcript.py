"""Transcript files: commands to be sent to redis-server and to tallystick-server, and how to compare.

    % --requirepass secret     servers of this file are started with these arguments (first lines only)
    == name                    begins a case: a fresh connection on an empty keyspace
    COMMAND word "word\\x00"    both servers get it; the replies must be the same bytes
    ~ COMMAND                  the same when every number is masked
    ^ COMMAND                  the same kinds of values: lengths and contents are not compared
    ? COMMAND                  the same elements in any order
    ! COMMAND                  only tallystick-server gets it; the lines below state the reply
    > line                     one line of that reply; \\xHH, \\r, \\n, \\t and \\\\ are known
    >~ pattern                 a regular expression that the whole reply must match
    # comment

Commands are written as for redis-cli: quotes and escapes are those of inline requests.

differences.txt lists, one a line, where a reply is meant to differ:

    file/case | COMMAND as written | first line of our reply (or *) | reason
"""

import re

import resp

EXACT, MASKED, KINDS, UNORDERED, STATED = "", "~", "^", "?", "!"


class Step:
    def __init__(self, line, how):
        self.line = line
        self.how = how
        self.words = resp.split_words(line)
        self.expected = b""
        self.pattern = None

    def agrees_with_stated(self, reply):
        if self.pattern is not None:
            return re.fullmatch(self.pattern, reply, re.DOTALL) is not None
        return reply == self.expected


class Case:
    def __init__(self, name):
        self.name = name
        self.steps = []


def unescape(text):
    return resp.split_words('"' + text.replace('"', '\\"') + '"')[0] if text else b""


def parse_file(path):
    """Returns (arguments of the servers, cases)."""
    arguments, cases = [], []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            if line.startswith("% "):
                arguments += line[2:].split()
            elif line.startswith("== "):
                cases.append(Case(line[3:]))
            elif line.startswith(">~ "):
                cases[-1].steps[-1].pattern = line[3:].encode()
            elif line.startswith(">"):
                step = cases[-1].steps[-1]
                assert step.how == STATED, f"{path}:{number}: only a '!' command states its reply"
                step.expected += unescape(line[2:]) + b"\r\n"
            elif line[0] in "~^?!" and line[1:2] == " ":
                cases[-1].steps.append(Step(line[2:], line[0]))
            else:
                cases[-1].steps.append(Step(line, EXACT))
    for case in cases:
        for step in case.steps:
            assert step.how != STATED or step.expected or step.pattern, \
                f"{path}: {case.name}: {step.line}: no reply is stated"
    return arguments, cases


def kinds(value):
    """A value's shape, without contents."""
    if isinstance(value, resp.Map):
        return ("map",)
    if isinstance(value, list):
        return (type(value).__name__,)
    return type(value).__name__


def normal_form(raw, how):
    """What is compared of a reply."""
    if how == MASKED:
        # The length of a bulk string may differ with the number of digits in it.
        return re.sub(rb"\d+", b"N", raw)
    if how == KINDS:
        return kinds(resp.parse(raw)) if raw else raw
    if how == UNORDERED:
        return sort_deep(resp.parse(raw)) if raw else raw
    return raw


def sort_deep(value):
    if isinstance(value, list):
        return (type(value).__name__, sorted((sort_deep(v) for v in value), key=repr))
    return value


class Difference:
    def __init__(self, where, command, reply, reason):
        self.where, self.command, self.reply, self.reason = where, command, reply, reason
        self.seen = False  # its command ran
        self.differed = False

    def covers(self, reply):
        return self.reply == "*" or reply.split(b"\r\n")[0] == unescape(self.reply)


def parse_differences(path):
    listed = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            fields = line.split(" | ")
            assert len(fields) == 4 and all(fields), f"{path}:{number}: four fields are wanted: {line}"
            entry = Difference(*fields)
            key = (entry.where, entry.command)
            assert key not in listed, f"{path}:{number}: listed twice: {key}"
            listed[key] = entry
    return listed
