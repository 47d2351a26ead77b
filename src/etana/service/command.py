"""The service on the command line: ``etana serve``, ``etana users``, ``etana store``.

Heavy imports stay inside the commands, so that help appears at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Annotated

import typer

__all__ = ["register"]

Errors = Callable[[], AbstractContextManager[None]]
StorePlace = Annotated[str, typer.Argument(help="SQLite file, or postgresql://USER@HOST/NAME.", metavar="STORE")]
UsersFile = Annotated[str, typer.Argument(help="File of users, made if it is not there.", metavar="FILE")]
Many = list[str] | None


def register(app: typer.Typer, errors: Errors) -> None:
    """Add the commands; ``errors`` turns what they raise into one line and an exit code."""
    _add_serve(app, errors)
    users = typer.Typer(help="Users of 'etana serve --users FILE': each has a token of their own and a role.")
    store = typer.Typer(help="Cases of 'etana serve': back up, restore, show who did what.")
    _add_users(users, errors)
    _add_store(store, errors)
    app.add_typer(users, name="users", no_args_is_help=True)
    app.add_typer(store, name="store", no_args_is_help=True)


def _add_serve(app: typer.Typer, errors: Errors) -> None:
    @app.command()
    def serve(
        models: Annotated[
            list[str], typer.Argument(help="Model files, folders with *.etana files, or NAME=FILE.", metavar="MODEL...")
        ],
        host: Annotated[
            str, typer.Option(help="Address to listen on; beyond loopback a token is needed.")
        ] = "127.0.0.1",
        port: Annotated[int, typer.Option(help="Port to listen on; 0 for any that is free.")] = 8000,
        token: Annotated[
            str | None,
            typer.Option(
                help="Bearer token that clients must send. Others on the machine can see options: better set "
                "ETANA_TOKEN.",
                envvar="ETANA_TOKEN",
            ),
        ] = None,
        users: Annotated[
            str | None, typer.Option(help="File of users with tokens and roles; see 'etana users'.")
        ] = None,
        store: Annotated[
            str,
            typer.Option(
                help="What keeps the cases: a SQLite file, or postgresql://USER@HOST/NAME.", envvar="ETANA_STORE"
            ),
        ] = "etana-cases.sqlite",
        workers: Annotated[int, typer.Option(help="Processes that serve; one for each core.")] = 1,
        root_path: Annotated[str, typer.Option(help="Path under which a proxy serves this: /etana.")] = "",
        proxy: Annotated[
            Many, typer.Option(help="Address or network of a proxy whose headers are believed; can be repeated.")
        ] = None,
        allow_host: Annotated[
            Many, typer.Option(help="Further name that clients may use for this machine; can be repeated.")
        ] = None,
        limit: Annotated[
            Many, typer.Option(help="NAME=VALUE, one of etana.service.limits.Limits; can be repeated.")
        ] = None,
        log: Annotated[str, typer.Option(help="Log lines as text or json.")] = "text",
        trust: Annotated[
            Many,
            typer.Option(
                metavar="TYPE", help="Type that a scikit-learn estimator in the file may be made of; can be repeated."
            ),
        ] = None,
    ) -> None:
        """Serve models over HTTP: classification of rows, and cases that are asked one question at a time."""
        with errors():
            from etana.service.limits import Limits
            from etana.service.run import serve

            serve(
                models, host=host, port=port, token=_given_token(token), users=users, store=store, workers=workers,
                root_path=root_path, proxies=proxy or (), allow_hosts=allow_host or (),
                limits=Limits.parse(limit or ()), log=log, key=os.environ.get("ETANA_KEY"),  # type: ignore[arg-type]
                trusted=trust or (),
            )  # fmt: skip


def _given_token(token: str | None) -> str | None:
    """The token; one that is set to nothing is a mistake, and must not open the service to everybody."""
    from etana.errors import InputError

    if token == "" or (token is None and os.environ.get("ETANA_TOKEN") == ""):
        raise InputError("ETANA_TOKEN is set but empty; give it a token, or unset it")
    return token


def _add_users(app: typer.Typer, errors: Errors) -> None:
    @app.command("add")
    def add(
        file: UsersFile,
        name: Annotated[str, typer.Argument(help="Name of the user.")],
        role: Annotated[str, typer.Option(help="read, case or admin.")] = "case",
    ) -> None:
        """Give a user a new token, and print it: only its digest is kept."""
        with errors():
            from etana.service.users import add_user

            print(add_user(file, name, role))

    @app.command("remove")
    def remove(file: UsersFile, name: Annotated[str, typer.Argument(help="Name of the user.")]) -> None:
        """Take a user away; the service knows after a SIGHUP."""
        with errors():
            from etana.service.users import remove_user

            remove_user(file, name)

    @app.command("list")
    def show(file: UsersFile) -> None:
        """Names and roles."""
        with errors():
            from etana.service.users import read_users

            for user, _ in read_users(file):
                print(user.name, user.role)


def _add_store(app: typer.Typer, errors: Errors) -> None:
    @app.command("backup")
    def backup(store: StorePlace, file: Annotated[str, typer.Argument(help="File to write.", metavar="FILE")]) -> None:
        """Write everything that a store holds into a file, while the service runs."""
        with errors():
            from etana.service.backup import back_up

            print(f"{back_up(store, file)} cases", file=sys.stderr)

    @app.command("restore")
    def restore(file: Annotated[str, typer.Argument(help="A backup.", metavar="FILE")], store: StorePlace) -> None:
        """Fill an empty store, of either kind, from a backup."""
        with errors():
            from etana.service.backup import restore

            print(f"{restore(file, store)} cases", file=sys.stderr)

    @app.command("audit")
    def audit(
        store: StorePlace,
        after: Annotated[int, typer.Option(help="Only lines whose number is above this.")] = 0,
    ) -> None:
        """Print the audit trail: who did what to which case and when, a JSON object a line."""
        with errors():
            from etana.service.backup import audit_lines

            for text in audit_lines(store, after):
                sys.stdout.write(text)
