"""Proves that the engine reaches clock, threads, random numbers and files only through what is injected.

usage: direct_use_check.py ROOT

Tests can then stop the clock, run background work by hand and take the disk away at any call. Only
engine/base (the real clock, executor and random source) is free; files go through RocksDB's FileSystem.
"""

import re
import sys

import source_tree

# (what is looked for, what to use in its place). A call counts unless it is a member's or another
# namespace's: `open(`, `::open(` and `std::rename(`, but not `file->open(` or `Watermark::Open(`.
CALL = r"(?<![\w.>:])(?:(?:std)?::)?(?:%s)\s*\("
FORBIDDEN = [
    (r"\b\w*_clock::now\b", "engine/base/clock.h"),
    (CALL % "gettimeofday|clock_gettime|timespec_get", "engine/base/clock.h"),
    (r"(?<![\w.>])time\s*\(\s*(nullptr|NULL|0|&)", "engine/base/clock.h"),
    (CALL % "clock" + r"\s*\)", "engine/base/clock.h"),
    (r"\bsleep_(for|until)\b", "engine/base/executor.h"),
    (CALL % "sleep|usleep|nanosleep|clock_nanosleep", "engine/base/executor.h"),
    (r"\bstd::(jthread|thread|async)\b(?!::)", "engine/base/executor.h"),
    (CALL % "pthread_create|fork|vfork", "engine/base/executor.h"),
    (r"\brandom_device\b", "engine/base/random.h"),
    (CALL % "rand|srand|rand_r|drand48|getrandom|getentropy", "engine/base/random.h"),
    (CALL % "random" + r"\s*\)", "engine/base/random.h"),
    (
        CALL % "open|openat|creat|fopen|fdopen|freopen|fsync|fdatasync|syncfs|rename|unlink|"
        "remove|mkdir|rmdir|truncate|ftruncate|pwrite|pread|mmap",
        "RocksDB's FileSystem",
    ),
    (r"\bstd::(basic_)?[io]?fstream\b|\bstd::filesystem\b", "RocksDB's FileSystem"),
    (r"\bstd::(recursive_|shared_|timed_)*mutex\b|\bstd::condition_variable", "engine/base/mutex.h"),
]


def problems_of(path, text):
    code = source_tree.code_only(text)
    for pattern, instead in FORBIDDEN:
        for match in re.finditer(pattern, code):
            line = code.count("\n", 0, match.start()) + 1
            yield "%s:%d: %s is not injected; use %s" % (path, line, match.group().strip(" ("), instead)


def check(root):
    """Returns (number of files, problems)."""
    examined, problems = 0, []
    for path in source_tree.files(root, ("engine",), source_tree.CPP):
        if path.startswith("engine/base/"):
            continue
        examined += 1
        problems += problems_of(path, source_tree.read(root, path))
    return examined, problems


if __name__ == "__main__":
    source_tree.report("direct_use_check", *check(sys.argv[1]))
