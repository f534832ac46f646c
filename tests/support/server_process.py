"""Starts real servers for tests, waits until they answer, and ends them by their own pid.

A server listens on 127.0.0.1 at a port that the system chooses, and lives in a directory under a
temporary one. The binary under test is named by the environment variable TALLYSTICK_SERVER; the one
with fault points compiled in, where it exists, by TALLYSTICK_FAULT_SERVER.
"""

import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

import resp

START_TIMEOUT_SECONDS = 60
STOP_TIMEOUT_SECONDS = 60


class StartFailed(Exception):
    """The server ended before it answered. `code` is its exit code (negative: a signal), `log` its output."""

    def __init__(self, code, log):
        super().__init__(f"the server ended with {code} before it answered; its output:\n{log}")
        self.code = code
        self.log = log


def tallystick_binary():
    path = os.environ.get("TALLYSTICK_SERVER", "")
    return path if os.access(path, os.X_OK) else None


def redis_binary():
    return shutil.which("redis-server")


def temporary_directory(name):
    return tempfile.TemporaryDirectory(prefix=f"tallystick-{name}-")


class Process:
    """A child process that is killed at the latest when its `with` block ends."""

    def __init__(self):
        self.child = None
        self.address = None
        self.log_path = None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.kill()

    @property
    def pid(self):
        return self.child.pid

    def log(self):
        with open(self.log_path, "rb") as log:
            return log.read().decode("utf-8", "backslashreplace")

    def _launch(self, command, env=None):
        with open(self.log_path, "ab") as log:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                          env={**os.environ, **(env or {})})

    def _poll_until(self, ready):
        """Calls ready() until it gives something; the server's end or the time limit ends it first."""
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        with os.fdopen(os.pidfd_open(self.child.pid), "rb", closefd=True) as ended:
            while (result := ready()) is None:
                if select.select([ended], [], [], 0.001)[0]:
                    raise StartFailed(self.child.wait(), self.log())
                if time.monotonic() > deadline:
                    self.kill()
                    raise StartFailed(None, "no answer in time\n" + self.log())
        return result

    def client(self, timeout=resp.READ_TIMEOUT_SECONDS):
        return resp.Client(self.address, timeout)

    def kill(self, number=signal.SIGKILL):
        """Ends the server by a signal and waits for its end. Returns the exit code."""
        if self.child is None:
            return None
        if self.child.poll() is None:
            self.child.send_signal(number)
        try:
            return self.child.wait(STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            raise AssertionError(f"the server did not stop on signal {number}:\n{self.log()}")

    def stop(self):
        """A clean stop: SIGTERM. Returns the exit code."""
        return self.kill(signal.SIGTERM)


class Tallystick(Process):
    """tallystick-server in `directory`; `arguments` are added to its command line."""

    def __init__(self, directory, arguments=(), env=None, binary=None, wait=True):
        super().__init__()
        os.makedirs(directory, exist_ok=True)
        self.directory = os.path.join(directory, "data")
        self.log_path = os.path.join(directory, "server.log")
        self.port_file = os.path.join(directory, "port")
        if os.path.exists(self.port_file):
            os.unlink(self.port_file)
        binary = binary or tallystick_binary()
        self._launch([binary, "--bind", "127.0.0.1", "--port", "0", "--port-file", self.port_file,
                      "--dir", self.directory, *arguments], env)
        if wait:
            self.wait_ready()

    def _read_port(self):
        try:
            with open(self.port_file, encoding="ascii") as file:
                text = file.read()
        except FileNotFoundError:
            return None
        return int(text) if text.endswith("\n") else None

    def wait_ready(self):
        """Returns when the server has written its port; it then accepts connections."""
        try:
            self.address = ("127.0.0.1", self._poll_until(self._read_port))
        except BaseException:
            self.kill()
            raise


class Redis(Process):
    """redis-server, without persistence unless `arguments` say otherwise, on a Unix socket: no port to clash."""

    def __init__(self, directory, arguments=()):
        super().__init__()
        os.makedirs(directory, exist_ok=True)
        self.log_path = os.path.join(directory, "redis.log")
        self.address = os.path.join(directory, "socket")
        self._launch([redis_binary(), "--port", "0", "--unixsocket", self.address, "--dir", directory,
                      "--save", "", "--appendonly", "no", "--databases", "1", *arguments])
        self._poll_until(self._connected)

    def _connected(self):
        try:
            with self.client() as client:
                client.call("PING")
            return True
        except (FileNotFoundError, ConnectionRefusedError):
            return None
