"""How much a feature tells about the class, and where to cut it so that it tells most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit


class Entries(NamedTuple):
    """Room for the parts between which a column may be cut; see :func:`supervised_cuts`.

    ``classes`` int64 and ``weights`` float64 have room for every class in every fine bin, ``starts`` and ``firsts``,
    int64, for one more than there are fine bins.
    """

    classes: np.ndarray
    weights: np.ndarray
    starts: np.ndarray
    firsts: np.ndarray


class Sides(NamedTuple):
    """Room for :func:`best_cut`, float64 (N,) each: weights by class left and right of a cut, w log2 w of both, and
    how many entries of each class still lie ahead."""

    left: np.ndarray
    right: np.ndarray
    left_terms: np.ndarray
    right_terms: np.ndarray
    ahead: np.ndarray


@njit(nogil=True, cache=True)
def error_scores(counts, offsets, scores):
    """Sum over classes of the type I and type II errors of the maximum-likelihood decision, class against rest."""
    n = counts.shape[1]
    seen = np.empty(n)
    for k in range(offsets.size - 1):
        values = offsets[k + 1] - offsets[k]
        for i in range(n):
            seen[i] = 0.0
        for cell in range(offsets[k], offsets[k + 1]):
            for i in range(n):
                seen[i] += counts[cell, i]
        everyone = 0.0
        for i in range(n):
            everyone += seen[i]
        total = 0.0
        for cell in range(offsets[k], offsets[k + 1]):
            all_here = 0.0
            for i in range(n):
                all_here += counts[cell, i]
            for i in range(n):
                own = (counts[cell, i] + 1.0) / (seen[i] + values)
                rest = (all_here - counts[cell, i] + 1.0) / (everyone - seen[i] + values)
                total += min(own, rest)
        scores[k] = total


@njit(nogil=True, cache=True)
def variance_scores(likelihoods, offsets, scores):
    """Sum over values of the variance over classes of P(F = v | T_i)."""
    n = likelihoods.shape[1]
    for k in range(offsets.size - 1):
        total = 0.0
        for cell in range(offsets[k], offsets[k + 1]):
            mean = 0.0
            for i in range(n):
                mean += likelihoods[cell, i]
            mean /= n
            spread = 0.0
            for i in range(n):
                spread += (likelihoods[cell, i] - mean) ** 2
            total += spread / n
        scores[k] = total


@njit(nogil=True, cache=True)
def information_scores(likelihoods, offsets, priors, scores):
    """Mutual information of feature and class, in nats."""
    n = likelihoods.shape[1]
    for k in range(offsets.size - 1):
        total = 0.0
        for cell in range(offsets[k], offsets[k + 1]):
            mixed = 0.0
            for i in range(n):
                mixed += priors[i] * likelihoods[cell, i]
            for i in range(n):
                joint = priors[i] * likelihoods[cell, i]
                if joint > 0.0:
                    total += joint * np.log(likelihoods[cell, i] / mixed)
        scores[k] = max(total, 0.0)


@njit(nogil=True, cache=True)
def gather_cells(cells, offsets, order, new_offsets, out):
    """Copy the cells of features in a new order."""
    for k in range(order.size):
        start = offsets[order[k]]
        for cell in range(new_offsets[k + 1] - new_offsets[k]):
            for i in range(cells.shape[1]):
                out[new_offsets[k] + cell, i] = cells[start + cell, i]


@njit(nogil=True, cache=True)
def xlogx(x, table):
    """x log2 x, looked up where x is a small whole number."""
    i = int(x)
    if i < table.size and i == x:
        return table[i]
    return x * np.log2(x) if x > 0.0 else 0.0


@njit(nogil=True, cache=True)
def best_cut(classes, weights, starts, first, last, table, sides):
    """The cut of parts first..last-1 that leaves least class information, if its gain pays for itself.

    Part p holds the entries starts[p]..starts[p + 1] - 1, each a class and its weight. With h = n H(class) in bits
    and k classes present, the price of a cut is the description length of Fayyad and Irani: log2(n - 1) for its
    place and log2(3^k - 2) - (k H - k1 H1 - k2 H2) for the classes on its two sides. Returns the first part on the
    right and the bits gained, or (first, 0) if no cut pays.
    """
    left, right, left_terms, right_terms, ahead = sides
    for i in range(left.size):
        left[i], right[i], left_terms[i], ahead[i] = 0.0, 0.0, 0.0, 0.0
    n, k, inner = 0.0, 0, 0.0
    for e in range(starts[first], starts[last]):
        k += ahead[classes[e]] == 0.0
        ahead[classes[e]] += 1.0
        right[classes[e]] += weights[e]
        n += weights[e]
    if k < 2:
        return first, 0.0
    for i in range(right.size):
        right_terms[i] = xlogx(right[i], table)
        inner += right_terms[i]
    whole = xlogx(n, table)
    h, slack = whole - inner, 1e-12 * abs(whole)
    place, least, gain_less_price = first, np.inf, 0.0
    three_to_k = k * np.log2(3.0) + np.log2(1.0 - 2.0 * 3.0**-k)
    n1, k1, k2, inner1, inner2 = 0.0, 0, k, 0.0, inner
    for p in range(first, last - 1):
        for e in range(starts[p], starts[p + 1]):
            i, w = classes[e], weights[e]
            k1 += left[i] == 0.0
            ahead[i] -= 1.0
            k2 -= ahead[i] == 0.0
            left[i] += w
            right[i] = right[i] - w if ahead[i] > 0.0 else 0.0
            n1 += w
            term = xlogx(left[i], table)
            inner1 += term - left_terms[i]
            left_terms[i] = term
            term = xlogx(right[i], table)
            inner2 += term - right_terms[i]
            right_terms[i] = term
        n2 = n - n1
        h1 = xlogx(n1, table) - inner1 if k1 > 1 else 0.0
        h2 = xlogx(n2, table) - inner2 if k2 > 1 else 0.0
        if h1 + h2 < least - slack:
            place, least = p + 1, h1 + h2
            price = np.log2(max(n - 1.0, 1.0)) + three_to_k - (k * h / n - k1 * h1 / n1 - k2 * h2 / n2)
            gain_less_price = h - least - price
    return (place, gain_less_price) if gain_less_price > slack else (first, 0.0)


@njit(nogil=True, cache=True)
def supervised_cuts(histogram, fine, most, table, entries, sides, kept):
    """Fine edges to keep: the range whose cut gains most is cut first, while cuts pay and room is left.

    ``histogram`` float64 (>= fine, N) are the weights by fine bin and class, which become those of the bins between
    the edges that are kept; ``table`` is x log2 x of whole numbers, ``kept`` int64 (>= most - 1,) takes the result, the
    number of which is returned; at most ``most`` bins are made.

    Neighbouring fine bins that hold one and the same class are one part: the best cut never lies inside it (Fayyad and
    Irani's theorem).
    """
    classes, weights, starts, firsts = entries
    parts, e, alone = np.int64(0), 0, -1
    for b in range(fine):
        begin, seen, only = e, 0, -1
        for i in range(histogram.shape[1]):
            if histogram[b, i] > 0.0:
                classes[e], weights[e] = i, histogram[b, i]
                e += 1
                seen += 1
                only = i
        if seen == 1 and only == alone:
            e = begin
            weights[e - 1] += histogram[b, only]
        elif seen > 0:
            starts[parts], firsts[parts] = begin, b
            parts += 1
            alone = only if seen == 1 else -1
    starts[parts], firsts[parts] = e, fine
    n_kept, first = cut_parts(entries, parts, most, table, sides, kept), 0
    for p in range(n_kept + 1):
        last = kept[p] + 1 if p < n_kept else fine
        for i in range(histogram.shape[1]):
            histogram[p, i] = histogram[first, i]
            for b in range(first + 1, last):
                histogram[p, i] += histogram[b, i]
        first = last
    return n_kept


@njit(nogil=True, cache=True)
def cut_parts(entries, parts, most, table, sides, kept):
    """Cuts of so many parts; ``firsts`` of the entries are the first fine bins of each, ``kept`` the edges before."""
    classes, weights, starts, firsts = entries
    begins, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    place, gain = np.empty(most, np.int64), np.empty(most)
    begins[0], ends[0], ranges = 0, parts, 1
    new, last = 0, 0  # ranges whose best cuts are not known yet
    while True:
        # One call, whichever range it is for: what is called is compiled once more wherever it is called.
        while new <= last:
            place[new], gain[new] = best_cut(classes, weights, starts, begins[new], ends[new], table, sides)
            new = last if new < last else last + 1
        if ranges >= most:
            break
        pick = 0
        for p in range(1, ranges):
            if gain[p] > gain[pick]:
                pick = p
        if gain[pick] <= 0.0:
            break
        begins[ranges], ends[ranges] = place[pick], ends[pick]
        ends[pick] = place[pick]
        new, last = pick, ranges
        ranges += 1
    # A few places, sorted by insertion: the library's sort takes a second to compile.
    for p in range(1, ranges):
        edge, at = firsts[begins[p]] - 1, p - 1
        while at > 0 and kept[at - 1] > edge:
            kept[at] = kept[at - 1]
            at -= 1
        kept[at] = edge
    return ranges - 1
