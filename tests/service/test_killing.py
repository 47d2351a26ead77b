"""kill -9 in the middle of changes, on both stores, with one process and with two: nothing acknowledged is lost."""

import killing
import pytest
from servers import Server


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    return "cases.sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres").database()


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


@pytest.mark.parametrize("workers", [1, 2])
def test_nothing_acknowledged_is_lost(folder, tmp_path, store, workers):
    run(folder, tmp_path, store, workers, kills=1, changes=120)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_nothing_acknowledged_is_lost_in_a_thousand_changes(folder, tmp_path, store, workers):
    run(folder, tmp_path, store, workers, kills=8, changes=125)
