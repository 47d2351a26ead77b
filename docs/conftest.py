"""Examples in the documentation run in a folder of their own; the tutorial finds its data there."""

import sys
from pathlib import Path

import numpy as np
import pytest

from reference import Reference


@pytest.fixture(autouse=True)
def folder_of_its_own(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # a module that an example writes can be imported, there and nowhere else
    if request.node.name.endswith("tutorial.md"):
        _write_heart(tmp_path)
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(f"{tmp_path}/"):
            del sys.modules[name]


def _write_heart(folder: Path) -> None:
    import pandas as pd

    with Reference.find().data("heart") as z:
        names = z["feature_names"].tolist()
        frame = pd.DataFrame(np.where(z["missing"] > 0, np.nan, z["X"].astype(float)), columns=names)
        frame.assign(disease=np.array(["no", "yes"])[z["y"]]).to_csv(folder / "heart.csv", index=False)
        pd.DataFrame(
            {
                "feature": names,
                "cost": z["costs"],
                "group": z["cost_group"],
                "discounted": np.where(z["cost_group"] != "", z["costs_discount"], np.nan),
            }
        ).to_csv(folder / "costs.csv", index=False)
