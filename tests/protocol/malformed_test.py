"""Proves that malformed and unusual input gets redis-server's reply, or the stated right one.

Each case sends bytes on a fresh connection and says how the conversation must end: CLOSE (the server
closes it), MARKER (it goes on: an ECHO that follows is answered) or WAITS (the request is incomplete:
nothing is answered until we close our side). A reply of None stands for redis-server's own. After
every case the server must still answer a PING on another connection.
"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import resp
import server_process
import socket
import tap

CLOSE, MARKER, WAITS = "close", "marker", "waits"
MARK = b"the-marker"
MARK_REPLY = b"$%d\r\n%s\r\n" % (len(MARK), MARK)
PROTOCOL_ERROR = rb"-ERR Protocol error: [ -~]*\r\n"

# name, input, how it ends, the right reply as a pattern (None: what redis-server answers)
CASES = [
    ("empty lines", b"\r\n\r\n \r\n", MARKER, None),
    ("a space, then PING", b" \r\nPING\r\n", MARKER, None),
    ("multibulk -1, then SET", b"*-1\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n", MARKER, None),
    ("multibulk -10", b"*-10\r\n", MARKER, None),
    ("multibulk 0", b"*0\r\n", MARKER, None),
    ("an empty command name", b"*1\r\n$0\r\n\r\n", MARKER, None),
    ("a NUL in a command name", b"*1\r\n$4\r\nPI\0G\r\n", MARKER, None),
    ("inline with LF only", b"PING\nPING\n", MARKER, None),
    ("inline with quotes", b"SET k \"a b\"\r\nGET 'k'\r\n", MARKER, None),
    ("inline with escapes", b"ECHO \"\\x41\\n\\t\\\"\"\r\nECHO 'it\\'s'\r\n", MARKER, None),
    ("inline with unbalanced quotes", b"SET k \"abc\r\n", CLOSE, None),
    ("inline with a single quote open", b"SET k 'abc\r\n", CLOSE, None),
    ("inline with text after a quote", b"SET k \"abc\"d\r\n", CLOSE, None),
    ("a bulk outside an array", b"$4\r\nPING\r\n", MARKER, None),
    ("an integer outside an array", b":1\r\n", MARKER, None),
    ("bulk length -1", b"*1\r\n$-1\r\n", CLOSE, None),
    ("bulk length +4", b"*1\r\n$+4\r\nPING\r\n", CLOSE, None),
    ("bulk length 04", b"*1\r\n$04\r\nPING\r\n", CLOSE, None),
    ("bulk length with a space", b"*1\r\n$ 4\r\nPING\r\n", CLOSE, None),
    ("bulk length with a letter", b"*1\r\n$4x\r\nPING\r\n", CLOSE, None),
    ("bulk length empty", b"*1\r\n$\r\nPING\r\n", CLOSE, None),
    ("bulk length beyond 512 MB", b"*2\r\n$4\r\nECHO\r\n$536870913\r\n", CLOSE, None),
    ("bulk length beyond 64 bits", b"*1\r\n$99999999999999999999\r\n", CLOSE, None),
    ("multibulk with a space", b"* 1\r\n", CLOSE, None),
    ("multibulk +1", b"*+1\r\n", CLOSE, None),
    ("multibulk 01", b"*01\r\n$4\r\nPING\r\n", CLOSE, None),
    ("multibulk with a letter", b"*1x\r\n", CLOSE, None),
    ("multibulk empty", b"*\r\n", CLOSE, None),
    ("multibulk 2147483648", b"*2147483648\r\n", CLOSE, None),
    ("multibulk beyond 64 bits", b"*99999999999999999999\r\n", CLOSE, None),
    # Redis waits for that many arguments; a limit answers at once.
    ("multibulk 2147483647", b"*2147483647\r\n", CLOSE, PROTOCOL_ERROR),
    ("an integer where a bulk is due", b"*1\r\n:4\r\n", CLOSE, None),
    ("an array where a bulk is due", b"*1\r\n*4\r\n", CLOSE, None),
    ("a word where a bulk is due", b"*1\r\nPING\r\n", CLOSE, None),
    ("a control byte where a bulk is due", b"*1\r\n\x01\r\n", CLOSE, None),
    # Redis does not look at the two bytes after a bulk; a client that errs there is out of step.
    ("no CRLF after a bulk", b"*1\r\n$4\r\nPINGXX", CLOSE, PROTOCOL_ERROR),
    ("CR and a letter after a bulk", b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\xf4)1", CLOSE, PROTOCOL_ERROR),
    ("a bulk longer than announced", b"*1\r\n$2\r\nPING\r\n", CLOSE, PROTOCOL_ERROR),
    # Redis waits for ever for the CR.
    ("an array with LF only", b"*1\n$4\nPING\n", CLOSE, PROTOCOL_ERROR),
    ("a good command, then a bad one", b"*1\r\n$4\r\nPING\r\n*x\r\n", CLOSE, None),
    ("a bad command, then a good one", b"*x\r\n*1\r\n$4\r\nPING\r\n", CLOSE, None),
    ("half an array", b"*2\r\n$4\r\nECHO\r\n", WAITS, None),
    ("half a bulk", b"*2\r\n$4\r\nECHO\r\n$10\r\nabc", WAITS, None),
    ("half a length", b"*2\r\n$4", WAITS, None),
    ("half an inline line", b"PING", WAITS, None),
    ("a lone CR", b"\r", WAITS, None),
    ("one command and a half", b"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPI", WAITS, None),
    ("a NUL, then endless lines", b"\0" + (b"x" * 1024) * 70, CLOSE, None),
    # Redis collects 64 KB before it gives up.
    ("an endless multibulk count", b"*\0" + (b"x" * 1024) * 70, CLOSE, PROTOCOL_ERROR),
    ("an endless bulk length", b"*1\r\n$\0" + (b"x" * 1024) * 70, CLOSE, PROTOCOL_ERROR),
    ("an unknown command of 10 KB", resp.encode(["N" * 10000]), MARKER, None),
    ("an unknown command with 10 KB arguments", resp.encode(["NOSUCH", "y" * 10000, "z" * 10000]), MARKER, None),
    ("an inline line of 8 KB", b"ECHO " + b"x" * 8000 + b"\r\n", MARKER, None),
    ("many arguments", resp.encode(["DEL"] + ["nokey"] * 10000), MARKER, None),
    ("two expiries", resp.encode(["SET", "k", "v", "EX", "10", "PX", "10"]), MARKER, None),
    ("a bit offset of 2^63-1", resp.encode(["SETBIT", "k", "9223372036854775807", "1"]), MARKER, None),
    ("one key three times", resp.encode(["DEL", "q", "q", "q"]), MARKER, None),
    ("a pattern that might explode",
     resp.encode(["SET", "a" * 300, "1"]) + resp.encode(["KEYS", "a*" * 200 + "b"]), MARKER, None),
    ("a thousand commands in one write", resp.encode(["PING"]) * 1000, MARKER, None),
    ("arguments of zero bytes", resp.encode(["SET", "", ""]) + resp.encode(["GET", ""]), MARKER, None),
    # The first line is a GET with one argument too many; whether that is answered before the end is open.
    ("an HTTP request", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", CLOSE, rb"(-ERR wrong number[ -~]*\r\n)?"),
    ("an HTTP post", b"POST / HTTP/1.1\r\n\r\n", CLOSE, None),
    ("QUIT, then PING", b"QUIT\r\nPING\r\n", CLOSE, None),
]

# With a password set, before AUTH.
UNAUTHENTICATED = [
    ("100 arguments before AUTH", b"*100\r\n", CLOSE, None),
    ("10 arguments before AUTH", resp.encode(["PING"] + ["x"] * 9), MARKER, None),
    ("a bulk of 10 MB before AUTH", b"*1\r\n$10000000\r\n", CLOSE, None),
    # Beyond our limit for anybody, so that it may be refused as such.
    ("a bulk of 100 MB before AUTH", b"*1\r\n$100000000\r\n", CLOSE, PROTOCOL_ERROR),
    ("an unknown command before AUTH", resp.encode(["NOSUCH"]), MARKER, None),
    ("a wrong password", resp.encode(["AUTH", "wrong"]), MARKER, None),
    ("wrong arity before AUTH", resp.encode(["GET"]), MARKER, None),
]


def converse(server, data, ends):
    """The bytes that the server answers, and whether it ended as it should."""
    with server.client(timeout=20) as client:
        try:
            client.send_raw(data)
            if ends == MARKER:
                client.send_raw(resp.encode(["ECHO", MARK]))
            elif ends == WAITS:
                client.socket.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it closed before it had read all: what it answered is still to be read
        try:
            if ends == MARKER:
                answer = client.read_until(MARK_REPLY)
                return answer[:-len(MARK_REPLY)], True
            return client.read_until_closed(), True
        except resp.Closed as closed:
            return str(closed).encode(), False
        except TimeoutError:
            return bytes(client.buffer), False


def marker_unauthenticated(server, data):
    """As converse() with MARKER, where ECHO itself is refused: a QUIT marks the end."""
    with server.client(timeout=20) as client:
        client.send_raw(data + resp.encode(["QUIT"]))
        try:
            return client.read_until_closed(), True
        except TimeoutError:
            return bytes(client.buffer), False


def run(suite, cases, redis, ours, authenticated):
    for name, data, ends, stated in cases:
        with suite.case(name):
            def answer(server):
                if ends == MARKER and not authenticated:
                    return marker_unauthenticated(server, data)
                return converse(server, data, ends)
            reply, ended = answer(ours)
            assert ended, f"it did not end by '{ends}': {reply[:300]!r}"
            if stated is not None:
                assert re.fullmatch(stated, reply, re.DOTALL), f"{reply[:300]!r} is not {stated!r}"
            elif redis:
                right, redis_ended = answer(redis)
                assert redis_ended, f"redis-server did not end by '{ends}': {right[:300]!r}"
                assert reply == right, f"replies differ\n  redis      {right[:300]!r}\n  tallystick {reply[:300]!r}"
            with ours.client() as client:
                if not authenticated:
                    client.must("AUTH", "secret")
                assert client.call("PING") == "PONG", "the server does not answer another connection"


def main():
    if not server_process.tallystick_binary():
        tap.skip_all("TALLYSTICK_SERVER names no program")
    if not server_process.redis_binary():
        tap.skip_all("redis-server is not installed")
    with tap.Suite(__doc__) as suite, server_process.temporary_directory("malformed") as directory:
        for cases, arguments in ((CASES, []), (UNAUTHENTICATED, ["--requirepass", "secret"])):
            name = arguments[0][2:] if arguments else "open"
            with server_process.Redis(os.path.join(directory, name + "-redis"), arguments) as redis, \
                    server_process.Tallystick(os.path.join(directory, name + "-ours"), arguments) as ours:
                run(suite, cases, redis, ours, authenticated=not arguments)


if __name__ == "__main__":
    main()
