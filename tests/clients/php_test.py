"""Proves that PHP applications can keep likes in a set or in a bitmap, on the same key, in turn.

Two scripts, one using SISMEMBER, SADD, SREM and SCARD, the other GETBIT, SETBIT and BITCOUNT, make
10,000 random clicks each on comment:likes:7, alternately 1,000 at a time. After every click they
compare with an array; at the end the server's counts must be the array's.
"""

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))

import server_process
import tap

CLICKS = 10_000
CLICKS_AT_A_TIME = 1_000
KEY = "comment:likes:7"


def click(script, server, key, state, clicks, seed):
    """Runs a script; returns the number of likes that it ends with."""
    host, port = server.address
    done = subprocess.run(["php", os.path.join(HERE, script), host, str(port), key, state, str(clicks),
                           str(seed)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{script}: {done.stdout}{done.stderr}"
    return int(done.stdout)


def php_has_redis():
    if not shutil.which("php"):
        return False
    modules = subprocess.run(["php", "-m"], capture_output=True, text=True, check=False).stdout
    return "redis" in modules.split()


def main():
    if not server_process.tallystick_binary():
        tap.skip_all("TALLYSTICK_SERVER names no program")
    if not php_has_redis():
        tap.skip_all("php with php-redis is not installed")
    with tap.Suite(__doc__) as suite, server_process.temporary_directory("php") as directory:
        seed = tap.seed()
        state = os.path.join(directory, "likes.json")
        likes = None
        with server_process.Tallystick(directory) as server:
            for turn in range(CLICKS // CLICKS_AT_A_TIME):
                for script in ("likes_by_set.php", "likes_by_bits.php"):
                    with suite.case(f"{script}, clicks from {turn * CLICKS_AT_A_TIME}"):
                        seed += 1
                        likes = click(script, server, KEY, state, CLICKS_AT_A_TIME, seed)
            with suite.case("the counts are the array's"), server.client() as client:
                assert client.must("COUNT.GET", "comment:7") == [likes, 0, 0, 0, 0]
                assert client.must("FACT.CARD", "like:comment:7") == likes
                client.must("COUNT.SYNC", "comment:7")
                assert client.must("GET", "cnt:v1:comment:7") == likes.to_bytes(4, "big") + bytes(16)


if __name__ == "__main__":
    main()
