"""Proves that fact sets whose uids are ids of a dictionary answer as redis-server's sets of strings do.

A server whose configuration gives the entity type article a namespace of ids gets random set commands on
likes keys, with numbers, snowflakes, UUIDs and names as members; redis-server gets the same. Random members
are compared as in algebra_test.py. In between the server is stopped or killed and started again, so the
dictionary is recovered and answers before it is loaded. Then what is particular to such sets: FACT commands
on the same ids, what is refused, and FLUSHALL, after which ids begin anew. TALLYSTICK_TEST_CASES sets how
often each command runs at least.
"""

import contextlib
import os
import random
import sys
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import algebra_test as algebra
import random_commands_test as basics
import resp
import server_process
import tap

QUICK_CASES = 300
ROUND_CASES = 20
LIKES = [f"article:likes:{number}" for number in range(4)]
KNOWN = random.Random(1)
MEMBERS = (["0", "7", "42", "007", "-5", "alice", "bob", "x" * 512, "18446744073709551616", "\x00", "ab\r\ncd"]
           + [str(1700000000000 + n << 22) for n in range(40)]
           + [str(uuid.UUID(int=KNOWN.getrandbits(128))) for _ in range(40)]
           + [f"name{n}" for n in range(200)])


def members(rng, most):
    return [rng.choice(MEMBERS) for _ in range(rng.randrange(1, most))]


def key(rng):
    return rng.choice(LIKES)


def keys(rng):
    return [key(rng) for _ in range(rng.randrange(1, 4))]


COMMANDS = {
    "SADD": lambda r: ["SADD", key(r), *members(r, r.choice([3, 100]))],
    "SREM": lambda r: ["SREM", key(r), *members(r, 20)],
    "SISMEMBER": lambda r: ["SISMEMBER", key(r), r.choice(MEMBERS)],
    "SMISMEMBER": lambda r: ["SMISMEMBER", key(r), *members(r, 8)],
    "SCARD": lambda r: ["SCARD", key(r)],
    "SMEMBERS": lambda r: ["SMEMBERS", key(r)],
    "SMOVE": lambda r: ["SMOVE", key(r), key(r), r.choice(MEMBERS)],
    "SINTER": lambda r: ["SINTER", *keys(r)],
    "SUNION": lambda r: ["SUNION", *keys(r)],
    "SDIFF": lambda r: ["SDIFF", *keys(r)],
    "SINTERCARD": lambda r: ["SINTERCARD", "2", key(r), key(r)],
    "SRANDMEMBER": lambda r: ["SRANDMEMBER", key(r), *([r.choice([1, 3, 50, -5])] if r.random() < 0.7 else [])],
    "SPOP": lambda r: ["SPOP", key(r), *([r.choice([0, 1, 3])] if r.random() < 0.5 else [])],
    "EXISTS": lambda r: ["EXISTS", key(r)],
    "TYPE": lambda r: ["TYPE", key(r)],
}


def run_round(rng, pair, protocol, restart_number):
    pair.call_both("HELLO", str(protocol))
    pair.call_both("FLUSHALL")
    commands = [make(rng) for make in COMMANDS.values() for _ in range(ROUND_CASES)]
    commands += [["SADD", key(rng), *members(rng, 40)] for _ in range(4 * ROUND_CASES)]
    rng.shuffle(commands)
    for number, command in enumerate(commands):
        if restart_number is not None and number == len(commands) // 2:
            pair.begin_again(protocol, restart_number)
        algebra.compare(pair, command)
    for likes in LIKES:
        algebra.compare(pair, ["SMEMBERS", likes])
        algebra.compare(pair, ["SCARD", likes])


