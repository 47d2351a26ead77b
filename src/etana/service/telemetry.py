"""A span for each request, where OpenTelemetry is installed and a tracer is set up; otherwise nothing.

A span says what a log line says: method, route, status, the id of the request and the user. It never has a path, which
holds the id of a case, nor a value. Who traces sets a tracer provider up before the service starts, by code or by
``opentelemetry-instrument``; a trace that the caller has begun (``traceparent``) goes on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from starlette.datastructures import Headers
from starlette.types import Scope

try:
    from opentelemetry import propagate, trace
except ImportError:  # pragma: no cover - FastAPI brings it along today
    trace = None  # type: ignore[assignment]

__all__ = ["request_span"]

Finish = Callable[[str, int], None]


def _finish_nothing(route: str, status: int) -> None:
    pass


@contextlib.contextmanager
def request_span(scope: Scope) -> Iterator[Finish]:
    """A span around a request; what it gives is called with the route and the status at the end."""
    tracer: Any = None if trace is None else trace.get_tracer("etana.service")
    if tracer is None or type(tracer).__name__ in ("NoOpTracer", "ProxyTracer"):
        yield _finish_nothing
        return
    parent = propagate.extract(dict(Headers(scope=scope)))
    with tracer.start_as_current_span(scope["method"], context=parent, kind=trace.SpanKind.SERVER) as span:

        def finish(route: str, status: int) -> None:
            span.update_name(f"{scope['method']} {route}")
            span.set_attributes(
                {
                    "http.request.method": scope["method"], "http.route": route, "http.response.status_code": status,
                    "etana.request_id": scope.get("etana.id", ""), "enduser.id": scope.get("etana.user", ""),
                }
            )  # fmt: skip
            if status >= 500:
                span.set_status(trace.StatusCode.ERROR)

        yield finish
