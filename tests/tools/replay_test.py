"""Proves that `tallystick replay` ends with the truth, in a server and in a directory, also when one
of them is killed in the middle and the file is replayed from its start; that `verify` then finds no
drift; and that what cannot be done is refused with the documented exit codes.

The real files of interactions are used where they are present, with the answers that come with them.
A small file of random interactions, whose truth the test computes itself, is used always.
"""

import csv
import gzip
import hashlib
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import server_process
import tap

CLI = os.environ.get("TALLYSTICK_CLI", "")
REAL_FILES = ("polis-votes", "de-election-shares")
HEADER = "ts,metric,etype,eid,uid,op\n"
RANDOM_ROWS = 60_000
# The metrics of the files are facts; the server and the tool read the same file.
CONFIG = "[schema]\ncomment = view:facts like:facts\n* = share:facts like:facts\n"
TRUTH = ("events", "changes", "items", "facts", "users", "counts_sha256", "top20")
AFTER_A_CRASH = tuple(name for name in TRUTH if name != "changes")  # part of it had changed already
OK, FAILED, USAGE, DIRECTORY_REFUSED = 0, 1, 2, 3


def data_directory():
    root = os.environ.get("TALLYSTICK_SOURCE_ROOT", ".")
    return os.environ.get("TALLYSTICK_DATA_DIR") or os.path.join(root, "..", "shared", "data")


class Input:
    """A file of interactions and its truth."""

    def __init__(self, name, path, text, truth):
        self.name = name
        self.path = path
        self.text = text  # the CSV, as bytes
        self.truth = truth

    def check(self, report, names):
        assert report.keys() >= set(names), report
        for name in names:
            assert report[name] == self.truth[name], (name, report[name], self.truth[name])


def real_input(name):
    path = os.path.join(data_directory(), name + ".csv.gz")
    if not os.path.exists(path):
        tap.skip(f"{name}.csv.gz is not there")
    with gzip.open(path) as file:
        text = file.read()
    with open(path.replace(".csv.gz", ".truth.json"), encoding="utf-8") as file:
        return Input(name, path, text, json.load(file))


def truth_of(rows):
    sets, changes, events = {}, 0, 0
    for _, metric, etype, eid, uid, op in rows:
        events += 1
        members = sets.setdefault((metric, etype, eid), set())
        before = len(members)
        (members.add if op == "1" else members.discard)(uid)
        changes += len(members) != before
    sets = {key: members for key, members in sets.items() if members}
    lines = sorted(("\t".join(key) + f"\t{len(members)}\n").encode() for key, members in sets.items())
    top = {}
    for (metric, etype, eid), members in sets.items():
        top.setdefault(f"{metric}:{etype}", []).append([eid, len(members)])
    for group in top:
        top[group] = sorted(top[group], key=lambda pair: (-pair[1], pair[0]))[:20]
    return {"events": events, "changes": changes, "items": len(lines),
            "facts": sum(map(len, sets.values())), "users": len(set().union(*sets.values())),
            "counts_sha256": hashlib.sha256(b"".join(lines)).hexdigest(), "top20": top}


def random_input(directory, rng):
    lines = [HEADER]
    for i in range(RANDOM_ROWS):
        metric, etype = rng.choice([("like", "comment"), ("view", "comment"), ("share", "url")])
        eid = f"e:{int(rng.paretovariate(1)) % 500}"
        uid = rng.choice([rng.randrange(3000), rng.randrange(1 << 64)])
        lines.append(f"{i},{metric},{etype},{eid},{uid},{int(rng.random() < 0.8)}\n")
    path = os.path.join(directory, "random.csv")
    with open(path, "w", encoding="ascii") as file:
        file.writelines(lines)
    return Input("random rows", path, "".join(lines).encode(), truth_of(csv.reader(lines[1:])))


