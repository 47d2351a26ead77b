"""What a service is started with, checked before it listens, and handed as it is to every process of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from etana.errors import InputError
from etana.service.app import create_app
from etana.service.board import Board
from etana.service.limits import Limits
from etana.service.logs import Format
from etana.service.models import Models
from etana.service.proxy import check_networks, check_prefix
from etana.service.store import Store
from etana.service.users import Users

__all__ = ["Settings"]

_SHORTEST_KEY = 32


@dataclass(frozen=True)
class Settings:
    """Settings of one service."""

    sources: Sequence[str]
    trusted: Sequence[str] = ()
    store: str = "etana-cases.sqlite"
    token: str | None = None
    users: str | None = None
    hosts: Sequence[str] | None = None
    limits: Limits = field(default_factory=Limits)
    root_path: str = ""
    proxies: Sequence[str] = ()
    log: Format = "text"
    key: str | None = None

    def check(self) -> None:
        """Refuse what makes no sense."""
        check_prefix(self.root_path)
        check_networks(self.proxies)
        if self.key is not None and len(self.key) < _SHORTEST_KEY:
            raise InputError(f"the key has {len(self.key)} characters; take at least {_SHORTEST_KEY} random ones")
        if self.log not in ("text", "json"):
            raise InputError(f"log is {self.log!r}; it must be text or json")

    def open_store(self) -> Store:
        """The store of cases."""
        limits = self.limits
        return Store(
            self.store, limits.case_life, limits.cases, limits.kept_cases, limits.user_cases, limits.case_grace
        )

    def make_app(self, models: Models, store: Store, users: Users, board: Board | None = None) -> Any:
        """The application."""
        return create_app(
            models, store, self.limits, None, self.hosts, users=users, root_path=self.root_path,
            proxies=self.proxies, key=None if self.key is None else self.key.encode(), board=board,
        )  # fmt: skip

    def write(self) -> str:
        """As text, for another process."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Settings:
        """From text."""
        fields = json.loads(text)
        return cls(**fields | {"limits": Limits(**fields["limits"])})