def check_facts(client):
    """FACT commands and the set face are about the same ids; a second namespace and plain keys are apart."""
    client.must("FLUSHALL")
    snowflake, someone = b"1765432109876543210", str(uuid.UUID(int=5)).encode()
    assert client.must("FACT.ADD", "like:article:1", snowflake, "alice", someone) == 3
    assert client.must("FACT.ADD", "like:article:1", "WITHCOUNT", "alice", "bob") == [1, 4]
    assert client.must("FACT.HAS", "like:article:1", "alice") == 1
    assert client.must("FACT.HAS", "like:article:1", "nobody") == 0
    assert client.must("FACT.MHAS", "like:article:1", "bob", "nobody", snowflake) == [1, 0, 1]
    assert client.must("FACT.TOGGLE", "like:article:1", "bob")[:2] == [0, 3]
    assert client.must("FACT.SET", "like:article:1", "carol", "1") == 0
    assert client.must("FACT.REM", "like:article:1", "carol", "nobody") == 1
    cursor, page = client.must("FACT.SCAN", "like:article:1", "0")
    assert (cursor, sorted(page)) == (b"0", sorted([snowflake, b"alice", someone])), page
    assert sorted(client.must("SMEMBERS", "article:likes:1")) == sorted(page)
    assert client.must("FACT.CARD", "like:article:1") == 3
    assert client.must("COUNT.GET", "article:1", "like") == [3]
    assert client.must("FACT.ADD", "like:article:2", "alice", "dave") == 2
    assert client.must("FACT.INTER", "2", "like:article:1", "like:article:2") == [b"alice"]
    cursor, page = client.must("SSCAN", "article:likes:1", "0", "MATCH", "a*")
    assert page == [b"alice"], page
    # Another namespace: the same bytes, another ordinal.
    assert client.must("SADD", "video:likes:1", "alice") == 1
    for command in (["SINTER", "article:likes:1", "video:likes:1"],
                    ["FACT.INTER", "2", "like:article:1", "like:video:1"],
                    ["SUNIONSTORE", "article:likes:1", "article:likes:2"],
                    ["SETBIT", "bm:like:article:1:9", "7", "1"],  # that ordinal was never given
                    ["BITFIELD", "bm:like:article:1:0", "SET", "u8", "0", "255"],
                    ["SADD", "article:likes:1", ""],
                    ["SADD", "article:likes:1", "x" * 513]):
        reply = client.call(*command)
        assert isinstance(reply, resp.Error), f"{command} should be refused: {reply!r}"
    assert client.must("SMEMBERS", "video:likes:1") == [b"alice"]
    # Entity types without a namespace have numbers.
    assert client.must("SADD", "photo:likes:1", "7") == 1
    client.must("FLUSHALL")
    assert client.must("SISMEMBER", "article:likes:1", "alice") == 0
    assert client.must("SADD", "article:likes:1", "alice", "zoe") == 2
    assert sorted(client.must("SMEMBERS", "article:likes:1")) == [b"alice", b"zoe"]


def main():
    if not server_process.tallystick_binary():
        tap.skip_all("TALLYSTICK_SERVER names no program")
    if not server_process.redis_binary():
        tap.skip_all("redis-server is not installed")
    cases = int(os.environ.get("TALLYSTICK_TEST_CASES", QUICK_CASES))
    with tap.Suite(__doc__) as suite, server_process.temporary_directory("ids") as directory:
        seed = tap.seed()
        config = os.path.join(directory, "tallystick.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write("[ids]\narticle = users\nvideo = viewers\n")
        with contextlib.ExitStack() as servers:
            redis = servers.enter_context(server_process.Redis(os.path.join(directory, "redis")))

            def start():
                return servers.enter_context(
                    server_process.Tallystick(os.path.join(directory, "ours"), ["--config", config]))

            def restart(server, number):
                server.kill() if number % 2 else server.stop()
                return start()
            pair = basics.Pair(redis, start(), restart)
            for number in range(max(1, cases // ROUND_CASES)):
                restart_number = number if number % 3 != 2 else None
                with suite.case(f"round {number}{', with a restart' if restart_number is not None else ''}"):
                    run_round(random.Random(seed * 1_000_003 + number), pair, 2 + number % 2, restart_number)
            with suite.case("FACT commands, refusals, FLUSHALL"):
                pair.call_both("HELLO", "2")
                check_facts(pair.clients[1])
            pair.close()


if __name__ == "__main__":
    main()
