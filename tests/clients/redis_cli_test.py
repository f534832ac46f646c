"""Proves that redis-cli and redis-benchmark work against tallystick-server as against redis-server.

redis-cli runs the same script in RESP2 and RESP3, from arguments and from standard input, and prints
the same for both servers. redis-benchmark drives thousands of requests, pipelined and from many
connections, and the counts are right afterwards.
"""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import server_process
import tap

SCRIPT = """PING
SET greeting "hello world"
GET greeting
SET greeting again XX GET
MGET greeting missing
SETBIT bits 7 1
SETBIT bits 100 1
BITCOUNT bits
GETBIT bits 8
SADD numbers 1 2 3
SMISMEMBER numbers 1 9
SCARD numbers
SREM numbers 2
TYPE numbers
EXISTS greeting bits numbers nothing
TTL greeting
DEL greeting
GET greeting
NOSUCH a b
GET
SETBIT bits -1 1
DBSIZE
"""
REQUESTS = 5000


def arguments(server):
    """How redis-cli and redis-benchmark are told where the server is."""
    if isinstance(server.address, str):
        return ["-s", server.address]
    return ["-h", server.address[0], "-p", str(server.address[1])]


def run(program, server, words, stdin=None):
    done = subprocess.run([program, *arguments(server), *words], input=stdin, capture_output=True,
                          text=True, timeout=60, check=False,
                          stdin=subprocess.DEVNULL if stdin is None else None)
    assert done.returncode == 0, f"{program} {words}: {done.stdout}{done.stderr}"
    return done.stdout


def cli_cases(suite, ours, redis):
    for name, options in (("RESP2", []), ("RESP3", ["-3"]), ("RESP2, CSV", ["--csv"]),
                          ("RESP3, JSON", ["-3", "--json"])):
        with suite.case(f"redis-cli with a script on standard input, {name}"):
            outputs = []
            for server in (ours, redis):
                with server.client() as client:
                    client.must("FLUSHALL")
                outputs.append(run("redis-cli", server, options, SCRIPT))
            assert outputs[0] == outputs[1], f"tallystick:\n{outputs[0]}\nredis:\n{outputs[1]}"
    with suite.case("redis-cli with a command as arguments"):
        for server in (ours, redis):
            assert run("redis-cli", server, ["SET", "k", "two words"]) == "OK\n"
            assert run("redis-cli", server, ["-3", "GET", "k"]) == "two words\n"
    with suite.case("redis-cli --scan lists all keys"):
        keys = []
        for server in (ours, redis):
            with server.client() as client:
                client.must("FLUSHALL")
                client.pipeline([["SET", f"key:{i}", "v"] for i in range(500)])
            keys.append(sorted(run("redis-cli", server, ["--scan", "--pattern", "key:*"]).split()))
        assert keys[0] == keys[1], f"{len(keys[0])} keys, {len(keys[1])} in redis"
    with suite.case("redis-cli --pipe loads a file of requests"):
        requests = "".join(f"*3\r\n$3\r\nSET\r\n$8\r\nk{i:07d}\r\n$1\r\nv\r\n" for i in range(2000))
        with ours.client() as client:
            client.must("FLUSHALL")
            output = run("redis-cli", ours, ["--pipe"], requests)
            assert "errors: 0, replies: 2000" in output, output
            assert client.must("DBSIZE") == 2000


def acceptance_cases(suite, ours):
    def cli(line):
        return run("redis-cli", ours, [], line + "\n").strip()
    with suite.case("a like by SETBIT is seen under every name"):
        run("redis-cli", ours, ["FLUSHALL"])
        assert cli("SETBIT bm:like:article:42:1 1 1") == "0"
        assert cli("SETBIT bm:like:article:42:1 1 1") == "1"
        assert cli("COUNT.SYNC article:42") == "OK"
        with ours.client() as client:
            record = client.must("GET", "cnt:v1:article:42")
        assert len(record) == 20 and record[:4] == b"\0\0\0\1", record
        assert cli('KEYS "bm:like:article:42:*"') == "bm:like:article:42:1"
        assert cli("BITCOUNT bm:like:article:42:1") == "1"
        assert cli("GETBIT bm:like:article:42:1 1") == "1"
        assert cli("FACT.HAS like:article:42 32769") == "1"
    with suite.case("one huge user id costs few bytes"):
        assert cli("FACT.ADD like:article:1 18446744073709551615") == "1"
        with ours.client() as client:
            stat = client.must("FACT.STAT", "like:article:1")
        fields = dict(zip(stat[::2], stat[1::2]))
        assert 0 < fields[b"bytes"] < 200, stat
    with suite.case("an offset beyond the chunk gets Redis's error"):
        assert cli("SETBIT bm:like:article:1:0 32768 1") == \
            "ERR bit offset is not an integer or out of range"


