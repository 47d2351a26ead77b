"""The cases in a database, which a crash of the process or of the machine leaves whole.

A case is a row: its model and the digest of that, the answers in order, and a *revision* that grows by one with each
change. A change names the revision it starts from (``UPDATE ... WHERE id = ? AND revision = ?``), so of two answers to
the same question one is stored and the other is told, whichever process or machine they came to.

A change is committed before it is acknowledged, together with its line in the audit trail: who did what to which case
and when (:mod:`etana.service.database`).

An expired case is not seen any more, but deleted only after a while that is measured on a clock which cannot be set:
if the clock of the machine jumps ahead, there is time to set it right (see :meth:`Store.sweep`).
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from etana.service.database import Database
from etana.service.engines import Connection
from etana.service.errors import Busy
from etana.service.users import acting

__all__ = ["AuditLine", "Record", "Store"]

_log = logging.getLogger("etana.service")
_COLUMNS = "id, model, digest, max_cost, revision, answers, status, created, updated, expires, owner"
_ID_BYTES = 18  # 144 bits: cannot be guessed
_PROBE = 1.0  # seconds between two looks at whether the store can be written
_RECOVERY = 5.0  # seconds that a failure to write counts for
_JUMP = 60.0  # seconds by which two clocks may drift apart between two sweeps
_PADDING = "x" * 4096  # the probe is as large as a case may be


@dataclass(frozen=True)
class Record:
    """A case as it is stored; times are seconds since 1970, ``status`` is "open" or "decided".

    ``answers`` is what happened, in order: see :mod:`etana.service.events`.
    """

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
    owner: str = ""

    @classmethod
    def new(cls, model: str, digest: str, max_cost: float | None, status: str, answers: tuple[Any, ...] = ()) -> Record:
        """A case that begins, with what is known."""
        return cls(secrets.token_urlsafe(_ID_BYTES), model, digest, max_cost, 0, answers, status, 0.0, 0.0, 0.0)

    @property
    def row(self) -> tuple[Any, ...]:
        """Values in the order of the table's columns."""
        answers = json.dumps(self.answers, allow_nan=False)
        head = (self.id, self.model, self.digest, self.max_cost, self.revision, answers)
        return (*head, self.status, self.created, self.updated, self.expires, self.owner)


@dataclass(frozen=True)
class AuditLine:
    """Who did what to which case, and when (seconds since 1970); ``number`` grows from line to line."""

    number: int
    at: float
    who: str
    address: str
    action: str
    case_id: str | None
    revision: int | None


