"""Results on disk."""

import json

import pytest

from etana.errors import InputError
from reproduction.cells import Cell
from reproduction.store import Result, ResultStore

CELL = Cell("tables", "iris", "saola", {"cost": 0.01}, seed=2)
DONE = Result(CELL, "done", 1.5, 600.0, [{"part": 0, "accuracy": 0.5}, {"part": 1, "accuracy": 1.0}], differs="a bit")


def test_what_is_written_is_read(tmp_path):
    store = ResultStore(tmp_path / "cells")
    assert store.read(CELL) is None
    store.write(DONE)
    found = store.read(CELL)
    assert (found.cell, found.ended, found.seconds, found.limit) == (CELL, "done", 1.5, 600.0)
    assert (found.records, found.differs) == (DONE.records, "a bit")
    assert found.mean("accuracy") == 0.75
    assert found.mean("cost") is None
    assert {"numpy", "scikit-learn", "etana", "python"} <= set(found.about["versions"])
    assert found.about["machine"]["cores"] >= 1
    assert [r.cell for r in store] == [CELL]


def test_every_line_carries_the_cell(tmp_path):
    store = ResultStore(tmp_path)
    store.write(DONE)
    lines = [json.loads(line) for line in store.path(CELL).read_text().splitlines()]
    assert len(lines) == 3
    for line in lines:
        assert Cell.of(line) == CELL


def test_cells_do_not_share_files(tmp_path):
    store = ResultStore(tmp_path)
    cells = [CELL, Cell("tables", "iris", "saola", {"cost": 0.02}, seed=2), Cell("tables", "iris", "saola", seed=2)]
    for cell in cells:
        store.write(Result(cell, "limit", 1.0, 1.0))
    assert {r.cell for r in store} == set(cells)


def test_a_second_result_replaces_the_first(tmp_path):
    store = ResultStore(tmp_path)
    store.write(DONE)
    store.write(Result(CELL, "failed", 0.1, message="no memory"))
    assert (store.read(CELL).ended, store.read(CELL).message) == ("failed", "no memory")


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [],
        lambda lines: ["[1]"],
        lambda lines: lines[:1],
        lambda lines: [lines[0][:-9], *lines[1:]],
        lambda lines: [lines[0].replace('"schema": 1', '"schema": 99'), *lines[1:]],
        lambda lines: [lines[0].replace('"done"', '"nearly"'), *lines[1:]],
        lambda lines: [lines[0], lines[1].replace('"iris"', '"wine"')],
        lambda lines: [lines[0].replace('"seed": 2', '"seed": "2"'), *lines[1:]],
    ],
)
def test_a_damaged_file_is_named(tmp_path, change):
    store = ResultStore(tmp_path)
    store.write(DONE)
    path = store.path(CELL)
    lines = change(path.read_text().splitlines())
    path.write_text("".join(line + "\n" for line in lines))
    with pytest.raises(InputError):
        store.read(CELL)


def test_a_file_under_another_cells_name_is_refused(tmp_path):
    store = ResultStore(tmp_path)
    store.write(DONE)
    other = Cell("tables", "wine", "saola")
    store.path(CELL).rename(store.path(other))
    with pytest.raises(InputError, match="tables/iris/saola"):
        store.read(other)


def test_no_nan_gets_into_a_file(tmp_path):
    store = ResultStore(tmp_path)
    store.write(DONE)
    with pytest.raises(ValueError):
        store.write(Result(CELL, "done", 1.0, None, [{"accuracy": float("nan")}]))
    assert store.read(CELL).mean("accuracy") == 0.75  # the old one is still there
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("ended", "limit", "now", "settles"),
    [
        ("done", 5.0, 600.0, True),
        ("limit", 600.0, 600.0, True),
        ("limit", 600.0, 60.0, True),
        ("limit", 60.0, 600.0, False),
        ("limit", 60.0, None, False),
        ("failed", 60.0, 60.0, False),
    ],
)
def test_when_a_result_is_enough(ended, limit, now, settles):
    assert Result(CELL, ended, 1.0, limit).settles(now) is settles


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        ResultStore(tmp_path / "file" / "cells").check()
