"""A real PostgreSQL on loopback: a private server in a temporary folder, and empty databases on it.

Run as a program, it starts such a server, prints its URL, and stops it when its standard input ends.
"""

from __future__ import annotations

import os
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pwd

# The URL of a server on which databases may be created; without it the tests start their own.
GIVEN = os.environ.get("COVBANDIT_TEST_POSTGRES")

ABSENT = "no PostgreSQL here: apt-get install postgresql"

SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = '{folder}'
fsync = on
synchronous_commit = on
"""

# Outlives this process, however it ends: once its input is closed, it stops the server and removes the folder.
GUARD = """
cat >/dev/null
if pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null); then
  kill -QUIT "$pid" 2>/dev/null # its data is not needed any more
  tries=600
  while [ "$tries" -gt 0 ] && kill -0 "$pid" 2>/dev/null; do sleep .1; tries=$((tries - 1)); done
fi
rm -rf "$1"
"""


def _programs() -> Path | None:
    """Return the folder of initdb and its like; of several versions the newest, unless one is on the path."""
    folders = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(re.sub(r"\D", "", folder.parent.name) or 0)
    )
    if found := shutil.which("initdb"):
        folders.append(Path(found).resolve().parent)
    return next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)


PROGRAMS = _programs()


def _unused_port() -> int:
    """Return a port that nobody listens on, of those that the system does not give to clients."""
    while True:
        port = random.SystemRandom().randrange(15_000, 32_000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


class NoRoom(Exception):
    """PostgreSQL is here, but /dev/shm has no room for what its processes share."""


class PostgresServer:
    """A server of one's own, stopped and removed by `close`, or when this process ends in whatever way.

    Between `stop` and `start` it keeps its data, its port and its URLs.
    """

    def __init__(self) -> None:
        if PROGRAMS is None:
            raise FileNotFoundError(ABSENT)
        self.folder = Path(tempfile.mkdtemp(prefix="covbandit-postgres-"))
        self.log = self.folder / "log"
        self.port = _unused_port()
        self._data = self.folder / "data"
        self._password = secrets.token_hex(16)
        self._identity: dict[str, Any] = {}
        if os.geteuid() == 0:  # whom PostgreSQL refuses
            user = _unprivileged_user()
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self._guard = subprocess.Popen(
            ["sh", "-c", GUARD, "guard", self.folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # out of reach of Ctrl-C
        )
        try:
            self._initialize()
        except BaseException:
            self.close()
            raise

    def _initialize(self) -> None:
        password = self.folder / "password"
        password.write_text(self._password, encoding="utf-8")
        if self._identity:
            os.chown(password, self._identity["user"], self._identity["group"])
        password.chmod(0o600)
        done = self._run(
            "initdb",
            "--username=covbandit",
            f"--pwfile={password}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        )
        said = done.stdout + done.stderr
        if done.returncode and "shared memory segment" in said and "No space left on device" in said:
            raise NoRoom("PostgreSQL cannot start here: /dev/shm is full")
        assert done.returncode == 0, said
        password.unlink()
        with (self._data / "postgresql.conf").open("a") as settings:
            settings.write(SETTINGS.format(folder=self.folder))

    def _run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        assert PROGRAMS is not None
        return subprocess.run(
            [PROGRAMS / program, "-D", self._data, *arguments],
            cwd=self.folder,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **self._identity,
        )

    @property
    def running(self) -> bool:
        return self._run("pg_ctl", "status").returncode == 0

    def start(self) -> None:
        """Return when the server takes connections."""
        done = self._run("pg_ctl", "-w", "-t", "60", "-l", str(self.log), "-o", f"-p {self.port}", "start")
        if done.returncode:
            log = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
            raise AssertionError(f"PostgreSQL did not start\n{done.stdout}{done.stderr}{log}")

    def stop(self, mode: str = "fast") -> None:
        """Return when the server is gone: "smart" waits for clients, "fast" drops them, "immediate" is a crash."""
        done = self._run("pg_ctl", "-w", "-t", "60", "-m", mode, "stop")
        assert done.returncode == 0, done.stdout + done.stderr

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop all its processes as they are: connections stay open, and nobody answers."""
        main = int((self._data / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        children = Path(f"/proc/{main}/task/{main}/children").read_text(encoding="utf-8").split()
        processes = [main, *map(int, children)]
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in reversed(processes):
                os.kill(process, signal.SIGCONT)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql+psycopg://covbandit:{self._password}@127.0.0.1:{self.port}/{database}"

    @contextmanager
    def new_database(self) -> Iterator[str]:
        """Yield the URL of an empty database."""
        with new_database(self.url(), keep=lambda: not self.running) as url:
            yield url

    def close(self) -> None:
        self._guard.communicate()

    def __enter__(self) -> PostgresServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _unprivileged_user() -> pwd.struct_passwd:
    import pwd  # here, since Windows has none and every test needs this file

    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


@contextmanager
def new_database(server: str, keep: Callable[[], bool] = lambda: False) -> Iterator[str]:
    """Yield the URL of an empty database on the server with this URL; drop it afterwards, unless `keep()`."""
    import psycopg
    from sqlalchemy import make_url

    url = make_url(server).set(drivername="postgresql+psycopg")
    libpq = url.set(drivername="postgresql").render_as_string(hide_password=False)
    name = f"covbandit_{secrets.token_hex(8)}"

    def administer(statement: str) -> None:
        with psycopg.connect(libpq, autocommit=True, connect_timeout=30) as connection:
            connection.execute(statement.encode())

    administer(f"CREATE DATABASE {name} TEMPLATE template0")
    try:
        yield url.set(database=name).render_as_string(hide_password=False)
    finally:
        if not keep():
            administer(f"DROP DATABASE {name} WITH (FORCE)")


def _serve() -> None:
    try:
        server = PostgresServer()
    except (FileNotFoundError, NoRoom) as error:
        sys.exit(str(error))
    with server:
        print(server.url(), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _serve()
