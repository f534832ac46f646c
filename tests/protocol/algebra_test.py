"""Proves that bit commands and set algebra get the same replies from tallystick-server and redis-server.

A round begins on an empty keyspace: values of every type are made, then the commands under test run in
random order, and at the end all keys are compared as a whole, so that what a command stored is looked at
too. Random members are compared by what they must satisfy; what SPOP took is then taken from redis-server
as well. In every fifth round tallystick-server is killed before the last comparison: bulk changes replay.
TALLYSTICK_TEST_CASES sets how often each command runs at least.
"""

import contextlib
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import random_commands_test as basics
import resp
import server_process
import tap
import transcript

QUICK_CASES = 300
ROUND_CASES = 10  # of each command
KILL_EVERY = 5
SETS = ["s1", "s2", "s3", "s4"]
STRINGS = ["b1", "b2", "b3", "b4"]
KEYS = SETS + STRINGS + ["nosuch"]
INTEGERS = [0, 1, -1, 2, 7, -8, 127, 128, 255, 256, -129, 65535, 2**31, -2**31, 2**62, 2**63 - 1, -2**62]  # -2**63: docs/differences.md


def one(rng, likely):
    return rng.choice(likely) if rng.random() < 0.95 else rng.choice(KEYS)


def several(rng, likely, most=4):
    return [one(rng, likely) for _ in range(rng.randrange(1, most + 1))]


def member(rng):
    if rng.random() < 0.3:
        return rng.choice(basics.TEXTS) if rng.random() < 0.3 else f"name{rng.randrange(0, 400)}"
    if rng.random() < 0.2:
        return rng.choice(basics.MEMBERS)
    return rng.randrange(0, 40) if rng.random() < 0.5 else rng.randrange(32700, 33000)


def offset(rng, bits):
    if rng.random() < 0.03:
        return rng.choice(["-1", "x", "", "#", "#-1", "01", "#x", "4294967296", "9223372036854775808"])
    if rng.random() < 0.3:
        return f"#{rng.randrange(0, 2000 // bits + 1)}"
    return rng.choice(basics.OFFSETS) if rng.random() < 0.3 else rng.randrange(0, 400)


def field(rng, kinds):
    words = []
    if "SET" in kinds and rng.random() < 0.4:
        words += ["OVERFLOW", rng.choice(["WRAP", "SAT", "FAIL", "sat"]) if rng.random() < 0.98 else "NO"]
    kind = rng.choice(kinds)
    bits = rng.choice([1, 2, 3, 5, 8, 13, 16, 31, 32, 33, 63])
    encoding = rng.choice("iu") + str(bits)
    if rng.random() < 0.03:
        encoding = rng.choice(["i64", "u64", "i0", "i65", "x8", "i", "", "u-1"])
    words += [kind, encoding, offset(rng, bits)]
    if kind != "GET":
        words.append(rng.choice(INTEGERS) if rng.random() < 0.98 else "x")
    return words


def bitfield(rng, name, kinds):
    words = [name, one(rng, STRINGS)]
    for _ in range(rng.randrange(0, 5)):
        words += field(rng, kinds)
    return words


def bitpos(rng):
    words = ["BITPOS", one(rng, STRINGS), rng.choice([0, 1])]
    if rng.random() < 0.02:
        words[2] = rng.choice([2, -1, "x"])
    if rng.random() < 0.8:
        words += basics.some_range(rng)[:rng.randrange(1, 4)]
    return words


def counted(rng, name):
    keys = several(rng, SETS)
    words = [name, len(keys) if rng.random() < 0.95 else rng.choice([0, -1, 5, "x"]), *keys]
    if rng.random() < 0.5:
        words += ["LIMIT", rng.choice([0, 1, 2, 5, 100]) if rng.random() < 0.95 else rng.choice([-1, "x"])]
    return words


def counts(rng, negative):
    count = rng.choice([0, 1, 2, 3, 10, 50, 400])
    if rng.random() < 0.03:
        return rng.choice(["x", "", "9223372036854775808"])
    return -count if negative and rng.random() < 0.4 else count


COMMANDS = {
    "BITPOS": bitpos,
    "BITCOUNT": lambda r: ["BITCOUNT", one(r, STRINGS), *basics.some_range(r)],
    "BITFIELD": lambda r: bitfield(r, "BITFIELD", ["GET", "SET", "INCRBY"]),
    "BITFIELD_RO": lambda r: bitfield(r, "BITFIELD_RO", ["GET"] * 20 + ["SET"]),
    "BITOP": lambda r: ["BITOP", *r.choice([["AND"], ["OR"], ["xor"], ["NOT"], ["NO"]]), one(r, STRINGS),
                        *several(r, STRINGS)],
    "BITOP NOT": lambda r: ["BITOP", "NOT", one(r, STRINGS), one(r, STRINGS)],
    "SINTER": lambda r: ["SINTER", *several(r, SETS)],
    "SUNION": lambda r: ["SUNION", *several(r, SETS)],
    "SDIFF": lambda r: ["SDIFF", *several(r, SETS)],
    "SINTERCARD": lambda r: counted(r, "SINTERCARD"),
    "SINTERSTORE": lambda r: ["SINTERSTORE", one(r, SETS), *several(r, SETS)],
    "SUNIONSTORE": lambda r: ["SUNIONSTORE", one(r, SETS), *several(r, SETS)],
    "SDIFFSTORE": lambda r: ["SDIFFSTORE", one(r, SETS), *several(r, SETS)],
    "SMOVE": lambda r: ["SMOVE", one(r, SETS), one(r, SETS), member(r)],
    "SRANDMEMBER": lambda r: ["SRANDMEMBER", one(r, SETS), *([counts(r, True)] if r.random() < 0.8 else [])],
    "SPOP": lambda r: ["SPOP", one(r, SETS), *([min(counts(r, False), 10, key=str)] if r.random() < 0.5 else [])],
}
UNORDERED = {"SINTER", "SUNION", "SDIFF", "SMEMBERS"}


