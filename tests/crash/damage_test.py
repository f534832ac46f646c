"""Proves that no damage to a file of a data directory ever gives a silently wrong answer.

A directory is made of facts, counters and plain keys, once closed cleanly and once killed, everything
acknowledged after an fsync. Then one file at a time is cut short or gets one flipped bit, and the
server is started on it. It must refuse by name with exit code 3, or serve; every answer must then be
right or an error. The same holds after a clean stop and another start. TALLYSTICK_TEST_DAMAGES sets
how many damages are tried in all.
"""

import collections
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import resp
import server_process
import tap

QUICK_DAMAGES = 40
REFUSED_EXIT_CODE = 3
ENTITIES = 60
UIDS = [0, 1, 5, 32767, 32768, 100_000, 1 << 33, (1 << 40) + 7, (1 << 64) - 1]
ARGUMENTS = ["--durability", "always"]


class Truth:
    """The right answers: requests and replies, and the writes that lead to them."""

    def __init__(self, rng):
        self.rng = rng
        self.facts = collections.defaultdict(set)
        self.views = collections.Counter()
        self.plain = {}
        self.bits = collections.defaultdict(set)
        self.members = collections.defaultdict(set)

    def writes(self, count):
        """Random writes, noted as done."""
        for _ in range(count):
            entity = self.rng.randrange(ENTITIES)
            choice = self.rng.randrange(10)
            if choice < 4:
                metric = self.rng.choice(["like", "fav"])
                # A few entities have many members, so that dense chunks are stored as well.
                uid = self.rng.randrange(5000) if entity < 3 else self.rng.choice(UIDS) ^ self.rng.randrange(4)
                key = f"{metric}:article:{entity}"
                if self.rng.random() < 0.7:
                    self.facts[key].add(uid)
                    yield ["FACT.ADD", key, uid]
                else:
                    self.facts[key].discard(uid)
                    yield ["FACT.REM", key, uid]
            elif choice < 6:
                self.views[f"article:{entity}"] += 3
                yield ["COUNT.INCRBY", f"article:{entity}", "view", 3]
            elif choice < 8:
                value = str(self.rng.random()) * self.rng.randrange(1, 20)
                self.plain[f"string:{entity}"] = value.encode()
                yield ["SET", f"string:{entity}", value]
            elif choice < 9:
                offset = self.rng.randrange(3000)
                self.bits[f"bits:{entity}"].add(offset)
                yield ["SETBIT", f"bits:{entity}", offset, 1]
            else:
                member = self.rng.choice(UIDS)
                self.members[f"set:{entity}"].add(member)
                yield ["SADD", f"set:{entity}", member]

    def questions(self):
        """(request, what its right reply is, as a function of the reply)."""
        def same(right):
            return lambda reply: reply == right

        def members(right):
            return lambda reply: {int(m) for m in reply} == right
        for entity in range(ENTITIES):
            name = f"article:{entity}"
            likes, favs = (self.facts[f"{metric}:{name}"] for metric in ("like", "fav"))
            counts = [len(likes), len(favs), 0, 0, self.views[name]]
            for metric, uids in (("like", likes), ("fav", favs)):
                key = f"{metric}:{name}"
                yield ["FACT.SCAN", key, 0, "COUNT", 100000], \
                    lambda reply, uids=uids: {int(u) for u in reply[1]} == uids and reply[0] == b"0"
                yield ["FACT.CARD", key], same(len(uids))
                asked = sorted(uids | set(UIDS))[:200]
                yield ["FACT.MHAS", key, *asked], same([int(u in uids) for u in asked])
            yield ["BITCOUNT", f"bm:like:{name}:0"], same(sum(u < 32768 for u in likes))
            yield ["COUNT.GET", name], same(counts)
            yield ["GET", f"cnt:v1:{name}"], same(b"".join(c.to_bytes(4, "big") for c in counts))
            if f"string:{entity}" in self.plain:
                yield ["GET", f"string:{entity}"], same(self.plain[f"string:{entity}"])
            if self.bits[f"bits:{entity}"]:
                bits = self.bits[f"bits:{entity}"]
                yield ["BITCOUNT", f"bits:{entity}"], same(len(bits))
                yield ["GETBIT", f"bits:{entity}", min(bits)], same(1)
                yield ["STRLEN", f"bits:{entity}"], same(max(bits) // 8 + 1)
            if self.members[f"set:{entity}"]:
                yield ["SMEMBERS", f"set:{entity}"], members(self.members[f"set:{entity}"])
        yield ["GET", "nothing"], same(None)
        yield ["FACT.CARD", "like:article:nothing"], same(0)
        # Keys are listed as they are, or not listed at all: never fewer.
        keys = set(self.plain) | {k for k, v in self.bits.items() if v} | {k for k, v in self.members.items() if v}
        yield ["KEYS", "string:*"], lambda reply: {k.decode() for k in reply} == {k for k in keys if k[:2] == "st"}


def build(directory, truth, killed):
    """Two lives, so that there are records and snapshots as well as a journal; the second ends as told."""
    for life in range(2):
        with server_process.Tallystick(directory, ARGUMENTS) as server, server.client() as client:
            for reply in client.pipeline(list(truth.writes(3000))):
                assert not isinstance(reply, resp.Error), reply
            if life == 0 or not killed:
                assert server.stop() == 0, server.log()
            else:
                server.kill()


def answers(server, truth):
    """(wrong answers as text, number of errors). Every question is put; loading is waited for."""
    wrong, errors = [], []
    with server.client() as client:
        for request, is_right in truth.questions():
            reply = client.call(*request)
            while isinstance(reply, resp.Error) and reply.startswith("LOADING"):
                reply = client.call(*request)
            if isinstance(reply, resp.Error):
                errors.append(f"{request[:2]}: {reply}")
            elif not is_right(reply):
                wrong.append(f"{request[:5]}: {str(reply)[:200]}")
    return wrong, errors


def damage(rng, path):
    """Damages one file; returns what was done."""
    size = os.path.getsize(path)
    kind = rng.randrange(4)
    if kind == 0:
        length = rng.choice([0, size // 2, max(0, size - 1), rng.randrange(size)])
        os.truncate(path, length)
        return f"cut from {size} to {length} bytes"
    if kind == 1:
        place = rng.randrange(size)
    elif kind == 2:
        place = rng.randrange(min(size, 64))
    else:
        place = size - 1 - rng.randrange(min(size, 64))
    bit = rng.randrange(8)
    with open(path, "r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1 << bit]))
    return f"bit {bit} of byte {place} of {size} flipped"


def files_of(directory):
    """All files that hold something, by their path below the directory."""
    found = [os.path.relpath(os.path.join(folder, name), directory)
             for folder, _, names in os.walk(directory) for name in names]
    return sorted(f for f in found if os.path.getsize(os.path.join(directory, f)) > 0)


def kind_of(name):
    """MANIFEST-000012 is MANIFEST; 000012.sst is sst."""
    name = os.path.basename(name)
    stem, dot, extension = name.partition(".")
    return extension if dot and stem.isdigit() else name.split("-")[0]


def try_once(rng, base, name, truth, work):
    """One damage. Returns (what was done, what happened); raises when an answer is wrong."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(base, work)
    for leftover in ("server.log", "port"):
        if os.path.exists(os.path.join(work, leftover)):
            os.unlink(os.path.join(work, leftover))
    done = damage(rng, os.path.join(work, "data", name))
    outcome = []
    for life in ("damaged", "restarted"):
        try:
            server = server_process.Tallystick(work, ARGUMENTS)
        except server_process.StartFailed as failed:
            assert failed.code == REFUSED_EXIT_CODE, \
                f"{name}, {done}, {life}: exit code {failed.code}\n{failed.log[-3000:]}"
            assert failed.log.strip(), f"{name}, {done}, {life}: refused without a word"
            return done, outcome + ["refused"]
        with server:
            try:
                wrong, errors = answers(server, truth)
            except (resp.Closed, ConnectionError) as lost:
                raise AssertionError(f"{name}, {done}, {life}: the server ended ({lost})\n"
                                     f"{server.log()[-3000:]}") from lost
            assert not wrong, f"{name}, {done}, {life}: wrong answers\n" + "\n".join(wrong[:10]) + \
                "\nits log:\n" + server.log()[-3000:]
            assert not errors or "damage" in server.log().lower() or "corrupt" in server.log().lower(), \
                f"{name}, {done}, {life}: errors, but the log does not say why: {errors[:3]}"
            outcome.append(f"{len(errors)} errors" if errors else "all right")
            server.stop()
    return done, outcome


def main():
    if not server_process.tallystick_binary():
        tap.skip_all("TALLYSTICK_SERVER names no program")
    total = int(os.environ.get("TALLYSTICK_TEST_DAMAGES", QUICK_DAMAGES))
    with tap.Suite(__doc__) as suite, server_process.temporary_directory("damage") as directory:
        seed = tap.seed()
        outcomes = collections.Counter()
        number = 0
        for killed in (False, True):
            state = "killed" if killed else "closed"
            base = os.path.join(directory, state)
            truth = Truth(random.Random(seed))
            build(base, truth, killed)
            with suite.case(f"a {state} directory without damage answers everything"):
                copy = os.path.join(directory, "undamaged")
                shutil.copytree(base, copy)
                with server_process.Tallystick(copy, ARGUMENTS) as server:
                    wrong, errors = answers(server, truth)
                    assert not wrong and not errors, "\n".join((wrong + errors)[:10])
                shutil.rmtree(copy)
            by_kind = collections.defaultdict(list)
            for name in files_of(os.path.join(base, "data")):
                by_kind[kind_of(name)].append(name)
            for turn in range(total // 2):
                number += 1
                # Tables and the write-ahead log, which hold the data, two times of three; else every kind of
                # file in turn, so that a single small one is damaged as well.
                rng = random.Random(seed * 1_000_003 + number)
                data = [kind for kind in ("sst", "log") if kind in by_kind]
                kinds = data if turn % 3 else sorted(by_kind)
                kind = kinds[(turn // 3 if kinds is not data else turn) % len(kinds)]
                name = rng.choice(by_kind[kind])
                with suite.case(f"{state}, damage {number}, {kind}"):
                    done, outcome = try_once(rng, base, name, truth, os.path.join(directory, "work"))
                    outcomes[f"{kind}: {', '.join(outcome)}"] += 1
                    tap.comment(f"{name}: {done}: {', '.join(outcome)}")
        for outcome, count in sorted(outcomes.items()):
            tap.comment(f"{count:5} {outcome}")


if __name__ == "__main__":
    main()
