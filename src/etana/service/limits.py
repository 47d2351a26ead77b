"""What one client, or all of them together, may ask of the service: every limit by name, with its default."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields

from etana.errors import InputError

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Limits of the service; times are in seconds, sizes in bytes.

    Parameters
    ----------
    body : int
        Size of a body under ``/v1``, or of a table; a larger one gets 413.
    small_body : int
        Size of every other body: forms, GET, health. So much each connection may hold; the rest shares ``buffered``.
    buffered : int
        What bodies hold beyond ``small_body``, all together, which bounds memory; beyond it 503.
    rows : int
        Rows of one ``/v1/classify``; more get 422.
    cells : int
        Rows times features that the model can ask, of one ``/v1/classify``, for an answer names them; more get 422.
    cases : int
        Cases that are open; beyond it no case is started (503) until some are decided, deleted or expire.
    user_cases : int
        Open cases of one user; beyond it that user starts none.
    kept_cases : int
        Cases that are kept, open and decided.
    case_life : float
        A case expires this long after it was last changed.
    case_grace : float
        An expired case is deleted this long after its end: time to set a clock right that has jumped.
    concurrency : int
        Requests that are worked on at once; beyond it they wait.
    wait_time : float
        A request waits so long for its turn; 503 with Retry-After after that.
    large : int
        Requests with a body above ``small_body`` that are worked on at once, among the others.
    threads : int
        Threads that do the work. Most wait for the disk, so there may be more of them than cores.
    connections : int
        Open connections. At the limit the one that has waited longest without a request is closed for a new one.
    head_time : float
        Time to send a request line and its headers, from the first moment of the connection.
    body_time : float
        Time to send a body; 408 after that.
    request_time : float
        Time to work on a request; 503 after that.
    stop_time : float
        Time for requests that are worked on when the service is stopped; half-sent ones are refused at once.
    attempts : int
        Wrong tokens from one address before the page to sign in makes it wait, twice as long each time.
    session_life : float
        A browser stays signed in so long.
    keep_alive : float
        A connection without a request is closed after this time.
    head : int
        Size of request line and headers together.
    retry_after : int
        What Retry-After says with a 503.

    Examples
    --------
    >>> from etana.service.limits import Limits
    >>> Limits().rows
    10000
    >>> Limits.parse(["rows=50", "body=100000"]).rows
    50
    """

    body: int = 8 * 2**20
    small_body: int = 16 * 2**10
    buffered: int = 128 * 2**20
    rows: int = 10_000
    cells: int = 2_000_000
    cases: int = 100_000
    user_cases: int = 100_000
    kept_cases: int = 1_000_000
    case_life: float = 24 * 3600.0
    case_grace: float = 3600.0
    concurrency: int = 128
    wait_time: float = 1.0
    large: int = 4
    threads: int = 16
    connections: int = 4096
    head_time: float = 10.0
    body_time: float = 20.0
    request_time: float = 30.0
    stop_time: float = 30.0
    attempts: int = 5
    session_life: float = 12 * 3600.0
    keep_alive: float = 60.0
    head: int = 16 * 2**10
    retry_after: int = 1

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            whole = field.type == "int"
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
                raise InputError(f"limit {field.name} is {value!r}; it must be a {'whole ' if whole else ''}number")
            if not 0 < value < math.inf:
                raise InputError(f"limit {field.name} is {value!r}; it must be above 0 and finite")

    @classmethod
    def parse(cls, settings: Iterable[str]) -> Limits:
        """Defaults, changed by settings of the form ``name=value``."""
        types = {field.name: int if field.type == "int" else float for field in fields(cls)}
        chosen: dict[str, float] = {}
        for setting in settings:
            name, equals, value = setting.partition("=")
            if not equals or name not in types:
                raise InputError(f"limit {setting!r} is not known; write name=value, with one of {', '.join(types)}")
            try:
                chosen[name] = types[name](value)
            except ValueError:
                raise InputError(f"limit {name} is {value!r}; it must be a number ({types[name].__name__})") from None
        return cls(**chosen)  # type: ignore[arg-type]
