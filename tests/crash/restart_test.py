"""Proves that a restart answers at once, whatever the size of the data, and rightly.

A directory is filled with facts (ten per entity), its records and snapshots are written by a clean
stop, then as many more events as a long tail has are written and the server is killed. The time from
exec to the first correct answer is printed beside those of two directories of 100,000 facts, one that
was killed while they were written and one that was stopped cleanly, as medians of several runs;
afterwards every count and a sample of the facts are compared.

usage: restart_test.py [FACTS TAIL]: 200,000 facts and a tail of 50,000 events when not given.
"""

import os
import random
import shutil
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import resp
import server_process
import tap

PER_ENTITY = 10
RUNS = 5
SMALL_FACTS = 100_000
WINDOW = 500


def uids_of(entity, generation):
    """Ten users of an entity; generation 1 differs from 0 in the last digit only."""
    return [entity * 7 % 1000 + uid * 100_003 + generation for uid in range(PER_ENTITY)]


def send(server, requests):
    """Sends an iterable of requests in windows; an error reply fails."""
    with server.client() as client:
        batch = []

        def flush():
            client.send_raw(b"".join(batch))
            for _ in batch:
                reply = client.read()
                assert not isinstance(reply, resp.Error), reply
            batch.clear()
        for request in requests:
            batch.append(resp.encode(request))
            if len(batch) == WINDOW:
                flush()
        flush()


def adds(entities, generation):
    for entity in entities:
        yield ["FACT.ADD", f"like:article:{entity}", *uids_of(entity, generation)]


def build_killed(directory, facts):
    """A directory that was killed right after `facts` facts were written."""
    entities = facts // PER_ENTITY
    with server_process.Tallystick(directory) as server:
        send(server, adds(range(entities), 0))
        server.kill()
    return entities, set()


def build(directory, facts, tail):
    """A killed directory with `facts` facts below the checkpoint and `tail` events after it."""
    entities = facts // PER_ENTITY
    with server_process.Tallystick(directory) as server:
        send(server, adds(range(entities), 0))
        assert server.stop() == 0, server.log()
    # The tail goes to entities spread over all of them.
    step = max(1, entities // max(1, tail // PER_ENTITY))
    touched = list(range(0, entities, step))[:tail // PER_ENTITY]
    with server_process.Tallystick(directory) as server:
        send(server, adds(touched, 1))
        server.kill()
    return entities, set(touched)


def right_count(entity, touched):
    return PER_ENTITY * (2 if entity in touched else 1)


def first_answer(directory, entity, count):
    """Seconds from exec to the first correct answer; the server is killed, so that the tail stays."""
    began = time.monotonic()
    with server_process.Tallystick(directory) as server, server.client() as client:
        while True:
            reply = client.call("COUNT.GET", f"article:{entity}", "like")
            if not (isinstance(reply, resp.Error) and reply.startswith("LOADING")):
                break
        elapsed = time.monotonic() - began
        assert reply == [count], f"the first answer was {reply!r}, right is {count}"
        return elapsed


def median_of_runs(directory, entities, touched, rng):
    """Each run works on a copy: a run may move the checkpoint up, and the next has to find the tail."""
    seconds = []
    for run in range(RUNS):
        copy = f"{directory}-run"
        shutil.copytree(directory, copy)
        entity = rng.choice(sorted(touched)) if run % 2 and touched else rng.randrange(entities)
        try:
            seconds.append(first_answer(copy, entity, right_count(entity, touched)))
        finally:
            shutil.rmtree(copy)
    tap.comment("  seconds to the first answer: " + " ".join(f"{s:.3f}" for s in seconds))
    return statistics.median(seconds)


def check_everything(server, entities, touched, rng):
    with server.client() as client:
        client.must("COUNT.SYNC")
        for first in range(0, entities, 1000):
            some = range(first, min(first + 1000, entities))
            replies = client.must("COUNT.MGET", "SLOTS", 1, "like", "ENTITIES", *[f"article:{e}" for e in some])
            for entity, (count,) in zip(some, replies):
                assert count == right_count(entity, touched), f"article:{entity} counts {count}"
        for entity in rng.sample(range(entities), min(entities, 2000)):
            uids = set(uids_of(entity, 0)) | (set(uids_of(entity, 1)) if entity in touched else set())
            _, found = client.must("FACT.SCAN", f"like:article:{entity}", 0, "COUNT", 1000)
            assert {int(uid) for uid in found} == uids, f"facts of article:{entity}"
            record = client.must("COUNT.RAW", f"article:{entity}")
            assert record[:4] == len(uids).to_bytes(4, "big"), f"record of article:{entity}"
            proof = client.must("COUNT.VERIFY", f"article:{entity}")
            assert dict(zip(proof[::2], proof[1::2]))[b"ok"] == 1, f"proof of article:{entity}"


def main():
    if not server_process.tallystick_binary():
        tap.skip_all("TALLYSTICK_SERVER names no program")
    facts, tail = (int(n) for n in sys.argv[1:3]) if len(sys.argv) > 2 else (200_000, 50_000)
    with tap.Suite(__doc__) as suite, server_process.temporary_directory("restart") as directory:
        rng = random.Random(tap.seed())
        killed, small, large = (os.path.join(directory, name) for name in ("killed", "small", "large"))
        medians = {}
        built = {}
        for name, count, tail_events in ((killed, SMALL_FACTS, None), (small, SMALL_FACTS, 0), (large, facts, tail)):
            after = f"and {tail_events} events after the checkpoint"
            if tail_events is None:
                after = "and the server is killed"
            with suite.case(f"{count} facts are written, {after}"):
                began = time.monotonic()
                built[name] = build_killed(name, count) if tail_events is None else build(name, count, tail_events)
                tap.comment(f"{time.monotonic() - began:.1f} s to write")
            with suite.case(f"the first answers of {count} facts are right, {after}"):
                medians[name] = median_of_runs(name, *built[name], rng)
        tap.comment(f"median from exec to the first correct answer: {medians[large]:.3f} s with {facts} facts and a "
                    f"tail of {tail} events; {SMALL_FACTS} facts: {medians[killed]:.3f} s when killed "
                    f"({medians[large] / medians[killed]:.2f} times), {medians[small]:.3f} s when stopped cleanly "
                    f"({medians[large] / medians[small]:.2f} times)")
        with suite.case("every count and a sample of the facts are right after the restart"):
            with server_process.Tallystick(large) as server:
                check_everything(server, *built[large], rng)
                assert server.stop() == 0, server.log()
        with suite.case("and after a clean restart"):
            with server_process.Tallystick(large) as server:
                check_everything(server, *built[large], rng)


if __name__ == "__main__":
    main()
