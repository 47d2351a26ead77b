"""Counters in Prometheus' text format, kept by hand: a dozen numbers need no library.

Label values are routes (never paths, which hold the ids of cases), methods, statuses and model names: few, and known
beforehand.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

if sys.platform != "win32":
    import resource

__all__ = ["CONTENT_TYPE", "Family", "Metrics", "process"]

Values = Mapping[tuple[tuple[str, str], ...], float]
Family = tuple[str, str, Values]  # type, help, and values by labels

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_METHODS = frozenset(("GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH"))
_REQUEST_TIME = "Time from the request's head to the end of its answer."
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts requests, their time, and rows.

    Examples
    --------
    >>> from etana.service.metrics import Metrics
    >>> metrics = Metrics()
    >>> metrics.request("GET", "/v1/models", 200, 0.002)
    >>> print(metrics.text({"etana_open": ("gauge", "Doors.", {(("door", 'a "b"'),): 1})}).splitlines()[2])
    etana_requests_total{method="GET",route="/v1/models",status="200"} 1
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._times: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(_BUCKETS) + 1))
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._rows: Counter[str] = Counter()
        self._refusals: Counter[str] = Counter()
        self._store: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(_BUCKETS) + 1))
        self._store_sums: defaultdict[str, float] = defaultdict(float)
        self._store_errors: Counter[str] = Counter({"read": 0, "write": 0})

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        with self._lock:
            self._requests[method if method in _METHODS else "other", route, status] += 1
            self._times[route][bisect_left(_BUCKETS, seconds)] += 1
            self._sums[route] += seconds

    def classified(self, model: str, rows: int) -> None:
        """Rows were classified."""
        with self._lock:
            self._rows[model] += rows

    def refused(self, reason: str) -> None:
        """A request was refused, for a reason of one word."""
        with self._lock:
            self._refusals[reason] += 1

    def store(self, operation: str, seconds: float, failed: bool) -> None:
        """Something was read from the store or written to it, or could not be."""
        with self._lock:
            self._store[operation][bisect_left(_BUCKETS, seconds)] += 1
            self._store_sums[operation] += seconds
            self._store_errors[operation] += failed

    def text(self, others: Mapping[str, Family]) -> str:
        """Everything, with further values: name to (type, help, {labels: value})."""
        with self._lock:
            requests: Values = {
                (("method", method), ("route", route), ("status", str(status))): n
                for (method, route, status), n in self._requests.items()
            }
            rows: Values = {(("model", model),): n for model, n in self._rows.items()}
            times = [(route, list(counts), self._sums[route]) for route, counts in self._times.items()]
            stored = [(kind, list(counts), self._store_sums[kind]) for kind, counts in self._store.items()]
            refusals: Values = {(("reason", reason),): n for reason, n in self._refusals.items()}
            errors: Values = {(("operation", kind),): n for kind, n in self._store_errors.items()}
        lines = _family("etana_requests_total", "counter", "Requests answered.", requests)
        lines += _family("etana_rows_classified_total", "counter", "Rows classified in batches.", rows)
        lines += _family("etana_refusals_total", "counter", "Requests refused, by reason.", refusals)
        lines += _family("etana_store_errors_total", "counter", "Failures of the store of cases.", errors)
        lines += _histogram("etana_request_seconds", _REQUEST_TIME, "route", times)
        lines += _histogram("etana_store_seconds", "Time to read from the store or write to it.", "operation", stored)
        for name, (kind, words, values) in others.items():
            lines += _family(name, kind, words, values)
        return "\n".join(lines) + "\n"


_BORN = time.time()


def process() -> dict[str, Family]:
    """What the process itself uses, under the names that Prometheus' own clients use."""
    found: dict[str, Family] = {
        "process_cpu_seconds_total": ("counter", "Processor time used, in seconds.", {(): time.process_time()}),
        "process_start_time_seconds": ("gauge", "When the process started, since 1970.", {(): _BORN}),
    }
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        memory = pages * os.sysconf("SC_PAGE_SIZE")
        found["process_resident_memory_bytes"] = ("gauge", "Memory in use.", {(): memory})
        found["process_open_fds"] = ("gauge", "Open files and connections.", {(): len(os.listdir("/proc/self/fd"))})
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        found["process_max_fds"] = ("gauge", "How many may be open.", {(): most})
    return found


def _family(name: str, kind: str, words: str, values: Values) -> list[str]:
    lines = [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
    return lines + [f"{name}{_labels(labels)} {_number(value)}" for labels, value in values.items()]


def _histogram(name: str, words: str, label: str, times: Iterable[tuple[str, list[int], float]]) -> list[str]:
    lines = [f"# HELP {name} {words}", f"# TYPE {name} histogram"]
    for value, counts, total in times:
        below = 0
        for bound, n in zip((*map(str, _BUCKETS), "+Inf"), counts, strict=True):
            below += n
            lines.append(f"{name}_bucket{_labels(((label, value), ('le', bound)))} {below}")
        lines.append(f"{name}_sum{_labels(((label, value),))} {total:.6f}")
        lines.append(f"{name}_count{_labels(((label, value),))} {below}")
    return lines


def _labels(labels: Iterable[tuple[str, str]]) -> str:
    text = ",".join(f'{name}="{_escape(value)}"' for name, value in labels)
    return f"{{{text}}}" if text else ""


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return repr(int(value)) if value == int(value) else repr(float(value))
