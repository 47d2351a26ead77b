"""Ctrl-C that is heard.

Python raises KeyboardInterrupt in whatever it is doing just then. Where that is a callback of compiled code, of which
Numba makes many while it compiles and loads loops, the exception is printed and forgotten. So it is raised again, soon
and as often as it takes until somebody has taken it; who has may take their time to tidy up.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator

__all__ = ["heard_interrupts"]

_AGAIN = 0.25  # seconds


@contextlib.contextmanager
def heard_interrupts() -> Iterator[None]:
    """Within it, an interrupt ends what is done even if it is lost at first.

    Nothing changes where interrupts are somebody else's business, or the system has no such clock.
    """
    ours = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def again(*_: object) -> None:
        if not _is_taken():
            raise KeyboardInterrupt

    def first(*_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, _AGAIN, _AGAIN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, new) for number, new in ((signal.SIGINT, first), (signal.SIGALRM, again))}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_taken() -> bool:
    """Whether an interrupt, or what came of it, is being handled just now."""
    error = sys.exception()
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None
