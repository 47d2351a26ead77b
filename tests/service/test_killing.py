"""kill -9 in the middle of changes, on both stores, with one process and with two: nothing acknowledged is lost."""

import killing
import pytest
from servers import Server

BOTH = [("sqlite", 1), ("sqlite", 2), ("postgresql", 1), ("postgresql", 2)]


@pytest.fixture
def place(request, store):
    """Where a store of this kind is."""
    return "cases.sqlite" if store == "sqlite" else request.getfixturevalue("postgres").database()


def run(folder, tmp_path, store, workers, kills, changes):
    arguments = (folder / "breast_cancer.etana", "--store", store, "--workers", workers)
    server, notes = Server(tmp_path, *arguments), killing.Notes()
    try:
        for _ in range(kills):
            killing.change_and_kill(server, notes, changes)
            server.start()
            killing.check(server, notes)
        assert notes.changes >= kills * changes
        assert len(notes.deleted) > changes * kills / 40
    finally:
        server.stop()
    assert "ERROR" not in server.log


@pytest.mark.parametrize(("store", "workers"), [("sqlite", 1), ("postgresql", 2)])
def test_nothing_acknowledged_is_lost(folder, tmp_path, place, workers):
    run(folder, tmp_path, place, workers, kills=1, changes=150)


@pytest.mark.slow
@pytest.mark.parametrize(("store", "workers"), BOTH)
def test_nothing_acknowledged_is_lost_in_a_thousand_changes(folder, tmp_path, place, workers):
    run(folder, tmp_path, place, workers, kills=8, changes=125)
