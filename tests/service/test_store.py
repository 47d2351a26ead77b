"""The store: one of two changes wins, nothing outlives its time, no foreign file is touched."""

import os
import sqlite3
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import databases
import pytest

from etana.errors import InputError
from etana.service.errors import Busy
from etana.service.store import Record, Store
from etana.service.users import Actor, acting


@pytest.fixture
def store(where):
    store = Store(where, life=100.0, most=1000)
    yield store
    store.close()


@pytest.fixture
def clock(monkeypatch):
    """Both clocks, by hand: ``day`` can be set, ``run`` only runs."""
    import etana.service.store as module

    clock = SimpleNamespace(day=1.8e9, run=1000.0)
    clock.go = lambda seconds: vars(clock).update(day=clock.day + seconds, run=clock.run + seconds)
    monkeypatch.setattr(module.time, "time", lambda: clock.day)
    monkeypatch.setattr(module.time, "monotonic", lambda: clock.run)
    return clock


def new(store):
    return store.add(Record.new("wine", "ab" * 32, 0.5, "open"))


def test_what_is_stored_comes_back_and_survives_closing(where):
    first = Store(where, 100.0, 10)
    answers = (1.5, None, 'a "b"\n\x00é日本', True, -0.0, 10**30, 0.1 + 0.2)
    case = first.change(new(first), answers, "decided")
    first.close()
    second = Store(where, 100.0, 10)
    assert second.get(case.id) == case
    assert second.get(case.id).answers == answers
    assert second.by_status() == {"open": 0, "decided": 1}
    assert len(second) == 1
    second.close()


def test_ids_are_long_and_different(store):
    ids = {new(store).id for _ in range(100)}
    assert len(ids) == 100
    assert all(len(i) == 24 for i in ids)


def test_ids_that_no_case_can_have_are_not_found(store):
    for odd in ("", "\x00", "a\x00b", "'; DROP TABLE cases; --", "%s", "?"):
        assert store.get(odd) is None
        assert not store.remove(odd)


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


def test_two_stores_on_one_database_agree(where):
    one, two = (Store(where, 100.0, 10) for _ in range(2))
    case = new(one)
    assert two.change(case, (1,), "open") is not None
    assert one.change(case, (2,), "open") is None
    assert one.get(case.id).answers == (1,)
    assert one.secret() == two.secret()
    one.close()
    two.close()


def test_a_store_may_end_what_another_has_added(where):
    one, two = (Store(where, 100.0, 10) for _ in range(2))
    cases = [new(one) for _ in range(3)]
    for case in cases:
        assert two.remove(case.id)
    assert len(two) == 0
    assert two.by_status() == {"open": 0, "decided": 0}
    assert new(two)
    one.sweep()
    assert (len(one), one.by_status()["open"]) == (1, 1)
    one.close()
    two.close()


def test_stores_that_change_the_same_cases_at_once_lose_nothing(where):
    """Of all changes to one revision of a case one wins, over two stores, whatever is committed together."""
    stores = [Store(where, 100.0, 100) for _ in range(2)]
    cases = [new(stores[0]) for _ in range(10)]

    def work(i):
        won = 0
        for step in range(20):
            store, id = stores[i % 2], cases[(i * 7 + step) % 10].id
            won += store.change(store.get(id), (i,), "open") is not None
        return won

    with ThreadPoolExecutor(8) as pool:
        won = sum(pool.map(work, range(8)))
    assert sum(stores[0].get(case.id).revision for case in cases) == won > 20
    assert sum(line.action == "undo" or line.action == "answer" for line in stores[1].audit()) == won
    for store in stores:
        store.close()


def test_a_case_ends_when_its_time_is_over_and_is_deleted_after_the_grace(where, clock, caplog):
    store = Store(where, 100.0, 10, grace=50.0)
    case, kept = new(store), new(store)
    clock.go(60)
    kept = store.change(kept, (1,), "open")  # a change prolongs it
    clock.go(60)
    assert store.get(case.id) is None
    assert store.change(case, (1,), "open") is None
    assert not store.remove(case.id)
    assert store.get(kept.id) == kept
    assert store.sweep() == 0
    assert len(store) == 2
    clock.go(51)
    with caplog.at_level("INFO", "etana.service"):
        assert store.sweep() == 1
    assert "deleted 1 cases" in caplog.text
    assert len(store) == 1
    assert [(line.action, line.case_id) for line in store.audit()][-1] == ("expire", case.id)
    store.close()


@pytest.mark.parametrize("jump", [2 * 86400.0, 7200.0])
def test_a_clock_that_jumps_and_is_set_right_deletes_nothing(where, clock, caplog, jump):
    store = Store(where, 3600.0, 10, grace=600.0)
    case = new(store)
    clock.go(60)
    store.sweep()
    clock.day += jump
    for _ in range(9):  # nine minutes ahead
        clock.go(60)
        assert store.sweep() == 0
    assert "the clock has jumped" in caplog.text
    clock.day -= jump
    for _ in range(30):
        clock.go(60)
        assert store.sweep() == 0
    assert store.get(case.id) == case
    store.close()


