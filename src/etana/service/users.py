"""Who may do what: named users with roles, and the actor of the request at hand.

A file of users has a line for each: name, role, and the SHA-256 of the token. Tokens are made here, 256 random bits, so
a plain digest is as good as a slow one: there is nothing to guess, and finding the user of a request stays one look-up.

=========  ==============================================================================
role       may
=========  ==============================================================================
``read``   see models and cases, classify rows, read the metrics
``case``   the same, and start, answer, take back and delete cases
``admin``  the same, and read the audit trail and end the sessions of others
=========  ==============================================================================
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from etana.errors import InputError

__all__ = [
    "ANYONE",
    "ROLES",
    "Actor",
    "Role",
    "User",
    "Users",
    "acting",
    "add_user",
    "digest_of",
    "mark_of",
    "read_users",
    "remove_user",
]

Role = Literal["read", "case", "admin"]
ROLES: tuple[Role, ...] = ("read", "case", "admin")  # each may do what those before it may

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SHORTEST_TOKEN = 8


@dataclass(frozen=True)
class User:
    """Somebody who may use the service."""

    name: str
    role: Role

    def may(self, role: Role) -> bool:
        """Whether this user may do what the role may."""
        return ROLES.index(self.role) >= ROLES.index(role)


@dataclass(frozen=True)
class Actor:
    """Whose request is worked on, and from where it comes."""

    name: str
    address: str = ""


ANYONE = User("anyone", "admin")  # where no token is needed
THE_TOKEN = User("token", "admin")  # whoever has the one token

_NOBODY_SPECIAL = Actor(ANYONE.name)

# Set at the door and seen by everything that works on the request, threads included.
acting: ContextVar[Actor] = ContextVar("acting", default=_NOBODY_SPECIAL)


def digest_of(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def mark_of(user: User, token: str) -> str:
    """A user with this very token: it ends to be known when the token is changed."""
    return _mark(user, digest_of(token))


def _mark(user: User, digest: str) -> str:
    return f"{user.name} {digest[:16]}"


class Users:
    """Users by their tokens.

    Parameters
    ----------
    token : str, optional
        One token that may do everything.
    path : str or path, optional
        A file of users; read again by :meth:`reload`.

    Examples
    --------
    >>> from etana.service.users import Users
    >>> Users("correct-horse").find("correct-horse")
    User(name='token', role='admin')
    >>> Users("correct-horse").find("wrong") is None
    True
    """

    def __init__(self, token: str | None = None, path: str | os.PathLike[str] | None = None) -> None:
        self._path = None if path is None else os.fsdecode(path)
        self._token = token
        self.reload()

    @property
    def guarded(self) -> bool:
        """Whether a token is needed."""
        return self._token is not None or self._path is not None

    @property
    def several(self) -> bool:
        """Whether users have tokens of their own."""
        return self._path is not None

    def find(self, token: str) -> User | None:
        """The user of a token; the time that takes says nothing about how much of it is right."""
        return self._by_digest.get(digest_of(token))

    def marked(self, mark: str) -> User | None:
        """The user of a mark (see :func:`mark_of`), as long as there is one with that token."""
        return self._by_mark.get(mark)

    def reload(self) -> None:
        """Read the file again; if that fails, everything stays as it was."""
        self._by_digest = self._read()
        self._by_mark = {_mark(user, digest): user for digest, user in self._by_digest.items()}

    def _read(self) -> dict[str, User]:
        found: dict[str, User] = {}
        if self._token is not None:
            _check_token(self._token)
            found[digest_of(self._token)] = THE_TOKEN
        if self._path is not None:
            found |= {digest: user for user, digest in read_users(self._path)}
        return found


def _check_token(token: str) -> None:
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            f"the token has {len(token)} characters, or others than ASCII without blanks; take at least "
            f"{_SHORTEST_TOKEN} random letters and digits"
        )


def read_users(path: str) -> Iterator[tuple[User, str]]:
    """Users of a file with the digests of their tokens."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"the users cannot be read from {path}: {reason}; make it with: etana users add") from error
    seen: set[str] = set()
    for number, line in enumerate(lines, 1):
        parts = line.split()
        if not parts or line.startswith("#"):
            continue
        if len(parts) != 3 or not _NAME.fullmatch(parts[0]) or parts[1] not in ROLES or not _DIGEST.fullmatch(parts[2]):
            raise InputError(
                f"{path}, line {number} is no user; a line is NAME ROLE DIGEST with a role of {', '.join(ROLES)}: "
                "make it with: etana users add"
            )
        if parts[0] in seen:
            raise InputError(f"{path}, line {number}: {parts[0]} is there twice; keep one of the lines")
        seen.add(parts[0])
        yield User(parts[0], _role(parts[1])), parts[2]


def _role(text: str) -> Role:
    for role in ROLES:
        if role == text:
            return role
    raise InputError(f"role is {text!r}; it must be one of {', '.join(ROLES)}")


def add_user(path: str, name: str, role: str) -> str:
    """Give a user a new token, which is returned and kept nowhere; an earlier one of the same name ends."""
    if not _NAME.fullmatch(name) or name in (ANYONE.name, THE_TOKEN.name):
        raise InputError(f"{name!r} cannot name a user; use letters, digits, dots, dashes, at signs and underscores")
    user = User(name, _role(role))
    known = dict(read_users(path)) if os.path.exists(path) else {}
    token = secrets.token_urlsafe(32)
    others = {other: digest for other, digest in known.items() if other.name != name}
    _write(path, others | {user: digest_of(token)})
    return token


def remove_user(path: str, name: str) -> None:
    """Take a user out of the file."""
    known = dict(read_users(path))
    left = {user: digest for user, digest in known.items() if user.name != name}
    if len(left) == len(known):
        raise InputError(f"{path} has no user {name!r}; it has {', '.join(u.name for u in known) or 'none'}")
    _write(path, left)


def _write(path: str, users: dict[User, str]) -> None:
    """The whole file or none of it, readable by its owner only."""
    new = f"{path}.new"
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.writelines(f"{user.name} {user.role} {digest}\n" for user, digest in users.items())
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