def run(*arguments, code=OK):
    """Runs the tool, checks its exit code, and gives (stdout, stderr)."""
    done = subprocess.run([CLI, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout, done.stderr


def replay(path, *arguments):
    return json.loads(run("replay", path, "--json", *arguments)[0])


def verify(*arguments, code=OK):
    report = json.loads(run("verify", "--json", *arguments, code=code)[0])
    assert report["ok"] == (code == OK), report
    return report


class Feed:
    """A replay that reads from a pipe: what was written was taken in, but for the last buffers."""

    def __init__(self, directory, *arguments):
        self.path = os.path.join(directory, "pipe")
        if not os.path.exists(self.path):
            os.mkfifo(self.path)
        self.child = subprocess.Popen([CLI, "replay", self.path, "--pipeline", "500", *map(str, arguments)],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.pipe = open(self.path, "wb", buffering=0)

    def write(self, text):
        view = memoryview(text)
        while view:
            view = view[self.pipe.write(view):]

    def end(self):
        """Gives (exit code, stderr)."""
        _, errors = self.child.communicate()
        self.pipe.close()
        return self.child.returncode, errors

    def kill(self):
        self.child.kill()
        return self.end()


def cut(text):
    """Most of a file, and the rest."""
    return text[: len(text) * 7 // 10], text[len(text) * 7 // 10:]


def into_a_directory(directory, source, config):
    data = os.path.join(directory, "data")
    report = replay(source.path, "--dir", data, "--config", config)
    source.check(report, TRUTH)
    checked = verify("--dir", data)
    assert checked["facts"] == source.truth["facts"], checked
    again = replay(source.path, "--dir", data)
    source.check(again, AFTER_A_CRASH)


def into_a_directory_killed(directory, source, config):
    data = os.path.join(directory, "data")
    feed = Feed(directory, "--dir", data, "--config", config)
    feed.write(cut(source.text)[0])
    assert feed.kill()[0] < 0
    some = verify("--dir", data)["facts"]
    assert some > 0
    tap.comment(f"{some} of {source.truth['facts']} facts were there after the kill")
    source.check(replay(source.path, "--dir", data), AFTER_A_CRASH)
    assert verify("--dir", data)["facts"] == source.truth["facts"]


def into_a_server(directory, source, config):
    with server_process.Tallystick(directory, ["--config", config]) as server:
        port = server.address[1]
        source.check(replay(source.path, "--port", port), TRUTH)
        checked = verify("--port", port)
        assert checked["facts"] == source.truth["facts"], checked
        _, errors = run("verify", "--dir", server.directory, code=DIRECTORY_REFUSED)
        assert "in use" in errors and "tallystick verify --host" in errors, errors
        assert server.stop() == 0
        assert verify("--dir", server.directory)["facts"] == source.truth["facts"]


def into_a_server_killed(directory, source, config):
    with server_process.Tallystick(directory, ["--config", config]) as server:
        feed = Feed(directory, "--port", server.address[1], "--config", config)
        first, rest = cut(source.text)
        feed.write(first)
        server.kill()
        try:
            feed.write(rest)
        except BrokenPipeError:
            pass
        code, errors = feed.end()
        assert code == FAILED, (code, errors)
        assert "connection to 127.0.0.1" in errors and "rows were acknowledged" in errors, errors
        acknowledged = int(errors.split(" rows were acknowledged")[0].split()[-1].replace(",", ""))
        tap.comment(f"{acknowledged} of {source.truth['events']} rows were acknowledged")
        assert 0 < acknowledged < source.truth["events"]
        assert verify("--dir", server.directory)["facts"] > 0
    with server_process.Tallystick(directory, ["--config", config]) as server:
        port = server.address[1]
        source.check(replay(source.path, "--port", port), AFTER_A_CRASH)
        assert verify("--port", port)["facts"] == source.truth["facts"]
        server.kill()
        assert verify("--dir", server.directory)["facts"] == source.truth["facts"]


def refusals(directory, source, config):
    data = os.path.join(directory, "data")
    bad = os.path.join(directory, "bad.csv")
    with open(bad, "w", encoding="ascii") as file:
        file.write(HEADER + "1,like,comment,1,1,1\n2,like,comment,1,2,1\n3,like,comment,1,x,1\n4,like,comment,1,4,1\n")
    _, errors = run("replay", bad, "--dir", data, "--config", config, code=FAILED)
    assert f"{bad}:4: uid must be a number" in errors, errors
    assert "2 rows were acknowledged" in errors, errors
    assert verify("--dir", data)["facts"] == 2
    text, _ = run("dump", "comment:1", "--dir", data)
    assert "like: 2 members" in text and "1 2" in text, text
    with open(bad, "w", encoding="ascii") as file:
        file.write(HEADER + "1,fav,comment,1,1,1\n")
    _, errors = run("replay", bad, "--dir", data, code=FAILED)
    assert "fav" in errors and "[schema]" in errors, errors
    run("replay", bad, "--dir", data, "--port", 1, code=USAGE)
    run("replay", code=USAGE)
    run("nonsense", code=USAGE)
    run(code=USAGE)
    run("replay", os.path.join(directory, "none"), "--dir", data, code=FAILED)
    run("replay", source.path, "--dir", data, "--config", os.path.join(directory, "none"), code=USAGE)
    run("verify", "--dir", os.path.join(directory, "none"), code=DIRECTORY_REFUSED)
    run("dump", "comment:1", "--dir", os.path.join(directory, "none"), code=DIRECTORY_REFUSED)
    run("dump", "comment", "--dir", data, code=USAGE)
    for arguments in (["--help"], ["help"], ["help", "replay"], ["verify", "--help"], ["--version"]):
        assert run(*arguments)[0]


def a_dump_of_both(directory, config):
    with server_process.Tallystick(directory, ["--config", config]) as server:
        with server.client() as client:
            client.call("FACT.ADD", "like:comment:a:b", *range(0, 90, 3))
            client.call("COUNT.SYNC")
        port = server.address[1]
        from_server, _ = run("dump", "comment:a:b", "--port", port, "--members", 3)
        assert "like: 30 members" in from_server and " 0 3 6 ...\n" in from_server, from_server
        assert "record    000000000000001e\n" in from_server, from_server
        assert server.stop() == 0
        from_directory, _ = run("dump", "comment:a:b", "--dir", server.directory, "--members", 3)
        for line in from_directory.splitlines():
            # The sequence of a set is the server's to know; everything else is the same.
            if "bytes in memory" not in line and not line.startswith("sequence"):
                assert line in from_server.splitlines(), (line, from_server)


def main():
    if not os.access(CLI, os.X_OK):
        tap.skip_all("the tool is not built")
    rng = random.Random(tap.seed())
    with tap.Suite(__doc__.split("\n\n")[0]) as suite, server_process.temporary_directory("replay") as top:
        config = os.path.join(top, "config")
        with open(config, "w", encoding="ascii") as file:
            file.write(CONFIG)
        generated = random_input(top, rng)
        sources = [("random rows", lambda: generated)]
        sources += [(name, lambda name=name: real_input(name)) for name in REAL_FILES]
        for number, (name, load) in enumerate(sources):
            for way in (into_a_directory, into_a_directory_killed, into_a_server, into_a_server_killed):
                with suite.case(f"{name} {way.__name__.replace('_', ' ')}"):
                    if "server" in way.__name__ and server_process.tallystick_binary() is None:
                        tap.skip("the server is not built")
                    directory = os.path.join(top, f"{number}-{way.__name__}")
                    os.makedirs(directory)
                    way(directory, load(), config)
        for name, check in (("refusals", lambda d: refusals(d, generated, config)),
                            ("a dump of both", lambda d: a_dump_of_both(d, config))):
            with suite.case(name):
                directory = os.path.join(top, name.replace(" ", "-"))
                os.makedirs(directory)
                check(directory)


if __name__ == "__main__":
    main()
