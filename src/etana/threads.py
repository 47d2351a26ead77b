"""Running a kernel over chunks in threads.

Kernels release the interpreter lock and are serial inside, so plain threads are safe after a fork and when many
Python threads call at once. Chunks do not share outputs, so results do not depend on the number of threads.

The calling thread works too, and all callers of a process share one stock of helpers, one for each further core: eight
threads that classify at once on two cores have one helper between them, not eight. ``OMP_NUM_THREADS``, by which joblib
and Dask tell their workers how much of the machine is theirs, is a limit here as well.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

__all__ = ["n_cores", "n_threads", "one_blas_thread", "over_chunks"]


def n_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def n_threads() -> int:
    """Threads that one call may use: the cores, or fewer if ``OMP_NUM_THREADS`` says so."""
    told = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(n_cores(), int(told)) if told.isdecimal() and int(told) > 0 else n_cores()


def one_blas_thread() -> Any:
    """Within this, products of matrices take one thread: where they are small, threads wait for one another."""
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> Any:
    """The libraries that have threads of their own; to look for them takes milliseconds."""
    import scipy.linalg  # noqa: F401  (brings one of its own, which is to be found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _Helpers:
    """How many threads work beside those that called."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy = 0

    def take(self, wanted: int, stock: int) -> int:
        """As many of the wanted helpers as the stock has left."""
        with self._lock:
            taken = max(min(wanted, stock - self._busy), 0)
            self._busy += taken
        return taken

    def give_back(self, taken: int) -> None:
        with self._lock:
            self._busy -= taken


_helpers = _Helpers()

if hasattr(os, "register_at_fork"):
    # A child has none of its parent's threads; the lock may have been held by one of them.
    os.register_at_fork(after_in_child=_helpers.__init__)  # type: ignore[misc]


def over_chunks(run: Callable[[int, int], object], n: int, least: int) -> None:
    """Call ``run(first, last)`` for chunks of 0..n-1 of at least ``least`` items, in threads if there are several."""
    chunks = n // max(least, 1)
    if chunks > 1:
        stock = n_threads() - 1
        helpers = _helpers.take(min(chunks - 1, stock), stock)
        try:
            _share(run, n, helpers)
        finally:
            _helpers.give_back(helpers)
    else:
        run(0, n)


def _share(run: Callable[[int, int], object], n: int, helpers: int) -> None:
    """One chunk for this thread, one for each helper."""
    if helpers < 1:
        run(0, n)
        return
    cuts = [n * c // (helpers + 1) for c in range(helpers + 2)]
    with ThreadPoolExecutor(helpers) as pool:
        others = [pool.submit(run, a, b) for a, b in pairwise(cuts[1:])]
        run(0, cuts[1])
        for done in others:
            done.result()