def benchmark_cases(suite, ours):
    count = ["-n", str(REQUESTS), "-q", "-r", "30000"]
    with suite.case("redis-benchmark, its own tests"):
        output = run("redis-benchmark", ours, [*count, "-P", "16", "-t", "ping,set,get"])
        for name in ("PING_INLINE", "PING_MBULK", "SET", "GET"):
            assert f"{name}: " in output, output
        assert "ERR" not in output, output
    # redis-benchmark pads its random numbers with zeros, which no bit offset may have; ids of entities may.
    for pipeline, connections in (("1", "50"), ("16", "20"), ("64", "5")):
        with suite.case(f"redis-benchmark, SETBIT of many chunks, pipeline {pipeline}"):
            with ours.client() as client:
                client.must("FLUSHALL")
                run("redis-benchmark", ours, [*count, "-P", pipeline, "-c", connections, "SETBIT",
                                              "bm:like:article:__rand_int__:1", "1", "1"])
                client.must("COUNT.SYNC")
                keys = client.must("KEYS", "bm:like:article:*:1")
                assert 0 < len(keys) <= REQUESTS and client.must("DBSIZE") == len(keys)
                ids = [key.split(b":")[3] for key in keys]
                assert client.pipeline([["BITCOUNT", key] for key in keys]) == [1] * len(keys)
                counts = client.pipeline([["COUNT.GET", b"article:" + eid, "like"] for eid in ids])
                assert counts == [[1]] * len(keys)
                records = client.pipeline([["GET", b"cnt:v1:article:" + eid] for eid in ids])
                assert records == [b"\0\0\0\1" + bytes(16)] * len(keys)
    with suite.case("redis-benchmark, FACT.TOGGLE of one user on many entities"):
        with ours.client() as client:
            client.must("FLUSHALL")
            run("redis-benchmark", ours, ["-n", str(REQUESTS), "-q", "-r", "100", "-P", "16",
                                          "FACT.TOGGLE", "like:article:__rand_int__", "7"])
            ids = [b"article:%012d" % i for i in range(100)]
            states = client.pipeline([["FACT.HAS", b"like:" + eid, "7"] for eid in ids])
            counts = client.pipeline([["COUNT.GET", eid, "like"] for eid in ids])
            assert counts == [[state] for state in states], (counts, states)
    with suite.case("redis-benchmark, COUNT.INCRBY from 50 connections"):
        with ours.client() as client:
            client.must("FLUSHALL")
            run("redis-benchmark", ours, ["-n", str(REQUESTS), "-q", "-P", "8", "COUNT.INCRBY",
                                          "article:1", "view", "1"])
            assert client.must("COUNT.GET", "article:1", "view") == [REQUESTS]


def main():
    if not server_process.tallystick_binary():
        tap.skip_all("TALLYSTICK_SERVER names no program")
    if not (shutil.which("redis-cli") and server_process.redis_binary()):
        tap.skip_all("redis-tools and redis-server are not installed")
    with tap.Suite(__doc__) as suite, server_process.temporary_directory("cli") as directory:
        with server_process.Redis(os.path.join(directory, "redis")) as redis, \
                server_process.Tallystick(os.path.join(directory, "ours")) as ours:
            cli_cases(suite, ours, redis)
            acceptance_cases(suite, ours)
            benchmark_cases(suite, ours)


if __name__ == "__main__":
    main()
