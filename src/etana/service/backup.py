"""Backup and restore: everything that a store holds as lines of JSON, the same for both databases.

A backup is read in one transaction, so it is the store as it was at one moment, whatever goes on meanwhile. It ends
with a line that counts the others: one that was cut short is refused. Sessions are left out; people sign in again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from etana.errors import InputError
from etana.service.engines import Engine, engine_for
from etana.service.records import audit_text
from etana.service.store import AuditLine

__all__ = ["audit_lines", "back_up", "restore"]

_FORMAT = "etana-cases-1"
_TABLES = {
    "cases": "id, model, digest, max_cost, revision, answers, status, created, updated, expires, owner",
    "settings": "name, value",
    "audit": "number, at, who, address, action, case_id, revision",
}
_SKIPPED = ("version", "probe")
_AT_ONCE = 1000


def back_up(store: str, path: str) -> int:
    """Write a store into a file, whole or not at all; returns how many cases there are."""
    engine = _existing(store)
    new, counts = f"{path}.new", dict.fromkeys(_TABLES, 0)
    try:
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(json.dumps({"format": _FORMAT}) + "\n")
            with engine.reading() as connection:
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ" if "://" in store else "BEGIN")
                try:
                    for table, columns in _TABLES.items():
                        for row in _rows(connection, table, columns):
                            file.write(json.dumps([table, *row]) + "\n")
                            counts[table] += 1
                finally:
                    connection.execute("ROLLBACK")
            file.write(json.dumps({"end": counts}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except OSError as error:
        raise InputError(f"the backup cannot be written to {path}: {error.strerror}; give another file") from error
    except engine.errors as error:
        raise InputError(f"{engine.shown} cannot be read: {error}; is it damaged?") from error
    finally:
        engine.close()
        if os.path.exists(new):
            os.unlink(new)
    return counts["cases"]


def _rows(connection: Any, table: str, columns: str) -> Iterator[tuple[Any, ...]]:
    where = f" WHERE name NOT IN {_SKIPPED}" if table == "settings" else ""
    cursor = connection.execute(f"SELECT {columns} FROM {table}{where} ORDER BY 1")
    while rows := cursor.fetchmany(_AT_ONCE):
        yield from rows


def restore(path: str, store: str) -> int:
    """Fill an empty store from a backup, whole or not at all; returns how many cases there are."""
    lines = _read(path)
    engine = engine_for(store)
    try:
        run = engine.writer()
        engine.begin()
        try:
            if run.execute("SELECT count(*) FROM cases").fetchone()[0]:
                raise InputError(f"{engine.shown} has cases; restore into an empty store")
            for table, *row in lines:
                _insert(run, table, row, "://" in store)
            if "://" in store:
                run.execute("SELECT setval(pg_get_serial_sequence('audit', 'number'), max(number)) FROM audit")
            engine.commit()
        except BaseException:
            engine.rollback()
            raise
    except engine.errors as error:
        raise InputError(f"{engine.shown} cannot be filled: {error}; nothing was changed") from error
    finally:
        engine.close()
    return sum(line[0] == "cases" for line in lines)


def _insert(run: Any, table: str, row: list[Any], numbered: bool) -> None:
    override = " OVERRIDING SYSTEM VALUE" if table == "audit" and numbered else ""
    conflict = " ON CONFLICT (name) DO UPDATE SET value = excluded.value" if table == "settings" else ""
    marks = ", ".join("?" * len(row))
    run.execute(f"INSERT INTO {table} ({_TABLES[table]}){override} VALUES ({marks}){conflict}", row)


def _read(path: str) -> list[list[Any]]:
    """The rows of a backup, which must be whole."""
    try:
        with open(path, encoding="utf-8") as file:
            first, *lines = (json.loads(line) for line in file)
        if first != {"format": _FORMAT} or any(line[0] not in _TABLES for line in lines[:-1]):
            raise InputError(f"{path} is no backup of cases; give a file that 'etana store backup' has written")
        counts = {table: sum(line[0] == table for line in lines[:-1]) for table in _TABLES}
        if lines[-1] != {"end": counts}:
            raise InputError(f"{path} is cut short; take another backup")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; give another file") from error
    except (ValueError, KeyError, IndexError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is no backup of cases, or is damaged; take another one") from error
    return lines[:-1]


def audit_lines(store: str, after: int = 0) -> Iterator[str]:
    """The audit trail as text, a part at a time."""
    engine = _existing(store)
    try:
        while True:
            with engine.reading() as connection:
                query = f"SELECT {_TABLES['audit']} FROM audit WHERE number > ? ORDER BY number LIMIT {_AT_ONCE}"
                lines = [AuditLine(*row) for row in connection.execute(query, (after,)).fetchall()]
            if not lines:
                return
            yield audit_text(lines)
            after = lines[-1].number
    finally:
        engine.close()


def _existing(store: str) -> Engine:
    if "://" not in store and not os.path.exists(store):
        raise InputError(f"{store} does not exist; give the store that the service runs with")
    return engine_for(store)
