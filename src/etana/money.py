"""Sums of money for people and for files."""

from __future__ import annotations

from decimal import Decimal

__all__ = ["about", "money"]

_DIGITS = 12  # significant ones; the rest of a sum is what adding binary fractions leaves


def money(value: float) -> str:
    """A sum without what binary fractions add to it, and without an exponent.

    Examples
    --------
    >>> from etana.money import money
    >>> money(100.5 + 16.67), money(0.1 + 0.2), money(1234567.89), money(7.0), money(0.00001)
    ('117.17', '0.3', '1234567.89', '7', '0.00001')
    """
    return f"{Decimal(f'{float(value):.{_DIGITS}g}'):f}"


def about(value: float, digits: int = 4) -> str:
    """A sum to so many significant digits, for reading: thousands are marked, and there is no exponent.

    Examples
    --------
    >>> from etana.money import about
    >>> about(20999.6), about(1234567.0), about(0.123456), about(0.00001234), about(12.0)
    ('21,000', '1,235,000', '0.1235', '0.00001234', '12')
    """
    return f"{Decimal(f'{float(value):.{digits}g}'):,f}"
