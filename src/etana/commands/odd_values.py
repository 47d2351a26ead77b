"""What is unusual in a table that is classified: counted while it goes by, and said at the end.

Only values that were asked for are looked at; the others had no part in any decision.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from etana.commands.doubts import listed
from etana.dictionary import words_of_range
from etana.model import Model
from etana.table import Table
from etana.tablefile import Block
from etana.walks import Acquisition

__all__ = ["OddValues"]


@dataclass
class _Column:
    """Of one column: values asked for, those outside of the usual range, labels that training did not have, and words
    that were taken as missing."""

    asked: int = 0
    outside: int = 0
    least: float = np.inf
    greatest: float = -np.inf
    unknown: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)


class OddValues:
    """Counts of what a model was not made for, over the blocks of a table."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._columns: defaultdict[int, _Column] = defaultdict(_Column)

    def look(self, block: Block, table: Table, walk: Acquisition) -> None:
        """Count in the values that these rows were asked for."""
        rows: defaultdict[int, list[int]] = defaultdict(list)
        for i in range(len(walk)):
            for k in walk.features(i).tolist():
                rows[k].append(i)
        for k, asked in rows.items():
            cells = block.columns.get(self.model.column_names[k])
            if cells is not None:
                self._look_at(k, np.array(asked), cells, table)

    def _look_at(self, k: int, rows: np.ndarray, cells: Any, table: Table) -> None:
        seen, values = self._columns[k], table.values(k, rows, self.model.levels)
        seen.asked += rows.size
        seen.missing.update(word for r in rows[np.isnan(values)] if (word := _word(cells[r])))
        if k in self.model.levels:
            seen.unknown.update(str(cells[r]) for r in rows[np.isinf(values)])
            return
        usual = self.model.usual_range(k)
        if usual is not None:
            far = values[(values < usual[0]) | (values > usual[1])]
            seen.outside += far.size
            seen.least = min(seen.least, far.min(initial=np.inf))
            seen.greatest = max(seen.greatest, far.max(initial=-np.inf))

    def findings(self) -> Iterator[str]:
        """What was unusual, a line for each column."""
        for k, seen in sorted(self._columns.items()):
            name = repr(self.model.column_names[k])
            n = seen.unknown.total()
            if n:
                words = listed(repr(word) for word, _ in seen.unknown.most_common())
                yield f"{_share(n, seen.asked)} of {name} not seen in training ({words}), so no evidence"
            if seen.outside:
                yield self._outside(k, seen)
            if seen.missing:
                words = listed(repr(word) for word, _ in seen.missing.most_common())
                yield f"{_share(seen.missing.total(), seen.asked)} of {name} taken as missing ({words})"

    def _outside(self, k: int, seen: _Column) -> str:
        said, usual = self.model.description_of(k), self.model.usual_range(k)
        assert usual is not None
        which = "plausible" if said.has_range else "training"
        words = said.range_words() if said.has_range else words_of_range(*usual, said.unit)
        far = f"{seen.least:.6g}" if seen.least == seen.greatest else f"{seen.least:.6g} to {seen.greatest:.6g}"
        name = repr(self.model.column_names[k])
        return (
            f"{_share(seen.outside, seen.asked)} of {name} outside of the {which} range, {words}: {far}; check the unit"
        )


def _share(n: int, asked: int) -> str:
    return f"{n:,} of {asked:,} {'value' if asked == 1 else 'values'}"


def _word(cell: Any) -> str:
    return cell.strip() if isinstance(cell, str) else ""
