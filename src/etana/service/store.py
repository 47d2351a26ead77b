"""The cases on disk: one SQLite table, which a crash of the process or of the machine leaves whole.

A case is a row: its model and the digest of that, the answers in order, and a *revision* that grows by one with each
change. A change names the revision it starts from (``UPDATE ... WHERE id = ? AND revision = ?``), so of two answers to
the same question one is stored and the other is told.

A change is committed before it is acknowledged. SQLite runs with a write-ahead log and ``synchronous=FULL``: each
commit waits for the disk, so an acknowledged answer survives a power cut too, and not only the end of the process, for
which ``NORMAL`` would do. The price is one wait of some milliseconds per commit; one thread writes, and commits all
changes that are waiting at that moment together, so that many clients share one wait.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from etana.errors import InputError
from etana.service.errors import Busy

__all__ = ["Record", "Store"]

_APPLICATION, _VERSION = 0x6574616E, 1  # "etan"
_SCHEMA = f"""
BEGIN IMMEDIATE;
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
CREATE TABLE IF NOT EXISTS cases (
    id TEXT PRIMARY KEY, model TEXT NOT NULL, digest TEXT NOT NULL, max_cost REAL, revision INTEGER NOT NULL,
    answers TEXT NOT NULL, status TEXT NOT NULL, created REAL NOT NULL, updated REAL NOT NULL, expires REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_expiry ON cases (expires);
COMMIT;
"""
_COLUMNS = "id, model, digest, max_cost, revision, answers, status, created, updated, expires"
_ID_BYTES = 18  # 144 bits: cannot be guessed
_MOST_AT_ONCE = 256
_LOCK_WAIT = 5.0


@dataclass(frozen=True)
class Record:
    """A case as it is stored; times are seconds since 1970, ``status`` is "open" or "decided"."""

    id: str
    model: str
    digest: str
    max_cost: float | None
    revision: int
    answers: tuple[Any, ...]
    status: str
    created: float
    updated: float
    expires: float

    @classmethod
    def new(cls, model: str, digest: str, max_cost: float | None, status: str) -> Record:
        """A case without answers."""
        return cls(secrets.token_urlsafe(_ID_BYTES), model, digest, max_cost, 0, (), status, 0.0, 0.0, 0.0)

    @property
    def row(self) -> tuple[Any, ...]:
        """Values in the order of the table's columns."""
        answers = json.dumps(self.answers, allow_nan=False)
        head = (self.id, self.model, self.digest, self.max_cost, self.revision, answers)
        return (*head, self.status, self.created, self.updated, self.expires)


class Store:
    """Cases in a SQLite file.

    Parameters
    ----------
    path : str or path
        The file; made if it is not there, readable by its owner only. ``":memory:"`` keeps cases in memory.
    life : float
        Seconds from the last change of a case to its end.
    most : int
        How many cases are kept.

    Examples
    --------
    >>> from etana.service.store import Record, Store
    >>> store = Store(":memory:", life=60, most=1000)
    >>> case = store.add(Record.new("wine", "00ff", None, "open"))
    >>> store.change(case, (1.5,), "open").revision
    1
    >>> store.change(case, (2.5,), "open") is None    # somebody else was faster
    True
    >>> store.get(case.id).answers
    (1.5,)
    >>> store.close()
    """

    def __init__(self, path: str | os.PathLike[str], life: float, most: int) -> None:
        self.path = os.fsdecode(path)
        self._life, self._most = life, most
        self._reading = threading.Lock()
        self._reader = self._writer = _open(self.path)
        if self.path != ":memory:":
            self._reader = _open(self.path)
        self._waiting: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._closed = False
        self._count = 0  # changed by the writing thread only; a failed commit leaves it wrong until the next sweep
        self._thread = threading.Thread(target=self._write, name="etana-store", daemon=True)
        self._thread.start()
        self.sweep()

    def __len__(self) -> int:
        """How many cases are kept; what another process does to the same file is seen at the next sweep."""
        return self._count

    def add(self, record: Record) -> Record:
        """Keep a new case."""
        now = time.time()
        record = replace(record, created=now, updated=now, expires=now + self._life)

        def insert() -> bool:
            if self._count >= self._most:
                return False
            marks = ", ".join("?" * len(record.row))
            self._writer.execute(f"INSERT INTO cases ({_COLUMNS}) VALUES ({marks})", record.row)
            self._count += 1
            return True

        if not self._change(insert):
            raise Busy(f"{self._most} cases are kept, and no more are allowed; delete some, or try again later")
        return record

    def get(self, id: str) -> Record | None:
        """The case, unless there is none or it has expired."""
        with _clear_errors(), self._reading:
            query = f"SELECT {_COLUMNS} FROM cases WHERE id = ? AND expires > ?"
            row = self._reader.execute(query, (id, time.time())).fetchone()
        if row is None:
            return None
        named = dict(zip(_COLUMNS.split(", "), row, strict=True))
        return Record(**named | {"answers": tuple(json.loads(named["answers"]))})

    def change(self, record: Record, answers: tuple[Any, ...], status: str) -> Record | None:
        """Give a case other answers; None if it is no longer as ``record`` says."""
        now = time.time()
        new = replace(record, answers=answers, status=status, revision=record.revision + 1, updated=now)
        new = replace(new, expires=now + self._life)
        values = (json.dumps(answers, allow_nan=False), status, new.revision, now, new.expires)

        def update() -> int:
            return self._writer.execute(
                "UPDATE cases SET answers = ?, status = ?, revision = ?, updated = ?, expires = ? "
                "WHERE id = ? AND revision = ? AND expires > ?",
                (*values, record.id, record.revision, now),
            ).rowcount

        return new if self._change(update) else None

    def remove(self, id: str) -> bool:
        """Forget a case; False if there is none."""
        now = time.time()

        def delete() -> int:
            gone = self._writer.execute("DELETE FROM cases WHERE id = ? AND expires > ?", (id, now)).rowcount
            self._count -= gone
            return gone

        return bool(self._change(delete))

    def sweep(self) -> int:
        """Forget the cases that have expired; returns how many."""
        now = time.time()

        def delete() -> int:
            gone = self._writer.execute("DELETE FROM cases WHERE expires <= ?", (now,)).rowcount
            self._count = int(self._writer.execute("SELECT count(*) FROM cases").fetchone()[0])
            return gone

        return int(self._change(delete))

    def by_status(self) -> dict[str, int]:
        """How many cases are open, and how many decided."""
        with _clear_errors(), self._reading:
            rows = self._reader.execute("SELECT status, count(*) FROM cases GROUP BY status").fetchall()
        return {"open": 0, "decided": 0} | dict(rows)

    def check(self) -> None:
        """Raise :class:`~etana.service.errors.Busy` if the file cannot be read."""
        with _clear_errors(), self._reading:
            self._reader.execute("SELECT id FROM cases LIMIT 1").fetchone()

    def close(self) -> None:
        """Finish what is waiting and close the file."""
        if not self._closed:
            self._closed = True
            self._waiting.put(None)
            self._thread.join()
            with self._reading:
                self._reader.close()
                self._writer.close()

    def _change(self, statement: Callable[[], Any]) -> Any:
        """Run a statement in the writing thread; returns when it is on the disk."""
        if self._closed:
            raise Busy("the service is stopping; try again at another one, or later")
        done: Future[Any] = Future()
        self._waiting.put((statement, done))
        with _clear_errors():
            return done.result()

    def _write(self) -> None:
        while (first := self._waiting.get()) is not None:
            batch, last = [first], False
            with contextlib.suppress(queue.Empty):
                while len(batch) < _MOST_AT_ONCE and not last:
                    item = self._waiting.get_nowait()
                    last = item is None
                    if item is not None:
                        batch.append(item)
            self._commit(batch)
            if last:
                return

    def _commit(self, batch: list[tuple[Callable[[], Any], Future[Any]]]) -> None:
        """All statements in one transaction; whoever waits is told after the commit."""
        shared = self._reading if self._writer is self._reader else contextlib.nullcontext()
        results: list[Any] = []
        try:
            with shared:
                self._writer.execute("BEGIN IMMEDIATE")
                results = [statement() for statement, _ in batch]
                self._writer.execute("COMMIT")
        except Exception as error:
            with contextlib.suppress(sqlite3.Error):
                self._writer.execute("ROLLBACK")
            for _, done in batch:
                done.set_exception(error)
            return
        for (_, done), result in zip(batch, results, strict=True):
            done.set_result(result)


@contextlib.contextmanager
def _clear_errors() -> Any:
    """A disk that is full or a file that is locked is not the client's fault and may pass."""
    try:
        yield
    except sqlite3.Error as error:
        raise Busy(f"the store of cases cannot be used now ({error}); nothing was changed: try again later") from error


def _open(path: str) -> sqlite3.Connection:
    """A connection to the store, which is made if it is not there."""
    try:
        if path != ":memory:":
            # The file holds people's answers; the log and the index beside it get the same permissions.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(path, timeout=_LOCK_WAIT, isolation_level=None, check_same_thread=False)
        try:
            _check_file(connection, path)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(_SCHEMA)
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
    if (application, version) != (_APPLICATION, _VERSION) and (tables or application or version):
        whose = f"a store of version {version}" if application == _APPLICATION else "a database of another program"
        raise InputError(f"{path} is {whose}; give another file: --store PATH")
