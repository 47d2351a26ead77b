"""The store: one of two changes wins, nothing outlives its time, no foreign file is touched."""

import os
import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from etana.errors import InputError
from etana.service.errors import Busy
from etana.service.store import Record, Store


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "cases.sqlite", life=100.0, most=1000)
    yield store
    store.close()


def new(store):
    return store.add(Record.new("wine", "ab" * 32, 0.5, "open"))


def test_what_is_stored_comes_back_and_survives_closing(tmp_path):
    first = Store(tmp_path / "c.sqlite", 100.0, 10)
    answers = (1.5, None, 'a "b"\n\x00é日本', True, -0.0, 10**30, 0.1 + 0.2)
    case = first.change(new(first), answers, "decided")
    first.close()
    second = Store(tmp_path / "c.sqlite", 100.0, 10)
    assert second.get(case.id) == case
    assert second.get(case.id).answers == answers
    assert second.by_status() == {"open": 0, "decided": 1}
    assert len(second) == 1
    second.close()


def test_ids_are_long_and_different(store):
    ids = {new(store).id for _ in range(100)}
    assert len(ids) == 100
    assert all(len(i) == 24 for i in ids)


def test_of_many_changes_to_one_revision_one_wins(store):
    case = new(store)
    start = threading.Barrier(16)

    def change(i):
        start.wait()
        return store.change(case, (i,), "open")

    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(change, range(16)))
    winners = [r for r in results if r is not None]
    assert len(winners) == 1
    assert store.get(case.id) == winners[0]


def test_two_stores_on_one_file_agree(tmp_path):
    one, two = (Store(tmp_path / "c.sqlite", 100.0, 10) for _ in range(2))
    case = new(one)
    assert two.change(case, (1,), "open") is not None
    assert one.change(case, (2,), "open") is None
    assert one.get(case.id).answers == (1,)
    one.close()
    two.close()


def test_a_case_ends_when_its_time_is_over(tmp_path, monkeypatch):
    store = Store(tmp_path / "c.sqlite", 100.0, 10)
    import etana.service.store as module

    case = new(store)
    kept = new(store)
    clock = case.created
    monkeypatch.setattr(module.time, "time", lambda: clock)
    clock += 60
    kept = store.change(kept, (1,), "open")  # a change prolongs it
    clock += 60
    assert store.get(case.id) is None
    assert store.change(case, (1,), "open") is None
    assert not store.remove(case.id)
    assert store.get(kept.id) == kept
    assert store.sweep() == 1
    assert len(store) == 1
    store.close()


def test_no_more_cases_than_allowed_however_many_ask_at_once(tmp_path):
    store = Store(tmp_path / "c.sqlite", 100.0, 20)

    def add(_):
        try:
            return new(store)
        except Busy:
            return None

    with ThreadPoolExecutor(16) as pool:
        made = [case for case in pool.map(add, range(100)) if case]
    assert len(made) == len(store) == 20
    assert store.remove(made[0].id)
    assert new(store)
    store.close()


def test_commits_wait_for_the_disk(store):
    assert store._writer.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    assert store._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_only_the_owner_can_read_the_file(store, tmp_path):
    new(store)
    for name in os.listdir(tmp_path):
        assert stat.S_IMODE(os.stat(tmp_path / name).st_mode) & 0o077 == 0, name


def test_a_failed_commit_tells_everybody_and_changes_nothing(tmp_path, monkeypatch):
    store = Store(tmp_path / "c.sqlite", 100.0, 10)
    case = new(store)
    with sqlite3.connect(tmp_path / "c.sqlite", isolation_level=None) as other:
        other.execute("PRAGMA busy_timeout = 100")
        other.execute("BEGIN IMMEDIATE")  # another program holds the file
        store._writer.execute("PRAGMA busy_timeout = 50")
        with pytest.raises(Busy, match="nothing was changed"):
            store.change(case, (1,), "open")
        other.execute("ROLLBACK")
    other.close()
    assert store.get(case.id) == case
    assert store.change(case, (1,), "open").revision == 1
    store.close()
    with pytest.raises(Busy, match="stopping"):
        new(store)


def test_a_file_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "text").write_text("this is no database, whatever it is called" * 100)
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE accounts (id)")
    other.close()
    with sqlite3.connect(tmp_path / "newer.db") as newer:
        newer.execute(f"PRAGMA application_id = {0x6574616E}")
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    (tmp_path / "folder").mkdir()
    for name, said in (
        ("text", "not a database"),
        ("other.db", "another program"),
        ("newer.db", "version 99"),
        ("folder", "directory"),
        ("missing/c.db", "No such file"),
    ):
        before = (tmp_path / name).read_bytes() if (tmp_path / name).is_file() else None
        with pytest.raises(InputError, match=said):
            Store(tmp_path / name, 1.0, 1)
        if before is not None:
            assert (tmp_path / name).read_bytes() == before
