"""Examples in the documentation run in a folder of their own; the tutorial finds its data there."""

from pathlib import Path

import numpy as np
import pytest

from reference import Reference


@pytest.fixture(autouse=True)
def folder_of_its_own(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if request.node.name.endswith("tutorial.md"):
        _write_heart(tmp_path)


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
