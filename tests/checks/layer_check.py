"""Proves that layers depend on each other only downwards, by looking at every #include.

usage: layer_check.py ROOT

The order is: public <- base <- facts, events <- fact table, storage's interface <- counts <- recovery <-
engine (write path and wiring). The fact table (entities and shards, in engine/facts) keeps events of the
journal's tail until their entity is loaded, so it stands above both; sets and images know no event. The server, the tools and the load driver see the public headers only. Each
big library has one place: it can be replaced there, and its faults end there.
"""

import re
import sys

import source_tree

# For each layer: the layers that it may include, besides itself and the public headers.
MAY_INCLUDE = {
    "public": (),
    "base": (),
    "facts": ("base",),
    "events": ("base",),
    "fact_table": ("base", "facts", "events"),
    "store_interface": ("base", "events"),
    "storage": ("base", "events", "store_interface"),
    "counts": ("base", "facts", "events", "fact_table", "store_interface"),
    "recovery": ("base", "facts", "events", "fact_table", "store_interface", "storage", "counts"),
    "engine": ("base", "facts", "events", "fact_table", "store_interface", "storage", "counts", "recovery"),
    "server": (),
    "tools": (),
    "load": (),
}

# Libraries and the only paths that may include them (tests and micro-benchmarks may, besides).
LIBRARY_HOME = {
    r"rocksdb/": r"engine/storage/",
    r"roaring/": r"engine/facts/roaring_\w+\.(h|cc)$|engine/facts/export\.cc$",
    r"concurrentqueue/": r"engine/events/ring\w*\.(h|cc)$",
    r"xxhash\.h$": r"engine/base/",
    r"asio(/|\.hpp$)": r"server/",
    r"CLI/": r"(server|tools)/\w+",
}

FACT_TABLE = re.compile(r"engine/facts/(entity|fact_table|shard)\.(h|cc)$")

# Pure parts know no lock, no thread, no clock and no disk.
PURE = re.compile(
    r"engine/facts/(?!(entity|shard|fact_table)\.)|engine/events/(?!ring)"
    r"|engine/counts/(schema|sds_record|bucket|fold)"
)
IMPURE = re.compile(
    r"engine/base/(mutex|clock|executor|random)\.h$"
    r"|(mutex|shared_mutex|thread|condition_variable|chrono|random|fstream|filesystem)$"
    r"|(unistd|fcntl|pthread|time|sys/\w+)\.h$"
)

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
WITHOUT_LIMITS = re.compile(r"(tests|bench/micro|examples)/")


def layer_of(path):
    """The layer of a file of ours, None where no limits apply."""
    if WITHOUT_LIMITS.match(path):
        return None
    if path.startswith("engine/include/"):
        return "public"
    if path == "engine/storage/store.h":
        return "store_interface"
    if FACT_TABLE.match(path):
        return "fact_table"
    match = re.match(r"engine/(\w+)/", path)
    if match:
        return match.group(1)
    return {"engine": "engine", "server": "server", "tools": "tools", "bench": "load"}[path.split("/")[0]]


def problems_of(path, text):
    layer = layer_of(path)
    if layer is None:
        return
    if layer not in MAY_INCLUDE:
        yield "%s: engine/%s is not a layer" % (path, layer)
        return
    for match in INCLUDE.finditer(text):
        mark, target = match.groups()
        place = "%s:%d" % (path, text.count("\n", 0, match.start()) + 1 + match.group().count("\n"))
        if target.startswith("tallystick/"):
            if mark == '"':
                yield '%s: "%s" is a public header: include it as <%s>' % (place, target, target)
            continue
        if re.match(r"(engine|server|tools|bench|tests)/", target):
            if target.startswith("engine/include/"):
                yield "%s: %s is a public header: include it as <tallystick/...>" % (place, target)
                continue
            wanted = layer_of(target)
            if wanted is None or (wanted != layer and wanted not in MAY_INCLUDE[layer]):
                yield "%s: %s may not include %s" % (place, layer, target)
        elif mark == '"':
            yield "%s: include %s by its path from the root of the tree" % (place, target)
        for library, home in LIBRARY_HOME.items():
            if re.match(library, target) and not re.match(home, path):
                yield "%s: <%s> has its place in %s" % (place, target, home)
        if PURE.match(path) and IMPURE.match(target):
            yield "%s: a pure part may not include <%s>" % (place, target)


def check(root):
    """Returns (number of files, problems)."""
    examined, problems = 0, []
    for path in source_tree.files(root, ("engine", "server", "tools", "bench"), source_tree.CPP):
        examined += 1
        problems += problems_of(path, source_tree.read(root, path))
    return examined, problems


if __name__ == "__main__":
    source_tree.report("layer_check", *check(sys.argv[1]))
