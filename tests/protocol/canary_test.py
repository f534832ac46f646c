"""Proves that the protocol tests report a wrong answer: planted here, found there.

redis-server stands in for the server under test, behind a client that changes one byte of one reply.
Each test's own machinery must pass without the change and must fail with it.
"""

import io
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import malformed_test
import random_commands_test
import resp
import server_process
import split_input_test
import tap
import transcript
import transcripts_test

SEED = 1
TRANSCRIPT = """== one
SET k value
GET k
SADD s 1 2
? SMEMBERS s
~ CLIENT ID
! ECHO stated
> $6
> stated
"""


class LyingClient(resp.Client):
    """Replaces `truth` by `lie` in what it receives."""

    truth, lie = b"", b""

    def _fill(self):
        super()._fill()
        if self.truth:
            self.buffer[:] = self.buffer.replace(self.truth, self.lie)


class LyingRedis(server_process.Redis):
    def client(self, timeout=resp.READ_TIMEOUT_SECONDS):
        return LyingClient(self.address, timeout)


def failures(run, truth=b"", lie=b""):
    """How many cases fail in a suite that run(suite) fills while the client lies."""
    assert len(truth) == len(lie)
    LyingClient.truth, LyingClient.lie = truth, lie
    out = io.StringIO()
    try:
        with tap.Suite("the canary's suite", out) as suite:
            run(suite)
    finally:
        LyingClient.truth = b""
    return suite.failed


def must_find(suite, name, run, truth, lie):
    with suite.case(f"{name}: the truth passes"):
        assert failures(run) == 0
    with suite.case(f"{name}: a lie is found"):
        assert failures(run, truth, lie) > 0


def check_differences(suite, path, directory):
    """A listed difference that is none must be seen as such."""
    def run(listed):
        entry = transcript.Difference("canary/one", "GET k", "*", "a reason")
        differences = {(entry.where, entry.command): entry} if listed else {}
        transcripts_test.run_file(tap.Suite("inner", io.StringIO()), path, differences, LyingRedis,
                                  server_process.Redis, directory)
        return entry
    with suite.case("a listed difference that does not differ is noticed"):
        entry = run(listed=True)
        assert entry.seen and not entry.differed
    with suite.case("a listed difference is let pass, and noticed as one"):
        LyingClient.truth, LyingClient.lie = b"$5\r\nvalue", b"$5\r\nvulue"
        try:
            entry = run(listed=True)
        finally:
            LyingClient.truth = b""
        assert entry.seen and entry.differed


def main():
    if not server_process.redis_binary():
        tap.skip_all("redis-server is not installed")
    with tap.Suite(__doc__) as suite, server_process.temporary_directory("canary") as directory:
        path = os.path.join(directory, "canary.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(TRANSCRIPT)

        def transcripts(inner):
            transcripts_test.run_file(inner, path, {}, LyingRedis, server_process.Redis, directory)
        must_find(suite, "transcripts, an exact reply", transcripts, b"value", b"valux")
        must_find(suite, "transcripts, an unordered reply", transcripts, b"$1\r\n2\r\n", b"$1\r\n3\r\n")
        must_find(suite, "transcripts, a stated reply", transcripts, b"stated", b"st4ted")
        must_find(suite, "transcripts, the kind of a reply", transcripts, b"+OK", b":11")
        check_differences(suite, path, directory)

        with LyingRedis(os.path.join(directory, "liar")) as liar, \
                server_process.Redis(os.path.join(directory, "redis")) as redis:
            def random_commands(inner):
                random_commands_test.run(inner, SEED, 2000, redis, liar)
            must_find(suite, "random commands", random_commands, b"foobar", b"foobaz")

            def split_input(inner):
                split_input_test.run_against_redis(inner, liar, redis)
            must_find(suite, "split input", split_input, b"PONG", b"PANG")
            cases = [c for c in malformed_test.CASES if c[3] is None][:10]

            def malformed(inner):
                malformed_test.run(inner, cases, redis, liar, True)
            must_find(suite, "malformed input", malformed, b"unknown", b"unkn0wn")


if __name__ == "__main__":
    main()
