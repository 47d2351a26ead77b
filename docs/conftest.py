"""Examples in the documentation run in a folder of their own; the tutorial has run its first command there."""

import sys

import pytest

from etana.commands.data import write_data


@pytest.fixture(autouse=True)
def folder_of_its_own(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # a module that an example writes can be imported, there and nowhere else
    if request.node.name.endswith("tutorial.md"):
        write_data("heart", str(tmp_path))  # the tutorial's own first command
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(f"{tmp_path}/"):
            del sys.modules[name]
