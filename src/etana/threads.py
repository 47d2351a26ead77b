"""Running a kernel over chunks in threads.

Kernels release the interpreter lock and are serial inside, so plain threads are safe after a fork and when many
Python threads call at once. Chunks do not share outputs, so results do not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

__all__ = ["n_cores", "over_chunks"]


def n_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def over_chunks(run: Callable[[int, int], object], n: int, least: int) -> None:
    """Call ``run(first, last)`` for chunks of 0..n-1 of at least ``least`` items, in threads if there are several."""
    chunks = max(min(n // max(least, 1), n_cores()), 1)
    if chunks == 1:
        run(0, n)
        return
    cuts = [n * c // chunks for c in range(chunks + 1)]
    with ThreadPoolExecutor(chunks) as pool:
        for done in [pool.submit(run, a, b) for a, b in pairwise(cuts)]:
            done.result()
