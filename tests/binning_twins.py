"""Bins and codes in plain Python: slow, obvious, one column at a time, rows repeated in place of weights."""

import math
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import pairwise

LARGEST = sys.float_info.max


def middle(low, high):
    """The halfway point, kept off ``low`` and off infinity where floats allow it."""
    a, b = max(low, -LARGEST), min(high, LARGEST)
    cut = a + (b - a) / 2 if b - a < math.inf else a / 2 + b / 2
    return cut if low < cut <= high else high


def uniform_twin(values, bins, rounded):
    finite = [v for v in values if math.isfinite(v)]
    if not finite or min(finite) == max(finite):
        return []
    low, high = min(finite), max(finite)
    if rounded:
        low, high = float(math.floor(low)), float(math.ceil(high))
    edges = [low + (high - low) * b / bins for b in range(1, bins)]
    return [e for e, before in zip(edges, [low, *edges]) if e > before]


def quantile_twin(values, bins):
    mass = Counter(values)
    distinct = sorted(mass)
    if len(distinct) <= bins:
        return [middle(a, b) for a, b in pairwise(distinct)]
    edges, start, n = [], 0, len(values)
    seen = 0
    for a, b in pairwise(distinct):
        seen += mass[a]
        # The bin is full once it has an even share of what was left when it began.
        if len(edges) < bins - 1 and Fraction(seen - start) >= Fraction(n - start, bins - len(edges)):
            edges.append(middle(a, b))
            start = seen
    return edges


def information(rows):
    """n H(class) in bits, and the number of classes."""
    counts = Counter(rows)
    n = sum(counts.values())
    return -sum(c * math.log2(c / n) for c in counts.values()), len(counts)


def cut_twin(parts):
    """Place and worth of the best cut of a list of lists of classes; (None, 0) if none pays."""
    rows = [c for part in parts for c in part]
    h, k = information(rows)
    best = None
    for place in range(1, len(parts)):
        left = [c for part in parts[:place] for c in part]
        right = [c for part in parts[place:] for c in part]
        (h1, k1), (h2, k2) = information(left), information(right)
        if best is None or h1 + h2 < best[0] - 1e-9:
            sides = k * h / len(rows) - k1 * h1 / len(left) - k2 * h2 / len(right)
            price = math.log2(len(rows) - 1) + math.log2(3**k - 2) - sides
            best = h1 + h2, place, h - h1 - h2 - price
    return (best[1], best[2]) if best and k > 1 and best[2] > 1e-9 else (None, 0.0)


def supervised_twin(values, classes, bins):
    fine = quantile_twin(values, 256)
    parts = defaultdict(list)
    for v, c in zip(values, classes):
        parts[sum(e <= v for e in fine)].append(c)
    parts = [parts[b] for b in range(len(fine) + 1)]
    ranges = [(0, len(parts))]
    while len(ranges) < bins:
        cuts = [cut_twin(parts[a:b]) for a, b in ranges]
        worth, pick = max((w, -i) for i, (_, w) in enumerate(cuts))
        if worth <= 0:
            break
        a, b = ranges[-pick]
        place = a + cuts[-pick][0]
        ranges[-pick] = (a, place)
        ranges.append((place, b))
    return [fine[a - 1] for a, _ in sorted(ranges)[1:]]


def edges_twin(method, values, classes, bins):
    pairs = [(v, c) for v, c in zip(values, classes) if not math.isnan(v)]
    values, classes = [v for v, _ in pairs], [c for _, c in pairs]
    if not values:
        return []
    if method == "quantile":
        return quantile_twin(values, bins)
    if method == "supervised":
        return supervised_twin(values, classes, bins)
    return uniform_twin(values, bins, method == "published")


def code_twin(value, edges, missing):
    return missing if math.isnan(value) else sum(e <= value for e in edges)
