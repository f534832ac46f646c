"""Proves that python3-redis, an ordinary client library, works against tallystick-server.

Each case uses the library as its documentation shows: plain strings, sets, bitmaps, pipelines, scans,
connection pools, errors as exceptions, and our own commands through execute_command.
"""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import server_process
import tap

try:
    import redis
except ImportError:
    redis = None


def cases(suite, connect):
    r = connect()

    def fresh(name):
        r.flushall()
        return suite.case(name)
    with fresh("strings"):
        assert r.ping() is True
        assert r.set("k", "v") is True and r.get("k") == b"v"
        assert r.set("k", "w", nx=True) is None
        assert r.set("k", "w", xx=True, ex=100) is True and 0 < r.ttl("k") <= 100
        assert r.set("k", "x", get=True) == b"w"
        assert r.mget("k", "missing") == [b"x", None]
        assert r.delete("k", "missing") == 1 and r.exists("k") == 0
        assert r.get("k") is None
    with fresh("binary values"):
        value = bytes(range(256)) * 300
        r.set(b"\x00\xff", value)
        assert r.get(b"\x00\xff") == value and r.strlen(b"\x00\xff") == len(value)
    with fresh("sets"):
        assert r.sadd("s", 1, 2, 3) == 3 and r.sadd("s", 3) == 0
        assert r.smembers("s") == {b"1", b"2", b"3"}
        assert r.sismember("s", 2) and not r.sismember("s", 9)
        assert r.smismember("s", [1, 9]) == [1, 0]
        assert r.srem("s", 1, 9) == 1 and r.scard("s") == 2
        assert {int(m) for m in r.sscan_iter("s")} == {2, 3}
    with fresh("bitmaps"):
        assert r.setbit("b", 100, 1) == 0 and r.setbit("b", 100, 1) == 1
        assert r.getbit("b", 100) == 1 and r.getbit("b", 99) == 0
        assert r.bitcount("b") == 1 and r.bitcount("b", 0, 11) == 0
    with fresh("keys and scan"):
        for i in range(1000):
            r.set(f"key:{i}", i)
        assert len(r.keys("key:*")) == 1000 and r.dbsize() == 1000
        assert {int(k[4:]) for k in r.scan_iter("key:*", count=50)} == set(range(1000))
        assert r.type("key:1") == b"string"
    with fresh("a pipeline without MULTI"):
        with r.pipeline(transaction=False) as pipe:
            for i in range(1000):
                pipe.setbit("bm:like:article:1:0", i, 1)
            assert pipe.execute() == [0] * 1000
        assert r.bitcount("bm:like:article:1:0") == 1000
        assert r.execute_command("COUNT.GET", "article:1")[0] == 1000
    with fresh("errors are exceptions"):
        r.set("k", "v")
        for call, words in ((lambda: r.sadd("k", 1), "wrong kind of value"),
                            (lambda: r.execute_command("NOSUCH", "a"), "unknown command"),
                            (lambda: r.setbit("b", -1, 1), "bit offset")):
            try:
                call()
            except redis.ResponseError as error:
                assert words in str(error), error
            else:
                raise AssertionError(f"no exception with {words}")
        assert r.ping()
    with fresh("info, config, client, time"):
        info = r.info()
        assert info["redis_version"] == "7.0.15" and info["role"] == "master", info
        assert info["loading"] == 0 and "tallystick_version" in info, info
        assert info["redis_mode"] == "standalone"
        assert r.info("server")["redis_version"] == "7.0.15"
        assert "maxmemory" in r.config_get("maxmemory")
        assert r.client_setname("python") and r.client_getname() == "python"
        assert any(c["name"] == "python" for c in r.client_list())
        assert r.client_id() > 0 and len(r.time()) == 2
        assert r.echo("x") == b"x" and r.select(0) is True
    with fresh("facts and counts"):
        run = r.execute_command
        assert run("FACT.ADD", "like:article:7", 1, 2, 3) == 3
        assert run("FACT.TOGGLE", "like:article:7", 3) == [0, 2, 0]
        assert run("COUNT.INCRBY", "article:7", "view", 41) == 41
        assert run("COUNT.GET", "article:7") == [2, 0, 0, 0, 41]
        assert run("COUNT.SYNC", "article:7") in (b"OK", "OK", True)
        assert len(r.get("cnt:v1:article:7")) == 20
        assert run("FACT.SCAN", "like:article:7", 0) == [b"0", [b"1", b"2"]]
    with fresh("decoded replies"):
        d = connect(decode_responses=True)
        d.set("k", "v")
        assert d.get("k") == "v" and d.keys() == ["k"]
    with fresh("eight threads on one pool"):
        def like(first):
            for uid in range(first, 2000, 8):
                r.execute_command("FACT.ADD", "like:article:9", uid)
        threads = [threading.Thread(target=like, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert r.execute_command("FACT.CARD", "like:article:9") == 2000
        assert r.execute_command("COUNT.GET", "article:9")[0] == 2000


def password_cases(suite, connect):
    with suite.case("a password is asked for"):
        try:
            connect().ping()
        except redis.AuthenticationError:
            pass
        else:
            raise AssertionError("no password was asked for")
    with suite.case("a wrong password is refused"):
        try:
            connect(password="wrong").ping()
        except (redis.AuthenticationError, redis.ResponseError):
            pass
        else:
            raise AssertionError("a wrong password was let in")
    with suite.case("the right password lets in"):
        assert connect(password="secret", client_name="x").ping()
        assert connect(username="default", password="secret").ping()


def main():
    if not server_process.tallystick_binary():
        tap.skip_all("TALLYSTICK_SERVER names no program")
    if redis is None:
        tap.skip_all("python3-redis is not installed")
    with tap.Suite(__doc__) as suite, server_process.temporary_directory("python") as directory:
        for name, arguments, run in (("open", [], cases),
                                     ("closed", ["--requirepass", "secret"], password_cases)):
            with server_process.Tallystick(os.path.join(directory, name), arguments) as server:
                def connect(**options):
                    host, port = server.address
                    return redis.Redis(host=host, port=port, **options)
                run(suite, connect)


if __name__ == "__main__":
    main()
