"""Proves that replies do not depend on how the bytes of the requests arrive.

One stream of requests (arrays, inline requests, empty lines, binary values, errors) is sent whole, cut
in two at every byte, byte by byte, and in pieces of random lengths; the replies must be the same bytes
each time. Many connections are served in turn, so that the server has read each piece before the next
one comes. Keys carry the number of the connection in a fixed width, so that they do not meet.
"""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import resp
import server_process
import tap

CONNECTIONS = 64
END = resp.encode(["ECHO", "end-of-stream"])
END_REPLY = b"$13\r\nend-of-stream\r\n"


def stream(number):
    """The requests of one connection."""
    key = f"split:{number:05d}"
    return b"".join([
        resp.encode(["PING"]),
        resp.encode(["SET", key, b"a\r\nb\x00\xff"]),
        b"GET " + key.encode() + b"\r\n",
        b"\r\n",
        b"*0\r\n",
        resp.encode(["SETBIT", key + "b", "7", "1"]),
        resp.encode(["GETBIT", key + "b", "7"]),
        b"ECHO \"a b\\x00\"\r\n",
        resp.encode(["SADD", key + "s", "1", "22", "333"]),
        resp.encode(["SCARD", key + "s"]),
        resp.encode(["NOSUCH", "x", ""]),
        resp.encode(["GET"]),
        b"PING\n",
        resp.encode(["SET", key, ""]),
        resp.encode(["DEL", key, key + "b", key + "s"]),
        END,
    ])


def send_in_turn(server, plans):
    """Sends the pieces of each plan, one piece per connection at a time. Returns all replies."""
    clients = [server.client() for _ in plans]
    try:
        for turn in range(max(len(plan) for plan in plans)):
            for client, plan in zip(clients, plans):
                if turn < len(plan):
                    client.send_raw(plan[turn])
        return [client.read_until(END_REPLY) for client in clients]
    finally:
        for client in clients:
            client.close()


def pieces(data, cuts):
    cuts = sorted({0, len(data), *cuts})
    return [data[a:b] for a, b in zip(cuts, cuts[1:])]


def check(suite, name, server, right, plans_of):
    with suite.case(name):
        plans = list(plans_of)
        for first in range(0, len(plans), CONNECTIONS):
            group = plans[first:first + CONNECTIONS]
            for plan, reply in zip(group, send_in_turn(server, group)):
                assert reply == right, f"pieces of lengths {[len(p) for p in plan][:40]}\n" \
                                       f"  whole  {right!r}\n  pieces {reply!r}"


def run(suite, server, seed, random_plans):
    rng = random.Random(seed)
    whole = send_in_turn(server, [[stream(0)]])[0]
    tap.comment(f"{len(stream(0))} bytes of requests, {len(whole)} bytes of replies")
    length = len(stream(0))
    check(suite, "cut in two at every byte", server, whole,
          (pieces(stream(cut), [cut]) for cut in range(1, length)))
    check(suite, "byte by byte", server, whole,
          (pieces(stream(n), range(length)) for n in range(8)))
    check(suite, "pieces of random lengths", server, whole,
          (pieces(stream(n), [rng.randrange(1, length) for _ in range(rng.randrange(1, 40))])
           for n in range(random_plans)))


def run_against_redis(suite, ours, redis):
    with suite.case("the whole stream as redis-server answers it"):
        if redis is None:
            tap.skip("redis-server is not installed")
        right, reply = send_in_turn(redis, [[stream(0)]])[0], send_in_turn(ours, [[stream(0)]])[0]
        assert reply == right, f"\n  redis      {right!r}\n  tallystick {reply!r}"


def main():
    if not server_process.tallystick_binary():
        tap.skip_all("TALLYSTICK_SERVER names no program")
    with tap.Suite(__doc__) as suite, server_process.temporary_directory("split") as directory:
        seed = tap.seed()
        with server_process.Tallystick(os.path.join(directory, "ours")) as ours:
            run(suite, ours, seed, 500)
            if server_process.redis_binary():
                with server_process.Redis(os.path.join(directory, "redis")) as redis:
                    run_against_redis(suite, ours, redis)
            else:
                run_against_redis(suite, ours, None)


if __name__ == "__main__":
    main()