def test_a_store_that_is_opened_with_the_clock_ahead_deletes_nothing(where, clock):
    first = Store(where, 3600.0, 10)
    case = new(first)
    first.close()
    clock.day += 2 * 86400
    second = Store(where, 3600.0, 10)
    second.sweep()
    clock.day -= 2 * 86400
    assert second.sweep() == 0
    assert second.get(case.id) == case
    second.close()


def test_no_more_open_cases_than_allowed_however_many_ask_at_once(where):
    store = Store(where, 100.0, 20)

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
    # A decided case is no longer open.
    store.change(made[1], (1,), "decided")
    assert new(store)
    with pytest.raises(Busy, match="20 cases are kept open"):
        new(store)
    store.close()


def test_cases_that_are_decided_are_bounded_too(where):
    store = Store(where, 100.0, 2, kept=3)
    for _ in range(3):
        store.change(new(store), (1,), "decided")
    with pytest.raises(Busy, match="3 cases are kept"):
        new(store)
    store.close()


def test_each_user_has_a_quota(where):
    store = Store(where, 100.0, 100, quota=2)
    for name in ("ann", "bob"):
        token = acting.set(Actor(name, "192.0.2.1"))
        first = new(store)
        new(store)
        with pytest.raises(Busy, match=f"{name} has 2 open cases"):
            new(store)
        store.remove(first.id)
        assert new(store).owner == name
        acting.reset(token)
    store.close()


# --- the audit trail, sessions, the key


def test_the_audit_trail_says_who_did_what_to_which_case_when(store, clock):
    token = acting.set(Actor("ann", "192.0.2.7"))
    case = new(store)
    clock.go(5)
    changed = store.change(case, (1,), "open")
    acting.set(Actor("bob", "192.0.2.8"))
    store.change(changed, (), "open")
    store.remove(case.id)
    assert not store.remove(case.id)  # nothing was done, so nothing is noted
    acting.reset(token)
    lines = store.audit()
    assert [(n.who, n.address, n.action, n.case_id, n.revision, n.at - lines[0].at) for n in lines] == [
        ("ann", "192.0.2.7", "start", case.id, 0, 0),
        ("ann", "192.0.2.7", "answer", case.id, 1, 5),
        ("bob", "192.0.2.8", "undo", case.id, 2, 5),
        ("bob", "192.0.2.8", "delete", case.id, 2, 5),
    ]
    assert store.audit(after=lines[1].number, most=1) == [lines[2]]


@pytest.mark.parametrize("act", ["UPDATE audit SET who = 'nobody'", "DELETE FROM audit"])
def test_the_audit_trail_only_grows(store, act):
    new(store)
    with pytest.raises(Busy, match="the audit trail only grows"):
        store._change(lambda run: run.execute(act))
    assert [line.action for line in store.audit()] == ["start"]


def test_sessions_end_by_themselves_by_id_and_by_person(store, clock):
    store.open_session("a", "ann", "m1", 100.0)
    store.open_session("b", "ann", "m1", 1000.0)
    store.open_session("c", "bob", "m2", 1000.0)
    assert [store.session(i) for i in "abcd"] == ["m1", "m1", "m2", None]
    clock.go(200)
    assert store.session("a") is None
    assert store.close_sessions(id="c") == 1
    assert store.session("c") is None
    assert store.close_sessions(person="ann") == 2
    assert store.session("b") is None


# --- faults


def test_a_change_behind_the_close_fails_at_once(where):
    store = Store(where, 100.0, 10)
    case, slow = new(store), threading.Event()
    blocked = threading.Thread(target=store._change, args=(lambda run: slow.wait(10),))
    blocked.start()
    closing = threading.Thread(target=store.close)
    closing.start()
    while not store.database.closed:
        time.sleep(0.001)
    began = time.monotonic()
    for late in (lambda: new(store), lambda: store.change(case, (1,), "open"), lambda: store.get(case.id)):
        with pytest.raises(Busy, match="the service is stopping"):
            late()
    assert time.monotonic() - began < 1
    slow.set()
    blocked.join()
    closing.join()


def test_no_change_is_left_waiting_while_the_store_closes(where):
    """Changes come from all sides while it closes: each is stored or told, and none waits for ever."""
    store = Store(where, 100.0, 10_000)
    told = []

    def work(_):
        stored = 0
        while True:
            try:
                new(store)
                stored += 1
            except Busy as error:
                told.append(str(error))
                return stored

    with ThreadPoolExecutor(8) as pool:
        running = [pool.submit(work, i) for i in range(8)]
        time.sleep(0.1)
        store.close()
        stored = sum(r.result(timeout=10) for r in running)
    assert len(told) == 8
    again = Store(where, 100.0, 10_000)
    assert len(again) == stored
    again.close()


