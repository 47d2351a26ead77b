"""Where the paper's data are, for the benchmarks that use them."""

from __future__ import annotations

import os
from pathlib import Path


def data_folder(given: str | None, sample: str) -> Path | None:
    """The folder that holds ``sample``: --data, $ETANA_DATA or ../shared, itself or its data/; None if none does."""
    beside = Path(__file__).resolve().parents[2] / "shared"
    for place in filter(None, (given, os.environ.get("ETANA_DATA"), beside)):
        for folder in (Path(place) / "data", Path(place)):
            if (folder / sample).is_file():
                return folder
    print("no reference data found (give --data FOLDER or set ETANA_DATA): what needs them is left out")
    return None
