"""Cases in PostgreSQL, which several machines can share."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

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

__all__ = ["PostgresEngine"]

_REAL = "DOUBLE PRECISION"
_CONNECT_WAIT = 5
_READERS = 8
_GUARD = """
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
        self.shown = _shown(address)
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
            keepalives_idle=30, options=f"-c lock_timeout={int(LOCK_WAIT * 1000)} -c statement_timeout=30000",
        )  # fmt: skip

    def _make_tables(self) -> None:
        writer = self._open_writer()
        with writer.transaction():
            # Several processes may start at once.
            writer.execute(f"SELECT pg_advisory_xact_lock({APPLICATION})")
            made = writer.execute("SELECT to_regclass('settings')").fetchone()[0]
            known = self._version(writer) if made else None
            if known == VERSION - 1:
                # The same tables: answers of version 2 are events as they are.
                writer.execute("UPDATE settings SET value = %s WHERE name = 'version'", (str(VERSION),))
            elif known not in (None, VERSION):
                raise InputError(f"{self.shown} is a store of version {known}; give another database: --store")
            if known is None:
                writer.execute(f"CREATE TABLE IF NOT EXISTS cases ({case_columns(_REAL)})")
                number = "number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
                writer.execute(f"CREATE TABLE IF NOT EXISTS audit ({number}, {audit_columns(_REAL)})")
                writer.execute(";".join([*other_tables(_REAL), _GUARD]))
                writer.execute("INSERT INTO settings (name, value) VALUES ('version', %s)", (str(VERSION),))

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


def _shown(store: str) -> str:
    """A store as it may be shown: without user and password."""
    if "://" not in store:
        return store
    try:
        parts = urlsplit(store)
        return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"
    except ValueError:
        return "the database"