def test_a_statement_that_fails_takes_no_other_with_it(store):
    block = threading.Event()
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(store._change, lambda run: block.wait(10))
        time.sleep(0.1)
        bad = pool.submit(store._change, lambda run: run.execute("INSERT INTO nowhere VALUES (1)"))
        good = pool.submit(new, store)
        time.sleep(0.1)
        block.set()
        assert first.result(10)
        with pytest.raises(Busy):
            bad.result(10)
        assert store.get(good.result(10).id)
    assert len(store) == 1


def test_reading_and_writing_are_measured(store):
    seen = []
    store.database.watch = lambda operation, seconds, failed: seen.append((operation, failed))
    case = new(store)
    store.get(case.id)
    with pytest.raises(Busy):
        store._change(lambda run: run.execute("nonsense"))
    assert seen == [("write", False), ("read", False), ("write", True)]


def test_a_check_reads_and_writes(store, caplog):
    store.check()
    store._probed = -100.0
    store.database.failed = -100.0
    store.database.engine.begin = lambda: (_ for _ in ()).throw(store.database.engine.errors[0]("disk is full"))
    with pytest.raises(Busy, match="disk is full"):
        store.check()
    assert "the store cannot write: disk is full" in caplog.text


def test_a_disk_that_is_nearly_full_is_seen_before_a_change_fails(tmp_path, monkeypatch):
    store = Store(tmp_path / "c.sqlite", 100.0, 10)
    store.check()
    full = os.statvfs_result((4096, 4096, 10**6, 100, 100, 10, 10, 10, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    with pytest.raises(Busy, match="409,600 bytes left"):
        store.check()
    store.close()


def test_a_connection_that_is_lost_is_opened_again(postgres):
    import psycopg

    store = Store(postgres.database(), 100.0, 10)
    case = new(store)
    store.get(case.id)
    with psycopg.connect(store.path, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert store.get(case.id) == case
    with pytest.raises(Busy):
        store.change(case, (1,), "open")  # nobody knows what became of it
    assert store.change(store.get(case.id), (2,), "open")
    store.close()


def test_a_database_that_cannot_be_had_is_named_without_its_password(postgres):
    for address, said in (
        (f"postgresql://etana:secret@127.0.0.1:{postgres.port}/nowhere", "nowhere"),
        (f"postgresql://etana:secret@127.0.0.1:{databases.free_port()}/x", "cannot hold the cases"),
    ):
        with pytest.raises(InputError, match=said) as caught:
            Store(address, 1.0, 1)
        assert "secret" not in str(caught.value)


def test_a_store_of_the_first_version_is_taken_over(tmp_path):
    with sqlite3.connect(tmp_path / "old.sqlite") as old:
        old.executescript(
            f"""PRAGMA application_id = {0x6574616E}; PRAGMA user_version = 1;
            CREATE TABLE cases (
                id TEXT PRIMARY KEY, model TEXT NOT NULL, digest TEXT NOT NULL, max_cost REAL,
                revision INTEGER NOT NULL, answers TEXT NOT NULL, status TEXT NOT NULL, created REAL NOT NULL,
                updated REAL NOT NULL, expires REAL NOT NULL
            ) WITHOUT ROWID;
            CREATE INDEX by_expiry ON cases (expires);
            INSERT INTO cases VALUES ('a', 'wine', 'ff', NULL, 1, '[2.5]', 'open', 1, 1, 1e12);"""
        )
    old.close()
    store = Store(tmp_path / "old.sqlite", 100.0, 10)
    case = store.get("a")
    assert (case.answers, case.owner) == ((2.5,), "")
    assert store.change(case, (2.5, 3), "open").revision == 2
    store.close()


def test_commits_wait_for_the_disk(store, request):
    run = store.database.engine.writer().execute
    if "postgresql" in store.path:
        assert run("SHOW synchronous_commit").fetchone() == run("SHOW fsync").fetchone() == ("on",)
    else:
        assert run("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert run("PRAGMA journal_mode").fetchone() == ("wal",)


def test_only_the_owner_can_read_the_file(tmp_path):
    store = Store(tmp_path / "c.sqlite", 100.0, 10)
    new(store)
    for name in os.listdir(tmp_path):
        assert stat.S_IMODE(os.stat(tmp_path / name).st_mode) & 0o077 == 0, name
    store.close()


def test_a_failed_commit_tells_everybody_and_changes_nothing(tmp_path, monkeypatch):
    store = Store(tmp_path / "c.sqlite", 100.0, 10)
    case = new(store)
    with sqlite3.connect(tmp_path / "c.sqlite", isolation_level=None) as other:
        other.execute("PRAGMA busy_timeout = 100")
        other.execute("BEGIN IMMEDIATE")  # another program holds the file
        store.database.engine.writer().execute("PRAGMA busy_timeout = 50")
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
