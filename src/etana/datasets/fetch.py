"""Getting one file over HTTP: whole and verified, or not at all.

A file is read into memory, never onto the disk. Passing troubles (no connection, time-outs, an answer cut short, status
408, 429 and 5xx) are tried again after a pause that doubles; everything else is final at once. Every answer has a limit
of bytes and of seconds, and a way from https to anything else is not followed.
"""

from __future__ import annotations

import hashlib
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from etana import __version__

__all__ = ["LIMITS", "FetchError", "FetchLimits", "fetch"]


@dataclass(frozen=True)
class FetchLimits:
    """How long to wait, and how often to try."""

    timeout: float = 30.0  # seconds without a byte
    deadline: float = 1800.0  # seconds for one whole answer
    attempts: int = 4
    pause: float = 1.0  # seconds before the second attempt, doubled for each further one
    longest_pause: float = 60.0


LIMITS = FetchLimits()


class FetchError(Exception):
    """A file that could not be had; ``passing`` troubles are worth another attempt."""

    def __init__(self, reason: str, passing: bool = False, pause: float | None = None) -> None:
        super().__init__(reason)
        self.passing = passing
        self.pause = pause


def fetch(url: str, limit: int, sha256: str | None = None, limits: FetchLimits | None = None) -> bytes:
    """The bytes at an address, at most ``limit`` of them and with this digest if one is given."""
    limits = limits or LIMITS
    if not url.startswith(("http://", "https://")):
        raise FetchError(f"{url}: only http and https addresses are fetched")
    for attempt in range(limits.attempts):
        try:
            return _verified(_attempt(url, limit, limits), sha256, url)
        except FetchError as error:
            if not error.passing or attempt == limits.attempts - 1:
                tries = f" ({attempt + 1} attempts)" if attempt else ""
                raise FetchError(f"{error}{tries}") from error
            time.sleep(min(error.pause or limits.pause * 2**attempt, limits.longest_pause))
    raise FetchError(f"{url}: no attempt was made")


def _verified(content: bytes, sha256: str | None, url: str) -> bytes:
    found = hashlib.sha256(content).hexdigest()
    if sha256 is not None and found != sha256:
        raise FetchError(f"{url}: the file has sha256 {found}, expected {sha256}; it was changed or damaged")
    return content


def _attempt(url: str, limit: int, limits: FetchLimits) -> bytes:
    request = urllib.request.Request(url, headers={"User-Agent": f"etana/{__version__}"})
    try:
        with urllib.request.build_opener(_SafeRedirects).open(request, timeout=limits.timeout) as answer:
            return _body(answer, url, limit, limits)
    except urllib.error.HTTPError as error:
        with error:
            passing = error.code in (408, 429) or error.code >= 500
            raise FetchError(f"{url}: HTTP status {error.code}", passing, _retry_after(error)) from error
    except (OSError, http.client.HTTPException) as error:  # URLError and time-outs are OSErrors
        reason = getattr(error, "reason", None) or error
        raise FetchError(f"{url}: {str(reason) or type(error).__name__}", passing=True) from error


def _body(answer: Any, url: str, limit: int, limits: FetchLimits) -> bytes:
    announced = answer.headers.get("Content-Length")
    expected = int(announced) if announced and announced.isdigit() else None
    if expected is not None and expected > limit:
        raise FetchError(f"{url}: the file has {expected} bytes, at most {limit} are expected")
    end = time.monotonic() + limits.deadline
    content = bytearray()
    with _progress(url, expected) as advance:
        while chunk := answer.read1(2**16):
            content += chunk
            advance(len(chunk))
            if len(content) > limit:
                raise FetchError(f"{url}: the file has more than the {limit} bytes that are expected")
            if time.monotonic() > end:
                raise FetchError(f"{url}: not complete after {limits.deadline:g} seconds")
    if expected is not None and len(content) < expected:
        raise FetchError(f"{url}: the answer ended after {len(content)} of {expected} bytes", passing=True)
    return bytes(content)


def _retry_after(error: urllib.error.HTTPError) -> float | None:
    """The pause that a server asks for, in seconds."""
    value = error.headers.get("Retry-After", "")
    return float(value) if value.isdigit() else None


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follow a server to another address, but never from https to an open line."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """The request to the new address."""
        if not newurl.startswith("https://" if req.full_url.startswith("https://") else ("http://", "https://")):
            raise FetchError(f"{req.full_url}: leads to {newurl}, which is not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@contextmanager
def _progress(url: str, total: int | None) -> Iterator[Callable[[int], object]]:
    """A bar on a terminal's error stream; nothing elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(url.rsplit("/", 1)[-1], total=total)
        yield lambda n: bar.advance(task, n)
