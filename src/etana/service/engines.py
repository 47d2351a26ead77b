"""The two databases that can hold cases: a SQLite file for one machine, PostgreSQL for several.

An engine opens connections, makes the tables, and says which errors are the database's. The statements themselves, in
:mod:`etana.service.store`, are the same for both.

SQLite runs with a write-ahead log and ``synchronous=FULL``, PostgreSQL as it is set up (``synchronous_commit`` is on by
default): each commit waits for the disk, so an acknowledged answer survives a power cut too.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit

from etana.errors import InputError
from etana.service.errors import Busy

__all__ = ["Engine", "PostgresEngine", "SqliteEngine", "engine_for", "shown"]

Row = tuple[Any, ...]

_APPLICATION, _VERSION = 0x6574616E, 2  # "etan"
_LOCK_WAIT = 5.0
_CONNECT_WAIT = 5
_LEAST_SPACE = 16 * 2**20
_READERS = 8
_COLUMNS = """
    id TEXT PRIMARY KEY, model TEXT NOT NULL, digest TEXT NOT NULL, max_cost {real}, revision INTEGER NOT NULL,
    answers TEXT NOT NULL, status TEXT NOT NULL, created {real} NOT NULL, updated {real} NOT NULL,
    expires {real} NOT NULL, owner TEXT NOT NULL DEFAULT ''
"""
_TABLES = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY, person TEXT NOT NULL, mark TEXT NOT NULL, expires {real} NOT NULL
);
CREATE INDEX IF NOT EXISTS by_expiry ON cases (expires);
CREATE INDEX IF NOT EXISTS by_status ON cases (status, owner);
"""
_AUDIT = """
    at {real} NOT NULL, who TEXT NOT NULL, address TEXT NOT NULL, action TEXT NOT NULL, case_id TEXT, revision INTEGER
"""


class Connection(Protocol):
    """What both databases' connections can do."""

    def execute(self, sql: str, values: Sequence[Any] = ...) -> Any:
        """Run a statement; gives a cursor."""


class Engine(Protocol):
    """A database."""

    errors: tuple[type[Exception], ...]
    shown: str

    def writer(self) -> Connection:
        """The connection that changes things; opened again after it was lost."""

    def begin(self) -> None:
        """Start a transaction of the writer."""

    def commit(self) -> None:
        """End it; what it did is on the disk then."""

    def rollback(self) -> None:
        """Forget what it did."""

    def reading(self) -> contextlib.AbstractContextManager[Connection]:
        """A connection to read with."""

    def certain(self, error: Exception) -> bool:
        """Whether a commit that failed with this error has certainly changed nothing."""

    def check_space(self) -> None:
        """Raise :class:`~etana.service.errors.Busy` if the disk is nearly full."""

    def close(self) -> None:
        """End all connections."""


def engine_for(store: str | os.PathLike[str]) -> Engine:
    """The engine of a store: an address ``postgresql://...``, or the path of a SQLite file."""
    path = os.fsdecode(store)
    if path.startswith(("postgresql://", "postgres://")):
        return PostgresEngine(path)
    return SqliteEngine(path)


def shown(store: str) -> str:
    """A store as it may be shown: without user and password."""
    if "://" not in store:
        return store
    try:
        parts = urlsplit(store)
        return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"
    except ValueError:
        return "the database"


# --- SQLite


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
        connection = sqlite3.connect(path, timeout=_LOCK_WAIT, isolation_level=None, check_same_thread=False)
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
    own = application == _APPLICATION and 1 <= version <= _VERSION
    if not own and (tables or application or version):
        whose = f"a store of version {version}" if application == _APPLICATION else "a database of another program"
        raise InputError(f"{path} is {whose}; give another file: --store PATH")