class Store:
    """Cases in a database.

    Parameters
    ----------
    path : str or path
        A SQLite file, which is made if it is not there, readable by its owner only; ``":memory:"`` keeps cases in
        memory; ``postgresql://...`` names a PostgreSQL database.
    life : float
        Seconds from the last change of a case to its end.
    most : int
        How many cases may be open.
    kept : int, optional
        How many cases are kept, open and decided; by default ten times as many as may be open.
    quota : int, optional
        How many open cases one user may have.
    grace : float
        Seconds from the end of a case to its deletion.

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
    >>> [line.action for line in store.audit()]
    ['start', 'answer']
    >>> store.close()
    """

    def __init__(
        self, path: str | os.PathLike[str], life: float, most: int, kept: int | None = None, quota: int | None = None,
        grace: float = 3600.0,
    ) -> None:  # fmt: skip
        self.path = os.fsdecode(path)
        self._life, self._grace = life, grace
        self._most, self._kept, self._quota = most, 10 * most if kept is None else kept, quota
        self._counts: Counter[tuple[str, str]] = Counter()  # changed by the writing thread only
        self._checkpoints: list[tuple[float, float]] = []
        self._probed = -_PROBE
        self.database = Database(path, self._remember)
        self._read, self._change = self.database.read, self.database.change
        self.sweep()

    def _remember(self) -> Callable[[], None]:
        """What undoes the counting of a transaction that fails."""
        before = self._counts.copy()
        return lambda: setattr(self, "_counts", before)

    def __len__(self) -> int:
        """How many cases are kept; what other processes do to the same store is seen at the next sweep."""
        return max(sum(self._counts.values()), 0)

    # --- cases

    def add(self, record: Record) -> Record:
        """Keep a new case, in the name of whoever acts."""
        now, actor = time.time(), acting.get()
        record = replace(record, created=now, updated=now, expires=now + self._life, owner=actor.name)

        def insert(run: Connection) -> str | None:
            full = self._full(record) if record.status == "open" else self._full_of_any()
            if full is None:
                marks = ", ".join("?" * len(record.row))
                run.execute(f"INSERT INTO cases ({_COLUMNS}) VALUES ({marks})", record.row)
                self._counts[record.owner, record.status] += 1
                _note(run, "start", record.id, 0)
            return full

        full = self._change(insert)
        if full is not None:
            raise Busy(full, "quota")
        return record

    def _full(self, record: Record) -> str | None:
        """Why no further case may be opened."""
        opened = sum(n for (_, status), n in self._counts.items() if status == "open")
        if opened >= self._most:
            return f"{self._most} cases are kept open, and no more are allowed; delete some, or try again later"
        if self._quota is not None and self._counts[record.owner, "open"] >= self._quota:
            return f"{record.owner} has {self._quota} open cases, and no more are allowed; end some of them first"
        return self._full_of_any()

    def _full_of_any(self) -> str | None:
        if len(self) >= self._kept:
            return f"{self._kept} cases are kept, and no more are allowed; delete some, or try again later"
        return None

    def get(self, id: str) -> Record | None:
        """The case, unless there is none or it has expired."""
        if not id.isprintable():
            return None
        rows = self._read(f"SELECT {_COLUMNS} FROM cases WHERE id = ? AND expires > ?", (id, time.time()))
        return _record(rows[0]) if rows else None

    def owned(self, owner: str, status: str, most: int) -> list[Record]:
        """Cases of somebody that have this status, those changed last first."""
        query = f"SELECT {_COLUMNS} FROM cases WHERE status = ? AND owner = ? AND expires > ? "
        rows = self._read(query + "ORDER BY updated DESC, id LIMIT ?", (status, owner, time.time(), most))
        return [_record(row) for row in rows]

    def change(self, record: Record, answers: tuple[Any, ...], status: str, action: str = "") -> Record | None:
        """Give a case other answers; None if it is no longer as ``record`` says. ``action`` is for the audit trail."""
        now = time.time()
        new = replace(record, answers=answers, status=status, revision=record.revision + 1, updated=now)
        new = replace(new, expires=now + self._life)
        values = (json.dumps(answers, allow_nan=False), status, new.revision, now, new.expires)
        action = action or ("answer" if len(answers) > len(record.answers) else "undo")

        def update(run: Connection) -> int:
            done = run.execute(
                "UPDATE cases SET answers = ?, status = ?, revision = ?, updated = ?, expires = ? "
                "WHERE id = ? AND revision = ? AND expires > ?",
                (*values, record.id, record.revision, now),
            ).rowcount
            if done:
                self._counts[record.owner, record.status] -= 1
                self._counts[record.owner, status] += 1
                _note(run, action, record.id, new.revision)
            return done

        return new if self._change(update) else None

    def remove(self, id: str, revision: int | None = None) -> bool:
        """Forget a case; False if there is none, or none at this revision."""
        if not id.isprintable():
            return False
        now = time.time()
        only, values = ("", (id, now)) if revision is None else (" AND revision = ?", (id, now, revision))

        def delete(run: Connection) -> int:
            rows = run.execute(
                f"DELETE FROM cases WHERE id = ? AND expires > ?{only} RETURNING owner, status, revision", values
            ).fetchall()
            for owner, status, last in rows:
                self._counts[owner, status] -= 1
                _note(run, "delete", id, last)
            return len(rows)

        return bool(self._change(delete))

    def sweep(self) -> int:
        """Delete the cases that have expired long enough ago; returns how many.

        "Long enough" is measured on the clock that only runs: a sweep notes what both clocks say, and what had expired
        by a note's time of day is deleted once the note is as old as the time of grace on both of them. A clock of the
        machine that jumps ahead and is set right within that time deletes nothing.
        """
        horizon = self._horizon(time.time(), time.monotonic())

        def delete(run: Connection) -> list[str]:
            gone = []
            if horizon is not None:
                rows = run.execute("DELETE FROM cases WHERE expires <= ? RETURNING id, revision", (horizon,)).fetchall()
                for id, revision in rows:
                    _note(run, "expire", id, revision)
                gone = [row[0] for row in rows]
                run.execute("DELETE FROM sessions WHERE expires <= ?", (horizon,))
            rows = run.execute("SELECT owner, status, count(*) FROM cases GROUP BY status, owner").fetchall()
            self._counts = Counter({(owner, status): int(n) for owner, status, n in rows})
            return gone

        gone = self._change(delete)
        if gone:
            _log.info("deleted %d cases that had expired more than %g s ago", len(gone), self._grace)
        return len(gone)

    def _horizon(self, day: float, run: float) -> float | None:
        """The time of day before which a case must have ended to be deleted now."""
        notes = self._checkpoints
        if notes and abs((day - notes[-1][0]) - (run - notes[-1][1])) > _JUMP:
            jump = (day - notes[-1][0]) - (run - notes[-1][1])
            _log.warning("the clock has jumped by %.0f s; expired cases stay for another %g s", jump, self._grace)
        # A note from a time of day that has not come again was made while the clock was ahead.
        notes = [note for note in notes if note[0] <= day]
        old = [note for note in notes if run - note[1] >= self._grace and day - note[0] >= self._grace]
        self._checkpoints = [*notes[len(old) - 1 if old else 0 :], (day, run)]
        return old[-1][0] if old else None

    def by_status(self) -> dict[str, int]:
        """How many cases are open, and how many decided; from memory, so it costs nothing."""
        found = {"open": 0, "decided": 0}
        for (_, status), n in self._counts.copy().items():
            found[status] = found.get(status, 0) + n
        # Cases that others have added and we have ended are not counted yet.
        return {status: max(n, 0) for status, n in found.items()}

    # --- sessions, secrets, the audit trail

    def secret(self) -> bytes:
        """A key that all processes on this store share, and that outlives them."""

        def find(run: Connection) -> str:
            run.execute(
                "INSERT INTO settings (name, value) VALUES ('key', ?) ON CONFLICT (name) DO NOTHING",
                (secrets.token_hex(32),),
            )
            return str(run.execute("SELECT value FROM settings WHERE name = 'key'").fetchone()[0])

        return bytes.fromhex(self._change(find))

    def open_session(self, id: str, person: str, mark: str, life: float) -> None:
        """Remember that somebody has signed in, and with which token."""

        def insert(run: Connection) -> None:
            values = (id, person, mark, time.time() + life)
            run.execute("INSERT INTO sessions (id, person, mark, expires) VALUES (?, ?, ?, ?)", values)
            _note(run, "sign-in", None, None, person)

        self._change(insert)

    def session(self, id: str) -> str | None:
        """The mark of the token that somebody has signed in with; None if the session has ended."""
        rows = self._read("SELECT mark FROM sessions WHERE id = ? AND expires > ?", (id, time.time()))
        return rows[0][0] if rows else None

    def close_sessions(self, *, id: str | None = None, person: str | None = None) -> int:
        """End one session, or all of somebody; returns how many."""
        column, value = ("id", id) if id is not None else ("person", person)

        def delete(run: Connection) -> int:
            rows = run.execute(f"DELETE FROM sessions WHERE {column} = ? RETURNING person", (value,)).fetchall()
            for row in rows:
                _note(run, "sign-out" if id is not None else f"sign-out {row[0]}", None, None)
            return len(rows)

        return int(self._change(delete))

    def note(self, action: str) -> None:
        """Add a line about something that is no change of a case to the audit trail."""
        self._change(lambda run: _note(run, action, None, None))

    def audit(self, after: int = 0, most: int = 1000) -> list[AuditLine]:
        """Lines of the audit trail whose number is above ``after``, in their order."""
        names = "number, at, who, address, action, case_id, revision"
        query = f"SELECT {names} FROM audit WHERE number > ? ORDER BY number LIMIT ?"
        return [AuditLine(*row) for row in self._read(query, (after, most))]

    # --- the database

    def check(self) -> None:
        """Raise :class:`~etana.service.errors.Busy` if nothing can be read or written."""
        self._read("SELECT id FROM cases LIMIT 1", ())
        self.database.engine.check_space()
        if time.monotonic() - self.database.failed < _RECOVERY:
            # On a full disk something small may still fit in somewhere.
            raise Busy("the store of cases could not be written a moment ago; its log says why")
        if time.monotonic() - self._probed < _PROBE:
            return
        self._change(
            lambda run: run.execute(
                "INSERT INTO settings (name, value) VALUES ('probe', ?) "
                "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (f"{time.time()} {_PADDING}",),
            )
        )
        self._probed = time.monotonic()

    def close(self) -> None:
        """Finish what is waiting and close the database; whatever comes later is refused."""
        self.database.close()


def _note(run: Connection, action: str, case: str | None, revision: int | None, who: str | None = None) -> None:
    actor = acting.get()
    values = (time.time(), actor.name if who is None else who, actor.address, action, case, revision)
    run.execute("INSERT INTO audit (at, who, address, action, case_id, revision) VALUES (?, ?, ?, ?, ?, ?)", values)


def _record(row: tuple[Any, ...]) -> Record:
    named = dict(zip(_COLUMNS.split(", "), row, strict=True))
    return Record(**named | {"answers": tuple(json.loads(named["answers"]))})
