"""Numbers and values as people read them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from etana.dictionary import words_of_range as plain_range

__all__ = ["Money", "moment", "paragraphs", "percent", "plain_range", "text", "value"]

_MOST_DECIMALS = 9
_PRICES_READ = 1000


@dataclass(frozen=True)
class Money:
    """Writes costs with as many decimals as the prices of a model have, two at least.

    Examples
    --------
    >>> from etana.service.pages.wording import Money
    >>> money = Money.of([12.5, 3.0])
    >>> money(1012.5), money.estimate(0.1234)
    ('1,012.50', '0.12')
    >>> money = Money.of([0.003])
    >>> money(0.006), money.estimate(0.07142)
    ('0.006', '0.0714')
    """

    decimals: int
    small: bool

    @classmethod
    def of(cls, prices: Any) -> Money:
        """For these prices."""
        some = np.asarray(prices, dtype=np.float64)[:_PRICES_READ]
        exact = (d for d in range(2, _MOST_DECIMALS) if np.allclose(some, some.round(d), rtol=0, atol=1e-12))
        return cls(next(exact, _MOST_DECIMALS), bool(some.size and some.max() < 1))

    def __call__(self, amount: float) -> str:
        """An amount that was or has to be paid."""
        return f"{amount:,.{self.decimals}f}"

    def estimate(self, amount: float) -> str:
        """An expected amount; where prices are below one, with a digit more."""
        return f"{amount:,.{self.decimals + self.small}f}"


def percent(probability: float) -> str:
    """A probability in per cent; never 0 or 100 unless it is.

    >>> from etana.service.pages.wording import percent
    >>> percent(0.627), percent(0.99991), percent(0.00001), percent(1.0)
    ('62.7 %', 'over 99.9 %', 'under 0.1 %', '100 %')
    """
    if probability in (0.0, 1.0):
        return f"{100 * probability:.0f} %"
    if probability > 0.999:
        return "over 99.9 %"
    return "under 0.1 %" if probability < 0.001 else f"{100 * probability:.1f} %"


def moment(seconds: float) -> str:
    """A time, in seconds since 1970.

    >>> from etana.service.pages.wording import moment
    >>> moment(1_800_000_000)
    '15 January 2027, 08:00 UTC'
    """
    at = datetime.fromtimestamp(seconds, UTC)
    return f"{at.day} {at:%B %Y, %H:%M} UTC"


def text(label: Any) -> str:
    """A class, a category or a value."""
    if isinstance(label, bool):
        return "yes" if label else "no"
    return f"{label:.10g}" if isinstance(label, float) else str(label)


def value(given: Any) -> str:
    """An answer."""
    return "came back empty" if given is None else text(given)


def paragraphs(explanation: str) -> tuple[list[str], list[str]]:
    """An explanation as sentences, and the possible answers that follow them, which are indented."""
    lines = [line for line in explanation.split("\n") if line.strip()]
    answers = [line.strip() for line in lines if line.startswith("  ")]
    return [line for line in lines if not line.startswith("  ")], answers
