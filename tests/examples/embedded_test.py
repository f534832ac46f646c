"""Proves that an installed libtallystick is enough for somebody else's program.

How: installs this build into a temporary folder, builds examples/embedded there with nothing but
pkg-config to find the library (shared), links it once more against the static library, and runs
both: the first finds an empty directory, the second what the first has left.

usage: embedded_test.py MESON SANITIZERS COMPILER [ARGUMENT ...]
"""

import os
import subprocess
import sys
import tempfile

SOURCE = os.path.join(os.environ["TALLYSTICK_SOURCE_ROOT"], "examples", "embedded")
BUILD = os.environ["TALLYSTICK_BUILD_ROOT"]

# `%s` and `%d`: what differs between a first and a second run.
OUTPUT = """\
user 7: %s
batch of 1000: %d changed
views: %d
like 1000
fav 0
comment 0
share 0
view %d
record + pending = facts + counter part: yes
"""


def run(*command, **env):
    """Runs a command to its end; returns its output, or ends the test with it."""
    done = subprocess.run(
        command,
        env=dict(os.environ, **env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    if done.returncode != 0:
        sys.exit("%s\nexit status %d of: %s" % (done.stdout, done.returncode, " ".join(command)))
    return done.stdout


def find(folder, name):
    """The folder below `folder` that holds a file called `name`."""
    for path, _, names in os.walk(folder):
        if name in names:
            return path
    return sys.exit("%s is not installed" % name)


def expect(output, *values):
    wanted = OUTPUT % values
    if output != wanted:
        sys.exit("expected:\n%s\nfound:\n%s" % (wanted, output))


def main(meson, sanitizers, *compiler):
    with tempfile.TemporaryDirectory() as folder:
        installed = os.path.join(folder, "installed")
        run(meson, "install", "-C", BUILD, "--no-rebuild", "--destdir", installed)
        library = find(installed, "libtallystick.so")
        pkgconfig = {"PKG_CONFIG_PATH": find(installed, "tallystick.pc")}

        build = os.path.join(folder, "build")
        toolchain = dict(pkgconfig, CXX=" ".join(compiler))
        run(meson, "setup", build, SOURCE, "-Db_sanitize=" + sanitizers, "-Db_lundef=false", **toolchain)
        run("ninja", "-C", build)
        data = os.path.join(folder, "data")
        shared = run(os.path.join(build, "likes"), data, LD_LIBRARY_PATH=library)
        expect(shared, "likes it now", 999, 1, 1)

        flags = run("pkg-config", "--cflags", "tallystick", **pkgconfig).split()
        needed = run("pkg-config", "--libs", "--static", "tallystick", **pkgconfig).split()
        needed.remove("-ltallystick")
        if sanitizers != "none":
            flags.append("-fsanitize=" + sanitizers)
        static = os.path.join(folder, "static")
        archive = os.path.join(library, "libtallystick.a")
        source = os.path.join(SOURCE, "likes.cc")
        run(*compiler, "-std=c++20", *flags, source, "-o", static, archive, *needed)
        expect(run(static, data), "liked it before", 0, 2, 2)


if __name__ == "__main__":
    main(*sys.argv[1:])
