"""A PostgreSQL server for the tests: the system's program in a temporary folder, on 127.0.0.1, as another user."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

_USER = "postgres"


def missing() -> str | None:
    """Why there can be no server here; None if there can."""
    if _binaries() is None:
        return "PostgreSQL is not installed"
    if os.geteuid() == 0 and (not shutil.which("runuser") or not _has_user()):
        return "PostgreSQL does not run as root, and there is no user for it"
    return None


def _binaries() -> Path | None:
    found = shutil.which("postgres")
    if found:
        return Path(found).parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


def _has_user() -> bool:
    try:
        return bool(pwd.getpwnam(_USER))
    except KeyError:
        return False


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Postgres:
    """A server that ends with :meth:`stop`; each :meth:`database` is empty."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="etana-pg-"))
        self.port, self._made = free_port(), 0
        self.prefix = ["runuser", "-u", _USER, "--"] if os.geteuid() == 0 else []
        if self.prefix:
            shutil.chown(self.folder, _USER)
        binaries, data = _binaries(), self.folder / "data"
        self.binaries = binaries
        self._run(binaries / "initdb", "-D", data, "-A", "trust", "-U", "etana", "-E", "UTF8", "--no-locale", "-N")
        command = [*self.prefix, str(binaries / "postgres"), "-D", str(data), "-p", str(self.port), "-h", "127.0.0.1",
                   "-k", "", "-c", "max_connections=200"]  # fmt: skip
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        self._wait()

    def _run(self, *command: object) -> None:
        subprocess.run([*self.prefix, *map(str, command)], check=True, capture_output=True, cwd=self.folder, timeout=60)

    def _wait(self) -> None:
        import psycopg

        deadline = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.address("postgres")).close()
                return
            except psycopg.OperationalError:
                assert time.monotonic() < deadline, (self.folder / "log").read_text()
                time.sleep(0.05)

    def address(self, name: str) -> str:
        return f"postgresql://etana@127.0.0.1:{self.port}/{name}"

    def database(self) -> str:
        """The address of a new database."""
        import psycopg

        self._made += 1
        name = f"cases{self._made}"
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        return self.address(name)

    @property
    def pid(self) -> int:
        """The server's own process; the one that was started may be runuser's."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def stop(self) -> None:
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGINT)
            self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)
