"""A RESP client for tests: it keeps the bytes of each reply beside its value.

Blocking, one connection, not thread-safe. Every read has a time limit, so that no test hangs.
"""

import re
import socket

READ_TIMEOUT_SECONDS = 60


class Closed(Exception):
    """The server closed the connection before the reply was complete."""


class Error(str):
    """An error reply, without its leading '-'."""


class Simple(str):
    """A status reply, without its leading '+'."""


class Map(list):
    """A RESP3 map, as a list of (key, value)."""


class Set(list):
    """A RESP3 set."""


class Push(list):
    """A RESP3 push message."""


def encode(args):
    """One request as an array of bulk strings. Arguments are str, bytes or int."""
    parts = [b"*%d\r\n" % len(args)]
    for arg in args:
        if not isinstance(arg, bytes):
            arg = str(arg).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(arg), arg))
    return b"".join(parts)


def inline_quote(arg):
    """An argument as a word of an inline request."""
    if arg and re.fullmatch(rb"[!-~]+", arg) and not set(arg) & set(b"\"'\\"):
        return arg
    escaped = b"".join(bytes([c]) if 32 <= c < 127 and c not in b'"\\' else b"\\x%02x" % c
                       for c in arg)
    return b'"' + escaped + b'"'


def encode_inline(args):
    """One request as an inline line."""
    return b" ".join(inline_quote(a if isinstance(a, bytes) else str(a).encode())
                     for a in args) + b"\r\n"


def split_words(line):
    """Splits a line into words by the rules of inline requests and redis-cli: "..." knows \\n, \\r,
    \\t, \\b, \\a and \\xHH, '...' knows \\'. Returns bytes."""
    text = line.encode() if isinstance(line, str) else line
    words, at = [], 0
    escapes = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"a": b"\a"}
    while True:
        while at < len(text) and text[at:at + 1].isspace():
            at += 1
        if at == len(text):
            return words
        word, quote = bytearray(), b""
        while at < len(text):
            c = text[at:at + 1]
            if quote == b'"' and c == b"\\":
                hexed = re.match(rb"\\x([0-9a-fA-F]{2})", text[at:])
                if hexed:
                    word.append(int(hexed[1], 16))
                    at += 4
                    continue
                at += 1
                word += escapes.get(text[at:at + 1], text[at:at + 1])
            elif quote == b"'" and text[at:at + 2] == b"\\'":
                word += b"'"
                at += 1
            elif quote and c == quote:
                quote = b""
                at += 1
                break
            elif not quote and c in (b'"', b"'"):
                quote = c
            elif not quote and c.isspace():
                break
            else:
                word += c
            at += 1
        if quote:
            raise ValueError(f"unbalanced quotes in {line!r}")
        words.append(bytes(word))


class Client:
    """One connection. `address` is (host, port), or the path of a Unix socket."""

    def __init__(self, address, timeout=READ_TIMEOUT_SECONDS):
        if isinstance(address, str):
            self.socket = socket.socket(socket.AF_UNIX)
        else:
            self.socket = socket.socket(socket.AF_INET)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.buffer = bytearray()
        self.start = 0  # what lies before it has been returned

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        self.socket.close()

    def send_raw(self, data):
        self.socket.sendall(data)

    def _fill(self):
        if self.start > 1 << 16:
            del self.buffer[:self.start]
            self.start = 0
        try:
            data = self.socket.recv(1 << 18)
        except ConnectionResetError:
            data = b""
        if not data:
            raise Closed(f"closed; {bytes(self.buffer[self.start:])!r} was left")
        self.buffer += data

    def read_until_closed(self):
        """All bytes until the server closes."""
        while True:
            try:
                self._fill()
            except Closed:
                rest = bytes(self.buffer[self.start:])
                self.start = len(self.buffer)
                return rest

    def read_until(self, end):
        """All bytes up to and with `end`; raises Closed when the server closes before it."""
        while (at := self.buffer.find(end, self.start)) < 0:
            self._fill()
        return self._take(at + len(end))

    def _take(self, end):
        data = bytes(self.buffer[self.start:end])
        self.start = end
        return data

    def _line(self):
        return self.read_until(b"\r\n")[:-2]

    def _bytes(self, count):
        while len(self.buffer) - self.start < count + 2:
            self._fill()
        data = self._take(self.start + count + 2)
        assert data.endswith(b"\r\n"), f"a bulk reply without its CRLF: {data!r}"
        return data[:-2]

    def read(self):
        """The value of the next reply."""
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return Simple(rest.decode("latin-1"))
        if kind == b"-":
            return Error(rest.decode("latin-1"))
        if kind == b":":
            return int(rest)
        if kind in b"$=!":
            return None if rest == b"-1" else self._bytes(int(rest))
        if kind in b"*~>":
            if rest == b"-1":
                return None
            items = [self.read() for _ in range(int(rest))]
            return {b"*": list, b"~": Set, b">": Push}[kind](items)
        if kind == b"%":
            return Map((self.read(), self.read()) for _ in range(int(rest)))
        if kind == b"_":
            return None
        if kind == b"#":
            return rest == b"t"
        if kind == b",":
            return float(rest)
        if kind == b"(":
            return int(rest)
        raise AssertionError(f"not a RESP reply: {line!r}")

    def read_raw(self):
        """The bytes of the next reply."""
        parts = []
        self._collect(parts)
        return b"".join(parts)

    def _collect(self, parts):
        line = self._line()
        parts.append(line + b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind in b"$=!" and rest != b"-1":
            parts.append(self._bytes(int(rest)) + b"\r\n")
        elif kind in b"*~>%" and rest != b"-1":
            for _ in range(int(rest) * (2 if kind == b"%" else 1)):
                self._collect(parts)
        else:
            assert kind in b"+-:$=!*~>_#,(", f"not a RESP reply: {line!r}"

    def call(self, *args):
        """Sends one request and returns its reply's value; an error reply is returned, not raised."""
        self.socket.sendall(encode(args))
        return self.read()

    def must(self, *args):
        """As call(), but an error reply fails the test."""
        reply = self.call(*args)
        assert not isinstance(reply, Error), f"{args!r} was answered -{reply}"
        return reply

    def pipeline(self, requests, window=512):
        """Sends many requests, at most `window` unanswered, and returns the values of all replies."""
        replies = []
        for first in range(0, len(requests), window):
            batch = requests[first:first + window]
            self.socket.sendall(b"".join(map(encode, batch)))
            replies += [self.read() for _ in batch]
        return replies


def parse(data):
    """The value of the reply in `data`."""
    client = Client.__new__(Client)
    client.socket, client.buffer, client.start = None, bytearray(data), 0
    return client.read()
