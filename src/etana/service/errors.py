"""Errors of the service: what the HTTP-free part raises, each with the status it becomes.

Data that cannot be used is an :class:`etana.errors.InputError` here as everywhere, and becomes 422.
"""

from __future__ import annotations

from etana.errors import EtanaError, InputError

__all__ = ["Busy", "Conflict", "Malformed", "NotFound", "ServiceError", "TooLarge", "WrongType", "status_of"]


class ServiceError(EtanaError):
    """Base of the service's own errors."""

    status = 500


class Malformed(ServiceError):
    """A body that is no JSON."""

    status = 400


class NotFound(ServiceError):
    """A case or a model that does not exist."""

    status = 404


class Conflict(ServiceError):
    """A request that does not fit the state of its case."""

    status = 409


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
