"""The two databases that can hold cases: a SQLite file for one machine, PostgreSQL for several.

An engine opens connections, makes the tables, and says which errors are the database's. The statements themselves, in
:mod:`etana.service.store`, are the same for both.

SQLite runs with a write-ahead log and ``synchronous=FULL``, PostgreSQL as it is set up (``synchronous_commit`` is on by
default): each commit waits for the disk, so an acknowledged answer survives a power cut too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Any, Protocol

__all__ = [
    "APPLICATION",
    "LOCK_WAIT",
    "VERSION",
    "Connection",
    "Engine",
    "audit_columns",
    "case_columns",
    "engine_for",
    "other_tables",
]

APPLICATION, VERSION = 0x6574616E, 3  # "etan"; version 3 keeps answers as events
LOCK_WAIT = 5.0

_CASES = """
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


def case_columns(real: str) -> str:
    """The columns of the cases; ``real`` is what the database calls a 64-bit number."""
    return _CASES.format(real=real)


def audit_columns(real: str) -> str:
    """The columns of the audit trail, after its number."""
    return _AUDIT.format(real=real)


def other_tables(real: str) -> list[str]:
    """The statements that make everything else."""
    return _TABLES.format(real=real).split(";")[:-1]


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
        from etana.service.postgres import PostgresEngine

        return PostgresEngine(path)
    from etana.service.sqlite import SqliteEngine

    return SqliteEngine(path)
