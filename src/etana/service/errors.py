"""Errors of the service: what the HTTP-free part raises, each with the status it becomes and a reason in one word.

Data that cannot be used is an :class:`etana.errors.InputError` here as everywhere, and becomes 422.
"""

from __future__ import annotations

from etana.errors import EtanaError, InputError

__all__ = [
    "Busy",
    "Conflict",
    "Malformed",
    "NotFound",
    "Outdated",
    "ServiceError",
    "TooLarge",
    "WrongType",
    "reason_of",
    "status_of",
]


class ServiceError(EtanaError):
    """Base of the service's own errors; ``reason`` is for programs, as ``reason`` of a problem."""

    status = 500
    reason: str | None = None

    def __init__(self, message: str, reason: str | None = None) -> None:
        super().__init__(message)
        self.reason = self.reason if reason is None else reason


class Malformed(ServiceError):
    """A body that is no JSON."""

    status = 400


class NotFound(ServiceError):
    """A case or a model that does not exist."""

    status = 404
    reason = "no_page"


class Conflict(ServiceError):
    """A request that does not fit the state of its case."""

    status = 409


class Outdated(Conflict):
    """A change that was asked for on a condition, which no longer holds."""

    status = 412
    reason = "revision"


class TooLarge(ServiceError):
    """More than one request may hold."""

    status = 413


class WrongType(ServiceError):
    """A body that is not declared as JSON."""

    status = 415


class Busy(ServiceError):
    """Something that may work a little later."""

    status = 503


def status_of(error: EtanaError) -> int:
    """The HTTP status of an error."""
    if isinstance(error, ServiceError):
        return error.status
    return 422 if isinstance(error, InputError) else 500


def reason_of(error: EtanaError) -> str | None:
    """The reason of an error in one word; None for the usual one of its status."""
    return error.reason if isinstance(error, ServiceError) else getattr(error, "reason", None)
