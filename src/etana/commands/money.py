"""Sums of money for people and for files."""

from __future__ import annotations

from decimal import Decimal

__all__ = ["money"]

_DIGITS = 12  # significant ones; the rest of a sum is what adding binary fractions leaves


def money(value: float) -> str:
    """A sum without what binary fractions add to it, and without an exponent.

    Examples
    --------
    >>> from etana.commands.money import money
    >>> money(100.5 + 16.67), money(0.1 + 0.2), money(1234567.89), money(7.0), money(0.00001)
    ('117.17', '0.3', '1234567.89', '7', '0.00001')
    """
    return f"{Decimal(f'{float(value):.{_DIGITS}g}'):f}"
