"""The database as the store uses it: many threads read, one writes, and every failure is told, logged and counted.

The writing thread commits all changes that are waiting at that moment together, so that many clients share one wait for
the disk. Whoever waits is told after the commit.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from etana.service.engines import Connection, engine_for
from etana.service.errors import Busy
from etana.service.users import acting

__all__ = ["Database", "Statement"]

_log = logging.getLogger("etana.service")
_MOST_AT_ONCE = 256

Statement = Callable[[Connection], Any]


class Database:
    """Reads and changes.

    Parameters
    ----------
    place : str or path
        A SQLite file or the address of a PostgreSQL database.
    remember : callable
        Called before a transaction; what it returns is called if the transaction fails.

    Attributes
    ----------
    watch : callable
        Called after each operation: "read" or "write", the seconds it took, and whether it failed.
    failed : float
        When something could last not be written, on the clock that only runs.
    """

    def __init__(
        self, place: str | os.PathLike[str], remember: Callable[[], Callable[[], None]] = lambda: lambda: None
    ) -> None:
        self.engine = engine_for(place)
        self.watch: Callable[[str, float, bool], None] = lambda operation, seconds, failed: None
        self.failed = float("-inf")
        self.closed = False
        self._remember = remember
        self._gate = threading.Lock()
        self._waiting: queue.SimpleQueue[tuple[Statement, Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="etana-store", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Finish what is waiting and close the database; whatever comes later is refused."""
        with self._gate:
            if self.closed:
                return
            self.closed = True
            self._waiting.put(None)
        self._thread.join()
        self.engine.close()

    def read(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The rows that a query finds."""
        if self.closed:
            raise _stopping()
        with self._measured("read"):
            try:
                with self.engine.reading() as connection:
                    return connection.execute(sql, values).fetchall()
            except self.engine.errors as error:
                if self.engine.certain(error):
                    raise
            with self.engine.reading() as connection:  # the connection was lost, so it is opened again
                return connection.execute(sql, values).fetchall()

    def change(self, statement: Statement) -> Any:
        """Run a statement in the writing thread; returns when it is on the disk."""
        done: Future[Any] = Future()
        # The actor of this thread is not that of the writing thread.
        actor = acting.get()

        def run(connection: Connection) -> Any:
            acting.set(actor)
            return statement(connection)

        with self._gate:
            if self.closed:
                raise _stopping()
            self._waiting.put((run, done))
        with self._measured("write"):
            return done.result()

    @contextlib.contextmanager
    def _measured(self, operation: str) -> Iterator[None]:
        """Tells the watch how long it took, and turns the database's errors into one that clients understand."""
        begin, failed = time.perf_counter(), True
        try:
            yield
            failed = False
        except _UncertainError as error:
            _log.error("the store lost its connection while it committed: %s", _line(error))
            raise Busy(
                "the store of cases was lost while it took the change, so it is not known whether that was stored; "
                "get the case again to see",
                "store",
            ) from error
        except self.engine.errors as error:
            _log.error("the store cannot %s: %s", operation, _line(error))
            if operation == "write":
                self.failed = time.monotonic()
            raise Busy(
                f"the store of cases cannot be used now ({_line(error)}); nothing was changed: try again later",
                "store",
            ) from error
        finally:
            self.watch(operation, time.perf_counter() - begin, failed)

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

    def _commit(self, batch: list[tuple[Statement, Future[Any]]]) -> None:
        """All statements in one transaction; whoever waits is told after the commit.

        If a statement fails, nothing is stored, and each gets a transaction of its own: one that cannot be carried out
        must not take the others with it.
        """
        forget = self._remember()
        committing = False
        try:
            connection = self.engine.writer()
            self.engine.begin()
            try:
                results = [statement(connection) for statement, _ in batch]
                committing = True
                self.engine.commit()
            except BaseException:
                self.engine.rollback()
                raise
        except Exception as error:
            forget()
            if len(batch) > 1 and not committing:
                for one in batch:
                    self._commit([one])
                return
            told = _UncertainError(_line(error)) if committing and not self.engine.certain(error) else error
            for _, done in batch:
                done.set_exception(told)
            return
        for (_, done), result in zip(batch, results, strict=True):
            done.set_result(result)


class _UncertainError(Exception):
    """A commit of which nobody knows whether it was carried out."""


def _stopping() -> Busy:
    return Busy("the service is stopping; try again at another one, or later", "stopping")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
