"""The outermost layer: what a proxy in front has changed is put right, and the path under which we are served.

A proxy that is trusted (on this machine, or named with ``--proxy``) may say for whom it asks: ``X-Forwarded-For``,
``-Proto``, ``-Host`` and ``-Prefix``. From anybody else these headers are passed over. The layers further in find

=====================  ==========================================================================
``scope["client"]``    the address of the client
``scope["scheme"]``    http or https, as the client sees it
``scope["path"]``      the path without the prefix, whether the proxy has taken it away or not
``etana.prefix``       what every address on a page begins with
``etana.host``         host and port, as the client sees them
``etana.proxied``      whether it came through a proxy that is trusted
``etana.id``           an id for the log, which the answer carries too
=====================  ==========================================================================
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from etana.errors import InputError

__all__ = ["Proxy", "check_networks", "check_prefix", "prefix_of"]

_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)*")
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HOST = re.compile(r"[A-Za-z0-9.:\[\]-]{1,255}")
_LOOPBACK = ("127.0.0.0/8", "::1/128")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def check_prefix(prefix: str) -> str:
    """The path under which the service is found, without a slash at its end."""
    plain = prefix.rstrip("/")
    if not _PREFIX.fullmatch(plain) or "/." in plain:
        raise InputError(f"root path is {prefix!r}; it must begin with a slash and have plain names: /etana")
    return plain


def check_networks(proxies: Iterable[str]) -> list[Network]:
    """Addresses and networks of proxies that are trusted; those of this machine always are."""
    networks = []
    for proxy in (*_LOOPBACK, *proxies):
        try:
            networks.append(ipaddress.ip_network(proxy, strict=False))
        except ValueError:
            raise InputError(f"proxy {proxy!r} is no address or network; write 10.0.0.5 or 10.0.0.0/24") from None
    return networks


def prefix_of(scope: Scope) -> str:
    """What every address on a page begins with."""
    return str(scope.get("etana.prefix", ""))


class Proxy:
    """Puts right what a proxy has changed."""

    def __init__(
        self, app: ASGIApp, prefix: str = "", proxies: Iterable[str] = (), new_id: Callable[[], str] = str
    ) -> None:
        self._app, self._prefix, self._networks = app, check_prefix(prefix), check_networks(proxies)
        self._trusted: dict[str, bool] = {}
        self._new_id = new_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http":
            self._put_right(scope)
        return await self._app(scope, receive, send)

    def _put_right(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        prefix = self._prefix
        scope["etana.host"] = headers.get("host", "")
        scope["etana.proxied"] = self._trusts(scope.get("client"))
        scope["etana.id"] = self._new_id()
        if scope["etana.proxied"]:
            prefix = self._believe(scope, headers) or prefix
        if prefix and (scope["path"] == prefix or scope["path"].startswith(f"{prefix}/")):
            scope["path"] = scope["path"][len(prefix) :] or "/"
        scope["etana.prefix"] = prefix

    def _believe(self, scope: Scope, headers: Headers) -> str:
        """Take over what the proxy says about its client; returns the prefix that it names."""
        chain = [part.strip() for part in ",".join(headers.getlist("x-forwarded-for")).split(",")]
        # The last one that we do not trust ourselves: those before it could be invented.
        foreign = [address for address in chain if _is_address(address) and not self._trusts((address, 0))]
        if foreign:
            scope["client"] = (foreign[-1], 0)
        if headers.get("x-forwarded-proto") in ("http", "https"):
            scope["scheme"] = headers["x-forwarded-proto"]
        host = headers.get("x-forwarded-host", "")
        if _HOST.fullmatch(host):
            scope["etana.host"] = host
            scope["etana.named"] = True
        if _ID.fullmatch(headers.get("x-request-id", "")):
            scope["etana.id"] = headers["x-request-id"]
        given = headers.get("x-forwarded-prefix", "").rstrip("/")
        return given if len(given) < 200 and _PREFIX.fullmatch(given) and "/." not in given else ""

    def _trusts(self, client: tuple[str, int] | None) -> bool:
        if client is None:
            return False
        known = self._trusted.get(client[0])
        if known is None:
            if len(self._trusted) > 10_000:
                self._trusted.clear()
            known = self._trusted[client[0]] = _is_address(client[0]) and any(
                ipaddress.ip_address(client[0]) in network for network in self._networks
            )
        return known


def _is_address(text: str) -> bool:
    try:
        return bool(ipaddress.ip_address(text))
    except ValueError:
        return False
