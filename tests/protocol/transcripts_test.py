"""Proves that tallystick-server answers as redis-server does, byte for byte.

Every case of transcripts/*.txt is run against both servers, in RESP2 and RESP3, each as single
requests, as inline requests, and as one pipeline sent in a single write. Differences must be listed
in differences.txt with a reason; a listed difference that no longer differs fails as well.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import resp
import server_process
import tap
import transcript

HERE = os.path.dirname(os.path.abspath(__file__))
SINGLE, INLINE, PIPELINE = "single", "inline", "pipeline"
CLOSED = b"<closed>"
MARKER = b"the end of the case"


def frame(step, framing):
    return resp.encode_inline(step.words) if framing == INLINE else resp.encode(step.words)


def batches(steps, framing):
    """The steps in groups, each sent in one write. Counts tell what is acknowledged, which the writes of
    the same pipeline are not yet: COUNT.* begins a new group."""
    groups = []
    for step in steps:
        if framing != PIPELINE or not groups or step.words[0].upper().startswith(b"COUNT."):
            groups.append([])
        groups[-1].append(step)
    return groups


def open_connection(server, protocol):
    client = server.client()
    if protocol == 3:
        hello = client.call("HELLO", "3")
        if isinstance(hello, resp.Error):
            # A server that wants a password first: the protocol is switched with it.
            client.close()
            client = server.client()
    return client


def run_case(server, case, protocol, framing, ours):
    """The raw reply of each step; None for what this server is not asked."""
    steps = [s for s in case.steps if ours or s.how != transcript.STATED]
    replies = {}
    client = open_connection(server, protocol)
    with client:
        try:
            for batch in batches(steps, framing):
                for step in batch:
                    replies[id(step)] = CLOSED
                client.send_raw(b"".join(frame(step, framing) for step in batch))
                for step in batch:
                    replies[id(step)] = client.read_raw()
            client.send_raw(resp.encode(["ECHO", MARKER]))
            end = client.read_raw()
        except (resp.Closed, BrokenPipeError, ConnectionResetError):
            end = CLOSED
    return [replies.get(id(s)) for s in case.steps], end


def compare(where, case, redis_run, our_run, differences):
    """Every unlisted difference as text; None for redis_run compares only the stated replies."""
    problems = []
    replies, end = our_run
    redis_replies, redis_end = redis_run or ([None] * len(replies), None)
    for step, theirs, reply in zip(case.steps, redis_replies, replies):
        listed = differences.get((where, step.line))
        if listed:
            listed.seen = True
        if step.how == transcript.STATED:
            if reply is None or not step.agrees_with_stated(reply):
                want = step.pattern if step.pattern is not None else step.expected
                problems.append(f"{step.line}\n  stated     {want!r}\n  tallystick {reply!r}")
            continue
        if redis_run is None:
            continue
        try:
            same = reply is not None and theirs is not None and \
                transcript.normal_form(reply, step.how) == transcript.normal_form(theirs, step.how)
        except Exception as error:
            problems.append(f"{step.line}\n  unreadable: {error!r} in {reply!r}")
            continue
        if same:
            continue
        if listed:
            listed.differed = True
            if reply is not None and listed.covers(reply):
                continue
        problems.append(f"{step.line}\n  redis      {theirs!r}\n  tallystick {reply!r}")
    if redis_run is not None and end != redis_end:
        problems.append(f"at the end of the case\n  redis      {redis_end!r}\n  tallystick {end!r}")
    return problems


def empty(server, arguments):
    with server.client() as client:
        if "--requirepass" in arguments:
            client.must("AUTH", arguments[arguments.index("--requirepass") + 1])
        client.must("FLUSHALL")


def run_file(suite, path, differences, start_ours, start_redis, directory):
    """Runs all cases of one file. start_redis may give None: then only stated replies are compared."""
    name = os.path.splitext(os.path.basename(path))[0]
    arguments, cases = transcript.parse_file(path)
    with start_ours(os.path.join(directory, name + "-ours"), arguments) as ours:
        redis = start_redis(os.path.join(directory, name + "-redis"), arguments)
        try:
            for case in cases:
                where = f"{name}/{case.name}"
                for protocol in (2, 3):
                    for framing in (SINGLE, INLINE, PIPELINE):
                        with suite.case(f"{where}, RESP{protocol}, {framing}"):
                            for server in filter(None, (ours, redis)):
                                empty(server, arguments)
                            theirs = redis and run_case(redis, case, protocol, framing, ours=False)
                            mine = run_case(ours, case, protocol, framing, ours=True)
                            problems = compare(where, case, theirs, mine, differences)
                            assert not problems, "replies differ:\n" + "\n".join(problems)
        finally:
            if redis:
                redis.kill()


def main():
    if not server_process.tallystick_binary():
        tap.skip_all("TALLYSTICK_SERVER names no program")
    differences = transcript.parse_differences(os.path.join(HERE, "differences.txt"))
    have_redis = server_process.redis_binary() is not None
    folder = os.path.join(HERE, "transcripts")
    with tap.Suite(__doc__) as suite, server_process.temporary_directory("transcripts") as directory:
        if not have_redis:
            tap.comment("redis-server is not installed: only stated replies are compared")
        for file in sorted(os.listdir(folder)):
            run_file(suite, os.path.join(folder, file), differences, server_process.Tallystick,
                     server_process.Redis if have_redis else lambda *unused: None, directory)
        with suite.case("every listed difference is one"):
            if not have_redis:
                tap.skip("redis-server is not installed")
            stale = [f"{d.where} | {d.command}: " +
                     ("no longer differs" if d.seen else "no such case and command")
                     for d in differences.values() if not d.differed]
            assert not stale, "to be removed from differences.txt:\n" + "\n".join(stale)


if __name__ == "__main__":
    main()
