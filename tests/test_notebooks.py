"""The notebooks of the documentation run from their first cell to their last, and hold no outputs."""

import json

import pytest

from reference import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_there_is_one_for_each_user():
    assert [path.stem for path in NOTEBOOKS] == ["clinic", "fraud", "researcher", "sensor"]
    listed = (ROOT / "docs" / "notebooks" / "index.md").read_text(encoding="utf-8")
    assert all(path.name in listed for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = json.loads(path.read_text(encoding="utf-8"))
    assert (page["nbformat"], page["nbformat_minor"]) == (4, 5)
    cells = [cell for cell in page["cells"] if cell["cell_type"] == "code"]
    names = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None
        exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), names)
    assert capsys.readouterr().out
