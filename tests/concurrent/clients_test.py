"""Proves that facts and counts are exact when many clients write the same ones at the same time.

100 connections toggle one user's like an odd number of times each; two threads hammer one entity over
two connections; readers see counts that never go back while likes are only added.
"""

import os
import random
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import resp
import server_process
import tap

CLIENTS = 100
HAMMER_FACTS = 20_000


def in_threads(jobs):
    """Runs the jobs at once and returns their results; the first failure is raised."""
    results, failures = [None] * len(jobs), []
    barrier = threading.Barrier(len(jobs))

    def run(number, job):
        try:
            barrier.wait()
            results[number] = job()
        except Exception as error:
            failures.append(error)
    threads = [threading.Thread(target=run, args=item) for item in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return results


def proof_is_ok(client, entity):
    proof = client.must("COUNT.VERIFY", entity)
    return dict(zip(proof[::2], proof[1::2]))[b"ok"] == 1


def toggle_by_many(server, clients, rng, key, pipelined, face):
    """Every client toggles the same user; returns (number of toggles, their replies)."""
    times = [rng.randrange(1, 40, 2) for _ in range(clients)]
    connections = [server.client() for _ in range(clients)]
    try:
        replies = []
        requests = [resp.encode([face, key, "7"])] * max(times)
        for turn in range(1 if pipelined else max(times)):
            sent = []
            for client, count in zip(connections, times):
                if turn < count:
                    now = count if pipelined else 1
                    client.send_raw(b"".join(requests[:now]))
                    sent.append((client, now))
            for client, count in sent:
                replies += [client.read() for _ in range(count)]
        return sum(times), replies
    finally:
        for client in connections:
            client.close()


def toggle_cases(suite, server, rng):
    entity = 0
    for clients in (CLIENTS, CLIENTS - 1):
        for pipelined in (False, True):
            entity += 1
            name = "in a pipeline" if pipelined else "one by one"
            with suite.case(f"{clients} clients toggle one user, each an odd number of times, {name}"):
                total, replies = toggle_by_many(server, clients, rng, f"like:article:{entity}",
                                                pipelined, "FACT.TOGGLE")
                state = total % 2
                with server.client() as client:
                    assert client.must("FACT.HAS", f"like:article:{entity}", "7") == state
                    assert client.must("FACT.CARD", f"like:article:{entity}") == state
                    assert client.must("COUNT.GET", f"article:{entity}", "like") == [state]
                    client.must("COUNT.SYNC", f"article:{entity}")
                    assert client.must("GET", f"cnt:v1:article:{entity}") == bytes([0, 0, 0, state]) + bytes(16)
                    assert proof_is_ok(client, f"article:{entity}")
                # Toggles take turns: half of them, rounded up, found the fact clear.
                assert all(isinstance(r, list) for r in replies), replies[:3]
                assert sum(r[0] for r in replies) == (total + 1) // 2
                assert all(r[1] == r[0] for r in replies), "a count that is not the only user's state"


def hammer_cases(suite, server, rng):
    def hammer(first, order):
        """Adds its own users, removes every third, adds to the counters; all on one entity."""
        with server.client() as client:
            uids = list(range(first, 2 * HAMMER_FACTS, 2))
            order.shuffle(uids)
            adds = client.pipeline([["FACT.ADD", "like:article:hot", uid] for uid in uids])
            removes = client.pipeline([["FACT.REM", "like:article:hot", uid] for uid in uids[::3]])
            views = client.pipeline([["COUNT.INCRBY", "article:hot", "view", 1] for _ in uids])
            shared = client.pipeline([["FACT.ADD", "fav:article:hot", uid % 1000] for uid in uids])
            return sum(adds) - sum(removes), len(views), sum(shared), views
    with suite.case("two threads hammer one entity"):
        results = in_threads([lambda i=i, r=random.Random(rng.random()): hammer(i, r) for i in (0, 1)])
        left = sum(r[0] for r in results)
        assert left == 2 * HAMMER_FACTS - 2 * len(range(0, HAMMER_FACTS, 3))
        views = sum(r[1] for r in results)
        favs = sum(r[2] for r in results)
        assert favs == 1000, f"{favs} changes made 1000 facts"
        for _, _, _, seen in results:
            assert seen == sorted(set(seen)), "a counter's replies do not rise"
        assert len({v for r in results for v in r[3]}) == views, "two increments got the same reply"
        with server.client() as client:
            assert client.must("FACT.CARD", "like:article:hot") == left
            assert client.must("COUNT.GET", "article:hot") == [left, favs, 0, 0, views]
            client.must("COUNT.SYNC", "article:hot")
            record = b"".join(v.to_bytes(4, "big") for v in (left, favs, 0, 0, views))
            assert client.must("COUNT.RAW", "article:hot") == record
            assert proof_is_ok(client, "article:hot")
    with suite.case("one set under all its names, written by four threads"):
        def write(number):
            with server.client() as client:
                uids = range(number, 40_000, 4)
                if number == 0:
                    return client.pipeline([["SADD", "comment:likes:hot", uid] for uid in uids])
                if number == 1:
                    return client.pipeline([["SETBIT", "comment:likes:hot", uid, 1] for uid in uids])
                if number == 2:
                    return client.pipeline([["FACT.ADD", "like:comment:hot", uid] for uid in uids])
                return client.pipeline([["SETBIT", f"bm:like:comment:hot:{uid >> 15}", uid & 32767, 1]
                                        for uid in uids])
        in_threads([lambda i=i: write(i) for i in range(4)])
        with server.client() as client:
            assert client.must("SCARD", "comment:likes:hot") == 40_000
            assert client.must("COUNT.GET", "comment:hot", "like") == [40_000]
            assert client.must("BITCOUNT", "bm:like:comment:hot:0") == 32768
            assert client.must("BITCOUNT", "bm:like:comment:hot:1") == 40_000 - 32768


def reader_cases(suite, server):
    with suite.case("a reader sees its own writes, and counts that never go back"):
        done = threading.Event()

        def write():
            with server.client() as client:
                for uid in range(5000):
                    assert client.must("FACT.ADD", "like:article:read", uid) == 1
                    assert client.must("FACT.HAS", "like:article:read", uid) == 1
                    assert client.must("FACT.CARD", "like:article:read") == uid + 1
            done.set()

        def read():
            with server.client() as client:
                last, seen = 0, 0
                while not done.is_set():
                    count = client.must("COUNT.GET", "article:read", "like")[0]
                    cardinality = client.must("FACT.CARD", "like:article:read")
                    assert last <= count <= cardinality, (last, count, cardinality)
                    last, seen = count, seen + 1
                return seen
        try:
            seen = in_threads([write, read, read])
        finally:
            done.set()
        tap.comment(f"{seen[1] + seen[2]} counts read meanwhile")
        with server.client() as client:
            assert client.must("COUNT.GET", "article:read", "like") == [5000]


def main():
    if not server_process.tallystick_binary():
        tap.skip_all("TALLYSTICK_SERVER names no program")
    with tap.Suite(__doc__) as suite, server_process.temporary_directory("clients") as directory:
        rng = random.Random(tap.seed())
        for durability in ("everysec", "always"):
            tap.comment(f"durability {durability}")
            with server_process.Tallystick(os.path.join(directory, durability),
                                           ["--durability", durability, "--threads", "2"]) as server:
                toggle_cases(suite, server, rng)
                if durability == "everysec":
                    hammer_cases(suite, server, rng)
                    reader_cases(suite, server)


if __name__ == "__main__":
    main()
