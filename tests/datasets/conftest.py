"""Every test has a cache of its own, short patience, no set of the package, and no way to the world."""

import pytest
from raw_server import RawServer, closed_address

from etana.datasets import fetch, locations, registry


@pytest.fixture(autouse=True)
def apart_from_the_world(tmp_path, monkeypatch):
    for name in ("ETANA_DATA", "ETANA_MIRROR", "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ETANA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(locations, "PACKAGED", tmp_path / "nothing packaged")
    monkeypatch.setattr(fetch, "LIMITS", fetch.FetchLimits(timeout=5, pause=0.01, longest_pause=0.05, attempts=3))
    for base in registry.BASES:
        monkeypatch.setitem(registry.BASES, base, closed_address())


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def server():
    started = RawServer()
    yield started
    started.close()


@pytest.fixture
def world(server, monkeypatch):
    """The server in the place of everybody who publishes data."""
    for base in registry.BASES:
        monkeypatch.setitem(registry.BASES, base, server.url)
    return server
