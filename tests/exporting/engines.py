"""Databases that run an exported statement: SQLite of the standard library, DuckDB, and the system's PostgreSQL."""

import sqlite3
from pathlib import Path

import numpy as np
from runners import Decisions, asked_of, export, plain_rows


def kind_of(values: list) -> str:
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, bool) for value in known):
        return "BOOLEAN"
    return "TEXT" if any(isinstance(value, str) for value in known) else "DOUBLE PRECISION"


def definition(rows) -> tuple[str, list[tuple]]:
    """The statement that makes the table, and its rows."""
    plain = plain_rows(rows)
    quoted = ['"' + name.replace('"', '""') + '"' for name in rows.columns]
    kinds = [kind_of([row[name] for row in plain]) for name in rows.columns]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(quoted, kinds, strict=True))
    # Rows of a table have no order of their own; a key tells which is which.
    return f"CREATE TABLE data (row_key INTEGER, {columns})", [(i, *row.values()) for i, row in enumerate(plain)]


def decided(names: list[str], found: list[tuple], model) -> Decisions:
    place = {name: i for i, name in enumerate(names)}
    found = sorted(found, key=lambda row: row[place["row_key"]])
    order = model.order
    n = [row[place["etana_features"]] for row in found]
    # A statement tells how many features; in a fixed order that says which.
    features = [[model.name_of(c) for c in order[:k]] if order is not None else k for k in n]
    beliefs = [[row[place[f"etana_p{i}"]] for i in range(len(model.classes))] for row in found]
    labels = [row[place["etana_label"]] for row in found]
    return Decisions(labels, features, np.array([row[place["etana_cost"]] for row in found]), np.array(beliefs))


def statement(clf, rows, folder: Path, max_cost=None) -> str:
    export(clf, folder / "policy.sql", rows, max_cost=max_cost)
    return (folder / "policy.sql").read_text(encoding="utf-8")


def in_sqlite(clf, rows, folder: Path, max_cost=None) -> Decisions:
    connection = sqlite3.connect(":memory:")
    make, values = definition(asked_of(clf, rows))
    connection.execute(make)
    connection.executemany(f"INSERT INTO data VALUES ({', '.join('?' * len(values[0]))})", values)
    done = connection.execute(statement(clf, rows, folder, max_cost))
    names, found = [column[0] for column in done.description], done.fetchall()
    connection.close()
    return decided(names, found, clf.model_)


def in_duckdb(clf, rows, folder: Path, max_cost=None) -> Decisions:
    import duckdb

    with duckdb.connect(":memory:") as connection:
        make, values = definition(asked_of(clf, rows))
        connection.execute(make)
        connection.executemany(f"INSERT INTO data VALUES ({', '.join('?' * len(values[0]))})", values)
        done = connection.execute(statement(clf, rows, folder, max_cost))
        return decided([column[0] for column in done.description], done.fetchall(), clf.model_)


def in_postgres(clf, rows, folder: Path, address: str, max_cost=None) -> Decisions:
    import psycopg

    with psycopg.connect(address) as connection:
        make, values = definition(asked_of(clf, rows))
        # A table of this connection alone: one database serves all.
        connection.execute(make.replace("CREATE TABLE", "CREATE TEMP TABLE"))
        connection.cursor().executemany(f"INSERT INTO data VALUES ({', '.join(['%s'] * len(values[0]))})", values)
        # A statement without parameters is sent as it is, per cent signs and all.
        done = connection.execute(statement(clf, rows, folder, max_cost).encode())
        return decided([column.name for column in done.description], done.fetchall(), clf.model_)