def fill(rng):
    """Commands that give a key a value anew."""
    key = rng.choice(SETS + STRINGS)
    if key in SETS:
        return ["SADD", key, *[member(rng) for _ in range(rng.choice([1, 5, 30, 300]))]]
    if rng.random() < 0.5:
        return ["SET", key, bytes(rng.choice([0, 255, rng.randrange(256)]) for _ in range(rng.randrange(0, 40)))]
    return ["SETBIT", key, rng.choice(basics.OFFSETS), 1]


class Failure(AssertionError):
    def __init__(self, command, text):
        super().__init__(text)
        self.command = command


def check_random(pair, command, theirs, mine):
    """Members at random: as many as redis-server gave, of the set, and different where they must be."""
    left, right = resp.parse(theirs), resp.parse(mine)
    as_list = [v if isinstance(v, list) else [] if v is None else [v] for v in (left, right)]
    if theirs[:1] == b"-" or not as_list[0] or not as_list[1]:
        return theirs == mine
    if theirs.split(b"\r\n")[0][:1] != mine.split(b"\r\n")[0][:1] or len(as_list[0]) != len(as_list[1]):
        return False
    key = command[1]
    if command[0] == "SPOP":
        # Redis gets its own back and loses ours.
        pair.clients[0].must("SADD", key, *as_list[0])
        return pair.clients[0].must("SREM", key, *as_list[1]) == len(as_list[1])
    members = set(pair.clients[0].must("SMEMBERS", key))
    distinct = len(command) == 2 or int(command[2]) >= 0
    return set(as_list[1]) <= members and (not distinct or len(set(as_list[1])) == len(as_list[1]))


def compare(pair, command):
    pair.send_both([command])
    theirs, mine = pair.read_both()
    name = command[0]
    if name in ("SPOP", "SRANDMEMBER"):
        same = check_random(pair, command, theirs, mine)
    else:
        how = transcript.UNORDERED if name in UNORDERED else transcript.EXACT
        same = transcript.normal_form(theirs, how) == transcript.normal_form(mine, how)
    if not same:
        raise Failure(command, f"{resp.encode_inline(command)!r}\n  redis      {theirs!r}\n  tallystick {mine!r}")


def compare_keys(pair):
    for key in KEYS:
        compare(pair, ["TYPE", key])
        kind = pair.clients[0].must("TYPE", key)
        if kind in (b"set", "set"):
            compare(pair, ["SMEMBERS", key])
        else:
            compare(pair, ["GET", key])


def run_round(rng, pair, protocol, kill_number=None):
    pair.call_both("HELLO", str(protocol))
    pair.call_both("FLUSHALL")
    commands = [make(rng) for make in COMMANDS.values() for _ in range(ROUND_CASES)]
    rng.shuffle(commands)
    story = []
    try:
        for number, command in enumerate(commands):
            for each in ([fill(rng)] if number % 3 == 0 else []) + [command]:
                story.append(each)
                compare(pair, each)
        compare_keys(pair)
        if kill_number is not None:
            pair.begin_again(protocol, kill_number)
            compare_keys(pair)
    except Failure as failure:
        names = {word for word in failure.command[1:] if word in KEYS}
        lines = "\n".join("  " + resp.encode_inline(c).decode("latin-1").strip() for c in story
                          if names & {word for word in c[1:] if isinstance(word, str)})
        raise AssertionError(f"{failure}\nlast commands on its keys:\n{lines[-4000:]}") from None


def main():
    if not server_process.tallystick_binary():
        tap.skip_all("TALLYSTICK_SERVER names no program")
    if not server_process.redis_binary():
        tap.skip_all("redis-server is not installed")
    cases = int(os.environ.get("TALLYSTICK_TEST_CASES", QUICK_CASES))
    with tap.Suite(__doc__) as suite, server_process.temporary_directory("algebra") as directory:
        seed = tap.seed()
        our_directory = os.path.join(directory, "ours")
        with contextlib.ExitStack() as servers:
            redis = servers.enter_context(server_process.Redis(os.path.join(directory, "redis")))

            def start():
                return servers.enter_context(server_process.Tallystick(our_directory))

            def restart(server, number):
                server.kill()
                return start()
            pair = basics.Pair(redis, start(), restart)
            for number in range(max(1, -(-cases // ROUND_CASES))):
                protocol = 2 + number % 2
                kill_number = number if number % KILL_EVERY == 3 else None
                with suite.case(f"round {number}, RESP{protocol}{', with a kill' if kill_number else ''}"):
                    rng = random.Random(seed * 1_000_003 + number)
                    try:
                        run_round(rng, pair, protocol, kill_number)
                    except AssertionError:
                        pair.close()
                        pair.connect()
                        raise
            pair.close()


if __name__ == "__main__":
    main()