def _make_sqlite_tables(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA user_version").fetchone()[0] == _VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(f"CREATE TABLE IF NOT EXISTS cases ({_COLUMNS.format(real='REAL')}) WITHOUT ROWID")
        if "owner" not in [row[1] for row in connection.execute("PRAGMA table_info(cases)")]:
            connection.execute("ALTER TABLE cases ADD COLUMN owner TEXT NOT NULL DEFAULT ''")  # version 1
        number = "number INTEGER PRIMARY KEY AUTOINCREMENT"
        connection.execute(f"CREATE TABLE IF NOT EXISTS audit ({number}, {_AUDIT.format(real='REAL')})")
        for act in ("UPDATE", "DELETE"):
            connection.execute(
                f"CREATE TRIGGER IF NOT EXISTS no_{act.lower()} BEFORE {act} ON audit "
                "BEGIN SELECT RAISE(ABORT, 'the audit trail only grows'); END"
            )
        for statement in _TABLES.format(real="REAL").split(";")[:-1]:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


# --- PostgreSQL

_POSTGRES_GUARD = """
CREATE OR REPLACE FUNCTION etana_audit_only_grows() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the audit trail only grows'; END $$;
DROP TRIGGER IF EXISTS only_grows ON audit;
CREATE TRIGGER only_grows BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION etana_audit_only_grows();
"""


class PostgresEngine:
    """A PostgreSQL database, by its address: ``postgresql://user:password@host/name``."""

    def __init__(self, address: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise InputError("PostgreSQL needs psycopg: pip install 'etana[postgres]'") from error
        self._psycopg = psycopg
        self.errors: tuple[type[Exception], ...] = (psycopg.Error,)
        self.shown = shown(address)
        self._address = address
        self._writer: Any = None
        self._idle: queue.LifoQueue[Any] = queue.LifoQueue()
        for _ in range(_READERS):
            self._idle.put(None)  # opened when it is needed
        try:
            self._make_tables()
        except psycopg.Error as error:
            reason = " ".join(str(error).split())
            raise InputError(f"{self.shown} cannot hold the cases: {reason}; check --store") from None

    def _connect(self) -> Any:
        return self._psycopg.connect(
            self._address, autocommit=True, connect_timeout=_CONNECT_WAIT, application_name="etana",
            keepalives_idle=30, options=f"-c lock_timeout={int(_LOCK_WAIT * 1000)} -c statement_timeout=30000",
        )  # fmt: skip

    def _make_tables(self) -> None:
        writer = self._open_writer()
        real = "DOUBLE PRECISION"
        with writer.transaction():
            # Several processes may start at once.
            writer.execute(f"SELECT pg_advisory_xact_lock({_APPLICATION})")
            made = writer.execute("SELECT to_regclass('settings')").fetchone()[0]
            known = self._version(writer) if made else None
            if known not in (None, _VERSION):
                raise InputError(f"{self.shown} is a store of version {known}; give another database: --store")
            if known is None:
                writer.execute(f"CREATE TABLE IF NOT EXISTS cases ({_COLUMNS.format(real=real)})")
                number = "number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
                writer.execute(f"CREATE TABLE IF NOT EXISTS audit ({number}, {_AUDIT.format(real=real)})")
                writer.execute(_TABLES.format(real=real) + _POSTGRES_GUARD)
                writer.execute("INSERT INTO settings (name, value) VALUES ('version', %s)", (str(_VERSION),))

    @staticmethod
    def _version(writer: Any) -> int | None:
        row = writer.execute("SELECT value FROM settings WHERE name = 'version'").fetchone()
        return None if row is None else int(row[0])

    def _open_writer(self) -> Any:
        if self._writer is None or self._writer.broken or self._writer.closed:
            self._writer = self._connect()
        return self._writer

    def writer(self) -> Connection:
        """The connection that changes things; opened again after it was lost."""
        return _Marked(self._open_writer())

    def begin(self) -> None:
        """Start a transaction."""
        self._open_writer().execute("BEGIN")

    def commit(self) -> None:
        """End it."""
        self._writer.execute("COMMIT")

    def rollback(self) -> None:
        """Forget it; a connection that cannot even do that is given up."""
        try:
            self._writer.execute("ROLLBACK")
        except self._psycopg.Error:
            with contextlib.suppress(self._psycopg.Error):
                self._writer.close()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection of a small pool."""
        connection = self._idle.get()
        try:
            if connection is None or connection.broken or connection.closed:
                connection = None
                connection = self._connect()
            yield _Marked(connection)
        finally:
            self._idle.put(connection)

    def certain(self, error: Exception) -> bool:
        """A connection that was lost while it committed says nothing about the commit."""
        return not isinstance(error, self._psycopg.OperationalError)

    def check_space(self) -> None:
        """The database looks after its own disk."""

    def close(self) -> None:
        """End all connections."""
        opened = [self._idle.get() for _ in range(_READERS)]
        for connection in (*opened, self._writer):
            if connection is not None:
                with contextlib.suppress(self._psycopg.Error):
                    connection.close()
        for _ in opened:
            self._idle.put(None)


class _Marked:
    """Takes the statements as they are written for SQLite, with ``?`` for a value."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Run a statement."""
        return self._connection.execute(sql.replace("?", "%s"), values)
