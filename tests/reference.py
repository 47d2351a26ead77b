"""Where the reference data and the outputs of the original programs are, if they are at hand."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

ROOT = Path(__file__).resolve().parents[1]


def reference_folder() -> Path | None:
    """The folder with data/ and oracle/: named by ETANA_DATA (itself or its data/), or ../shared."""
    named = os.environ.get("ETANA_DATA")
    candidates = [Path(named), Path(named).parent] if named else [ROOT.parent / "shared"]
    return next((folder for folder in candidates if (folder / "data").is_dir()), None)


class Reference:
    """Reference data and oracle files by name; a test that asks for one that is not there is skipped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def find(cls) -> "Reference":
        folder = reference_folder()
        if folder is None:
            pytest.skip("reference data not found: set ETANA_DATA to the folder that holds data/ and oracle/")
        return cls(folder)

    def data(self, name: str):
        """The archive of a data set."""
        path = self.folder / "data" / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"reference data set {name} not found")
        return np.load(path, allow_pickle=False)

    def oracle(self, name: str):
        """The output of an original program."""
        path = self.folder / "oracle" / f"{name}.json"
        if not path.exists():
            pytest.skip(f"oracle file {name} not found")
        return json.loads(path.read_text())

    def split(self, name: str):
        """X, y and X_test, y_test of a data set (None where there is no test part); sparse where it is stored so."""
        with self.data(name) as archive:
            y = archive["y"].astype(np.int64)
            if "y_test" not in archive:
                return _matrix(archive, ""), y, None, None
            return _matrix(archive, ""), y, _matrix(archive, "_test"), archive["y_test"].astype(np.int64)


def _matrix(archive, suffix: str):
    if "data" + suffix not in archive:
        return archive["X" + suffix].astype(float)
    parts = (archive["data" + suffix].astype(float), archive["indices" + suffix], archive["indptr" + suffix])
    return sparse.csr_array(parts, shape=tuple(archive["shape" + suffix]))
