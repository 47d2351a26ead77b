"""Cases in a SQLite file, with a write-ahead log; each commit waits for the disk."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator

from etana.errors import InputError
from etana.service.engines import (
    APPLICATION,
    LOCK_WAIT,
    VERSION,
    Connection,
    audit_columns,
    case_columns,
    other_tables,
)
from etana.service.errors import Busy

__all__ = ["SqliteEngine"]

_LEAST_SPACE = 16 * 2**20


class SqliteEngine:
    """A file; ``":memory:"`` keeps everything in memory."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, path: str) -> None:
        self.shown = path
        self._lock = threading.Lock()
        self._writer = _open(path)
        self._reader = self._writer if path == ":memory:" else _open(path)

    def writer(self) -> Connection:
        """The connection that changes things."""
        return self._writer

    def begin(self) -> None:
        """Start a transaction."""
        if self._writer is self._reader:
            self._lock.acquire()
        try:
            self._writer.execute("BEGIN IMMEDIATE")
        except BaseException:
            self._release()
            raise

    def commit(self) -> None:
        """End it."""
        self._writer.execute("COMMIT")
        self._release()

    def rollback(self) -> None:
        """Forget it."""
        with contextlib.suppress(sqlite3.Error):
            self._writer.execute("ROLLBACK")
        self._release()

    def _release(self) -> None:
        if self._writer is self._reader and self._lock.locked():
            self._lock.release()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """The connection to read with, which readers take turns on."""
        with self._lock:
            yield self._reader

    def certain(self, error: Exception) -> bool:
        """A commit that fails is rolled back."""
        return True

    def check_space(self) -> None:
        """A disk that is nearly full is a fault before the first change fails."""
        if self.shown == ":memory:" or not hasattr(os, "statvfs"):
            return
        disk = os.statvfs(os.path.dirname(os.path.abspath(self.shown)))
        left = disk.f_bavail * disk.f_frsize
        if left < _LEAST_SPACE:
            raise Busy(f"the disk of the store has {left:,} bytes left; at least {_LEAST_SPACE:,} are needed")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._reader.close()
            self._writer.close()


def _open(path: str) -> sqlite3.Connection:
    """A connection to the file, which is made if it is not there."""
    try:
        if path != ":memory:":
            # The file holds people's answers; the log and the index beside it get the same permissions.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(path, timeout=LOCK_WAIT, isolation_level=None, check_same_thread=False)
        try:
            _check_file(connection, path)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            _make_sqlite_tables(connection)
        except BaseException:
            connection.close()
            raise
    except (sqlite3.Error, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot hold the cases: {reason}; give another file: --store PATH") from error
    return connection


def _check_file(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a database of somebody else, or of a newer version."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    own = application == APPLICATION and 1 <= version <= VERSION
    if not own and (tables or application or version):
        whose = f"a store of version {version}" if application == APPLICATION else "a database of another program"
        raise InputError(f"{path} is {whose}; give another file: --store PATH")


def _make_sqlite_tables(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA user_version").fetchone()[0] == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(f"CREATE TABLE IF NOT EXISTS cases ({case_columns('REAL')}) WITHOUT ROWID")
        if "owner" not in [row[1] for row in connection.execute("PRAGMA table_info(cases)")]:
            connection.execute("ALTER TABLE cases ADD COLUMN owner TEXT NOT NULL DEFAULT ''")  # version 1
        number = "number INTEGER PRIMARY KEY AUTOINCREMENT"
        connection.execute(f"CREATE TABLE IF NOT EXISTS audit ({number}, {audit_columns('REAL')})")
        for act in ("UPDATE", "DELETE"):
            connection.execute(
                f"CREATE TRIGGER IF NOT EXISTS no_{act.lower()} BEFORE {act} ON audit "
                "BEGIN SELECT RAISE(ABORT, 'the audit trail only grows'); END"
            )
        for statement in other_tables("REAL"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
