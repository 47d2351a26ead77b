"""Browsers that have signed in.

A session is 256 random bits in a cookie; the store keeps their digest and whose they are. It ends when somebody signs
out, when its time is over, when the user's token is changed or taken away, or when an admin ends it; and any process on
the same store knows it. The cookie is named after the store, so that services on other ports of the same host, which
browsers do not tell apart, have cookies of their own.

Wrong tokens have a price: after a few from one address, each further one makes that address wait twice as long.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import time

from etana.service.limits import Limits
from etana.service.store import Store
from etana.service.users import User, Users, digest_of, mark_of

__all__ = ["Attempts", "Sessions"]

_SHAPE = re.compile(r"[A-Za-z0-9_-]{43}")
_LONGEST_WAIT = 60.0
_MOST_ADDRESSES = 10_000


class Sessions:
    """Opens, finds and ends sessions."""

    def __init__(self, store: Store, users: Users, key: bytes, life: float) -> None:
        self._store, self._users, self._life = store, users, life
        self.cookie = f"etana_session_{hashlib.sha256(b'cookie' + key).hexdigest()[:8]}"

    def open(self, user: User, token: str) -> str:
        """What the cookie of somebody who has shown a token holds."""
        value = secrets.token_urlsafe(32)
        self._store.open_session(digest_of(value), user.name, mark_of(user, token), self._life)
        return value

    def find(self, value: str) -> User | None:
        """Whose session it is; None if there is none, or none any more."""
        if not _SHAPE.fullmatch(value):
            return None
        mark = self._store.session(digest_of(value))
        return None if mark is None else self._users.marked(mark)

    def may_be(self, value: str) -> bool:
        """Whether it is worth to look a cookie up."""
        return bool(_SHAPE.fullmatch(value))

    def end(self, value: str) -> None:
        """Sign out."""
        if _SHAPE.fullmatch(value):
            self._store.close_sessions(id=digest_of(value))

    def end_all(self, name: str) -> int:
        """End all sessions of a user; returns how many."""
        return self._store.close_sessions(person=name)


class Attempts:
    """Counts wrong tokens by address, and says how long an address has to wait.

    Examples
    --------
    >>> from etana.service.limits import Limits
    >>> from etana.service.sessions import Attempts
    >>> attempts = Attempts(Limits(attempts=2))
    >>> attempts.failed("192.0.2.1"), attempts.wait("192.0.2.1")
    (None, 0.0)
    >>> attempts.failed("192.0.2.1"), attempts.wait("192.0.2.1") > 0
    (None, True)
    """

    def __init__(self, limits: Limits) -> None:
        self._free = limits.attempts
        self._lock = threading.Lock()
        self._failures: dict[str, tuple[int, float]] = {}  # how many, and until when the address waits

    def wait(self, address: str) -> float:
        """Seconds until an address may try again."""
        return max(self._failures.get(address, (0, 0.0))[1] - time.monotonic(), 0.0)

    def failed(self, address: str) -> None:
        """A wrong token came from there."""
        with self._lock:
            count = self._failures.pop(address, (0, 0.0))[0] + 1
            wait = min(2.0 ** (count - self._free), _LONGEST_WAIT) if count >= self._free else 0.0
            if len(self._failures) >= _MOST_ADDRESSES:
                self._failures.pop(next(iter(self._failures)))
            self._failures[address] = (count, time.monotonic() + wait)

    def succeeded(self, address: str) -> None:
        """A right one came: what was wrong before is forgotten."""
        with self._lock:
            self._failures.pop(address, None)
