"""Proves that random sequences of commands get the same replies from tallystick-server and redis-server.

Strings, bitmaps, sets of numbers and texts and the keyspace, on a few plain keys, so that commands meet values
of every type. Each round begins on an empty keyspace and is one case; rounds alternate between RESP2
and RESP3, and every request is sent as part of a pipeline of random depth. In every fifth round
tallystick-server is stopped or killed in the middle and started again: the rest of the round shows that
it still knows everything. A failure prints the seed and all commands of the round that named the same
key. TALLYSTICK_TEST_COMMANDS sets the total.
"""

import contextlib
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import resp
import server_process
import tap
import transcript

ROUND_COMMANDS = 500
QUICK_COMMANDS = 20_000
RESTART_EVERY = 5
KEYS = ["a", "b", "c", "d", "key:with:colons", "with space", "\x00\x01"]
OFFSETS = [0, 1, 7, 8, 9, 63, 64, 4095, 4096, 32766, 32767, 32768, 32769, 65535, 65536, 99999, 300000]
BAD_OFFSETS = [-1, 4294967296, "x", "", "01", "1.5", 9223372036854775807, 9223372036854775808]
MEMBERS = [0, 1, 2, 3, 5, 8, 100, 32767, 32768, 65536, 4294967295, 4294967296, 9223372036854775807,
           9223372036854775808, 18446744073709551615]
# Members that are no unsigned numbers, though some look like one.
TEXTS = ["alice", "bob", "", " ", "01", "-5", "+1", "-0", "1.0", "1e3", "18446744073709551616", "00", " 1", "x" * 100,
         "y" * 5000, b"\x00", b"\xff\xfe", "ab\r\ncd", "\u00fc", "a*b", "user:1"]
RANGE_ENDS = [0, 1, 2, 3, 7, 8, 15, 16, 100, 4095, 4096, 8191, 32768, 1000000, 9223372036854775807,
              -1, -2, -3, -8, -9, -100, -4096, -9223372036854775808]
VALUES = ["", "v", "foobar", "\x00", "12345", "x" * 100, "ab\r\ncd", b"\xff\x00\x81", b"\x00" * 20]


def some_key(rng):
    return rng.choice(KEYS)


def set_options(rng):
    options = []
    if rng.random() < 0.3:
        options.append(rng.choice(["NX", "XX", "nx", "xx"]))
    if rng.random() < 0.25:
        options.append("GET")
    if rng.random() < 0.3:
        # Far enough away that no key expires while the round runs.
        options += rng.choice([["EX", rng.randrange(1000, 100000)], ["PX", rng.randrange(10**6, 10**8)],
                               ["EX", rng.choice([0, -1, "x", 9223372036854775807])]])
    if rng.random() < 0.03:
        options.append(rng.choice(["NX", "XX", "EX", "NOSUCH"]))
    rng.shuffle(options) if all(o in ("NX", "XX", "nx", "xx", "GET") for o in options) else None
    return options


def some_range(rng):
    ends = [rng.choice(RANGE_ENDS), rng.choice(RANGE_ENDS)]
    if rng.random() < 0.5:
        ends.append(rng.choice(["BYTE", "BIT", "bit", "byte"]))
    if rng.random() < 0.05:
        # Not the unit: redis-server does not look at it when both ends are negative and in disorder.
        ends[rng.randrange(2)] = rng.choice(["x", "", "1.5"])
    return ends


def many(rng, choices, most):
    return [rng.choice(choices) for _ in range(rng.randrange(1, most))]


def near(rng):
    return rng.choice(OFFSETS) if rng.random() < 0.7 else rng.randrange(0, 70000)


def member(rng):
    if rng.random() < 0.4:
        return rng.choice(TEXTS) if rng.random() < 0.6 else f"name{rng.randrange(0, 300)}"
    return rng.choice(MEMBERS) if rng.random() < 0.6 else rng.randrange(0, 200)


COMMANDS = [
    (6, lambda r: ["SET", some_key(r), r.choice(VALUES), *set_options(r)]),
    (6, lambda r: ["GET", some_key(r)]),
    (2, lambda r: ["MGET", *many(r, KEYS, 6)]),
    (3, lambda r: ["STRLEN", some_key(r)]),
    (20, lambda r: ["SETBIT", some_key(r), near(r), r.choice([0, 1, 1])]),
    (2, lambda r: ["SETBIT", some_key(r), r.choice(BAD_OFFSETS), r.choice([0, 1, 2, "x"])]),
    (8, lambda r: ["GETBIT", some_key(r), near(r)]),
    (1, lambda r: ["GETBIT", some_key(r), r.choice(BAD_OFFSETS)]),
    (4, lambda r: ["BITCOUNT", some_key(r)]),
    (8, lambda r: ["BITCOUNT", some_key(r), *some_range(r)]),
    (16, lambda r: ["SADD", some_key(r), *[member(r) for _ in range(r.randrange(1, 8))]]),
    (8, lambda r: ["SREM", some_key(r), *[member(r) for _ in range(r.randrange(1, 8))]]),
    (5, lambda r: ["SISMEMBER", some_key(r), member(r)]),
    (4, lambda r: ["SMISMEMBER", some_key(r), *[member(r) for _ in range(r.randrange(1, 6))]]),
    (5, lambda r: ["SCARD", some_key(r)]),
    (3, lambda r: ["SMEMBERS", some_key(r)]),
    (4, lambda r: ["DEL", *many(r, KEYS, 3)]),
    (3, lambda r: ["EXISTS", *many(r, KEYS, 4)]),
    (4, lambda r: ["TYPE", some_key(r)]),
    (2, lambda r: ["TTL", some_key(r)]),
    (2, lambda r: ["DBSIZE"]),
    (1, lambda r: ["KEYS", r.choice(["*", "a*", "?", "[a-c]", "*:*", "nosuch"])]),
    (1, lambda r: ["SCAN", "0", "COUNT", "1000"]),
    (1, lambda r: ["SSCAN", some_key(r), "0", "COUNT", "100000"]),
    (1, lambda r: ["SSCAN", some_key(r), "0", "MATCH", r.choice(["*", "a*", "1*", "name1?", "[0-9]*"]), "COUNT", "100000"]),
    (1, lambda r: ["SADD", some_key(r), *[f"name{r.randrange(0, 1000)}" for _ in range(r.randrange(1, 300))]]),
    (1, lambda r: ["SREM", some_key(r), *[f"name{r.randrange(0, 1000)}" for _ in range(r.randrange(1, 300))]]),
    (1, lambda r: r.choice([["GET"], ["SETBIT", "a"], ["NOSUCH", "a"], ["SADD", "a"], ["DEL"]])),
]
WEIGHTS = [weight for weight, _ in COMMANDS]
UNORDERED = {"SMEMBERS", "KEYS", "SCAN", "SSCAN"}


def some_command(rng):
    words = rng.choices(COMMANDS, WEIGHTS)[0][1](rng)
    return [words[0].lower() if rng.random() < 0.1 else words[0], *words[1:]]


def same(command, left, right):
    name = command[0].upper()
    if name == "TTL":
        # A second may begin between the two servers' answers.
        left, right = resp.parse(left), resp.parse(right)
        return left == right or (left > 0 and right > 0 and abs(left - right) <= 2)
    how = transcript.UNORDERED if name in UNORDERED else transcript.EXACT
    return transcript.normal_form(left, how) == transcript.normal_form(right, how)


class Pair:
    """redis-server and the server under test, each with one connection."""

    def __init__(self, redis, ours, restart):
        self.redis, self.ours, self.restart = redis, ours, restart
        self.connect()

    def connect(self):
        self.clients = [self.redis.client(), self.ours.client()]

    def close(self):
        for client in self.clients:
            client.close()

    def begin_again(self, protocol, number):
        """Ends our server, cleanly or not, and starts it on the same directory."""
        self.close()
        self.ours = self.restart(self.ours, number)
        self.connect()
        self.call_both("HELLO", str(protocol))

    def call_both(self, *words):
        for client in self.clients:
            client.must(*words)

    def send_both(self, commands):
        for client in self.clients:
            client.send_raw(b"".join(map(resp.encode, commands)))

    def read_both(self):
        return [client.read_raw() for client in self.clients]


def run_round(rng, pair, protocol, count, restart_number=None):
    """One round; raises AssertionError with the story of the key when a reply differs."""
    pair.call_both("HELLO", str(protocol))
    pair.call_both("FLUSHALL")
    commands = [some_command(rng) for _ in range(count)]
    done = 0
    while done < count:
        if restart_number is not None and done >= count // 2:
            pair.begin_again(protocol, restart_number)
            restart_number = None
        batch = commands[done:done + rng.choice([1, 2, 10, 100])]
        pair.send_both(batch)
        for command in batch:
            theirs, mine = pair.read_both()
            done += 1
            if not same(command, theirs, mine):
                names = set(command[1:]) & set(KEYS)
                story = [c for c in commands[:done] if names & set(c[1:])]
                lines = "\n".join("  " + resp.encode_inline(c).decode("latin-1").strip() for c in story)
                raise AssertionError(f"command {done} of the round differs\n  redis      {theirs!r}\n"
                                     f"  tallystick {mine!r}\ncommands on its keys so far:\n{lines}")


def run(suite, seed, total, redis, ours, restart=None):
    """Fills the suite; restart(server, number) ends our server and gives the one that follows it."""
    pair = Pair(redis, ours, restart)
    for number in range(max(1, total // ROUND_COMMANDS)):
        protocol = 2 + number % 2
        restart_number = number if restart and number % RESTART_EVERY == 3 else None
        name = "" if restart_number is None else ", with a restart"
        with suite.case(f"round {number} of {ROUND_COMMANDS} commands, RESP{protocol}{name}"):
            # Each round has its own generator: it can be repeated alone.
            rng = random.Random(seed * 1_000_003 + number)
            try:
                run_round(rng, pair, protocol, ROUND_COMMANDS, restart_number)
            except AssertionError:
                # Replies still under way would be taken for those of the next round.
                pair.close()
                pair.connect()
                raise
    pair.close()


def main():
    if not server_process.tallystick_binary():
        tap.skip_all("TALLYSTICK_SERVER names no program")
    if not server_process.redis_binary():
        tap.skip_all("redis-server is not installed")
    total = int(os.environ.get("TALLYSTICK_TEST_COMMANDS", QUICK_COMMANDS))
    with tap.Suite(__doc__) as suite, server_process.temporary_directory("random") as directory:
        seed = tap.seed()
        our_directory = os.path.join(directory, "ours")
        with contextlib.ExitStack() as servers:
            redis = servers.enter_context(server_process.Redis(os.path.join(directory, "redis")))

            def start():
                return servers.enter_context(server_process.Tallystick(our_directory))

            def restart(server, number):
                if number % 2:
                    assert server.stop() == 0, server.log()
                else:
                    server.kill()
                return start()
            run(suite, seed, total, redis, start(), restart)


if __name__ == "__main__":
    main()
