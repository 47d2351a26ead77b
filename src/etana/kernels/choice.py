"""What to ask next, worked out for one instance: information per price, or the best plan of a few steps.

Likelihoods on a path of answers are those of the training rows that share it, shrunk towards naive Bayes::

    P(F = v | T_i, path) = (n_iv(path) + m P(v | T_i)) / (n_i(path) + m)

Candidates are passed over by bounds, without loss. The information about the class at belief pi is at most
sum_i pi_i KL(P_i || Q) for any Q. Where no row is left, or m is infinite, likelihoods are P(v | T_i), and Q is the mean
over the classes, or P_t of the likeliest class t: the nearer the belief is to certainty, the tighter that is. Where
rows share the path, their counts give a bound that takes no logarithm (:func:`bound_on_path`). The candidate whose
bound per price is largest is worked out first; few others have a bound above what it tells.

Symbols: C candidates (features that can be asked), N classes, V_c values of candidate c, G groups of prices, n training
rows. A candidate is known by its number, 0 to C - 1. ``used`` (C,) marks the candidates that are known already,
``bought`` (G,) counts the features of each group that were paid for, ``rows[:n_rows]`` are the training rows that share
the path, ``scratch`` is a :class:`Scratch`, ``belief`` (N,) sums to 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from etana.kernels.compiling import njit
from etana.kernels.rules import stop_cost
from etana.kernels.walk import update

SPENT, PRICE, AHEAD, BASIS = range(4)  # places in the facts of a state
N_BASIS = 8
RISK = BASIS + 1  # in units of the scale
INFORMATION = BASIS + 7  # as a share of log N
N_FACTS = BASIS + N_BASIS
_TINY = 1e-12
_SURELY = 1e-9  # rates that are apart by more than this share are in the same order whichever way they are rounded
_ROUNDING = 1e-13  # more than rounding can add to a bound
_RARE = 1e-100  # a chance that tells less than rounding


class Evidence(NamedTuple):
    """What answers say, on a path or without one.

    Attributes
    ----------
    codes : int (C, n)
        Training rows; -1 where a value is no evidence. Without rows (n = 0) every state is naive Bayes.
    classes, weights : int64, float64 (n,)
    offsets : int64 (C + 1,)
        Cells ``offsets[c]`` to ``offsets[c + 1]`` belong to candidate c.
    table : float64 (cells, N)
        P(v | T_i).
    negentropy : float64 (C, N)
        sum_v P(v | T_i) log P(v | T_i).
    by_class : float64 (N, cells)
        The table, class by class: loops over cells or candidates take several at a time.
    radius : float64 (N, C)
        KL(P_i || Q), Q the mean over the classes.
    apart : float64 (N, N, C)
        KL(P_i || P_t) at ``[t, i]``; (N, N, 0) where there is no room for it.
    by_row : int (n, C)
        The codes, row by row; (0, C) where rows are listed.
    gaps : bool (C,)
        Candidates of which the value of some training row is no evidence; (0,) if there are none.
    usual : int64 (C,)
        The code of each candidate that training rows are listed without.
    starts, others : int64 (n + 1,), int32 (codes,)
        Candidates of which training row r has another code than the usual one: ``others[starts[r]:starts[r + 1]]``.
        Empty where rows are not listed.
    m : float
        Strength of the shrinkage towards naive Bayes.
    """

    codes: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray
    table: np.ndarray
    negentropy: np.ndarray
    by_class: np.ndarray
    radius: np.ndarray
    apart: np.ndarray
    by_row: np.ndarray
    gaps: np.ndarray
    usual: np.ndarray
    starts: np.ndarray
    others: np.ndarray
    m: float


class Offers(NamedTuple):
    """What candidates cost, and in which order they are looked at.

    Attributes
    ----------
    full, discounted : float64 (C,)
        Prices; the discounted one holds once another feature of the group was bought.
    group : int64 (C,)
        -1 for none.
    rank : int64 (C,)
        Candidates in descending order of what they can tell at most per price.
    bound : float64 (C,)
        ``bound[r]`` is the most that candidate ``rank[r]``, or any after it, can tell per price.
    n_groups : int
    cheapest : float
        The least of all prices.
    """

    full: np.ndarray
    discounted: np.ndarray
    group: np.ndarray
    rank: np.ndarray
    bound: np.ndarray
    n_groups: int
    cheapest: float


class ChoiceTerms(NamedTuple):
    """When to stop, and how far to look ahead.

    Attributes
    ----------
    mistakes, regrets : float64 (N, N)
        Misclassification costs, and the same above the least of each row.
    rule : float64 (N_BASIS,)
        Coefficients of the stopping rule on the basis of :func:`describe`. Where steps are looked ahead, it says what
        lies beyond them; with zeros nothing does.
    scale : float
        The unit of the rule.
    floor : float
        A price below this counts as this when information is divided by it.
    least : float
        A state stops if its expected cost of a mistake is at most this many times the next price.
    deepest : int
        Most features that are asked.
    levels : int
        Steps that are looked ahead; 0 is information per price and the rule.
    budget : float
        Most that may be spent; what does not fit is not asked.
    """

    mistakes: np.ndarray
    regrets: np.ndarray
    rule: np.ndarray
    scale: float
    floor: float
    least: float
    deepest: int
    levels: int
    budget: float


class Scratch(NamedTuple):
    """What a state is worked out on; nothing of it outlasts a state.

    Attributes
    ----------
    belief : float64 (N,)
    used, bought : bool (C,), int64 (G,)
    rows : int64 (n,)
        Training rows that share the path; (0,) where m is infinite.
    cells : float64 (widest, N)
    tally : float64 (N, cells)
        Weights of the rows by class and cell; (N, 0) where m is infinite.
    totals : float64 (N,)
        The same by class.
    sums : float64 (4, cells)
        Of each cell: what a row weighs, what naive Bayes weighs, the chance, and how far classes are apart.
    most, other : float64 (C,)
        Bounds on the information of candidates.
    """

    belief: np.ndarray
    used: np.ndarray
    bought: np.ndarray
    rows: np.ndarray
    cells: np.ndarray
    tally: np.ndarray
    totals: np.ndarray
    sums: np.ndarray
    most: np.ndarray
    other: np.ndarray

    @classmethod
    def over(cls, evidence: Evidence, n_groups: int) -> Scratch:
        """For these candidates, classes and rows."""
        (n_cells, n), c = evidence.table.shape, evidence.offsets.size - 1
        n_rows, n_cells = (evidence.classes.size, n_cells) if evidence.m < np.inf else (0, 0)
        widest = int(np.diff(evidence.offsets).max(initial=1)) + 1
        return cls(
            np.empty(n), np.empty(c, dtype=bool), np.empty(n_groups, dtype=np.int64), np.empty(n_rows, dtype=np.int64),
            np.empty((widest, n)), np.empty((n, n_cells)), np.empty(n), np.empty((4, n_cells)), np.empty(c),
            np.empty(c),
        )  # fmt: skip


@njit(nogil=True, cache=True)
def narrow(codes, code, rows, n_rows, out):
    """Those of the rows that gave this answer, missing ones included; returns how many. ``codes`` (n,)."""
    count = 0
    for r in range(n_rows):
        # Codes of -1 match too: rows that could not answer either share the path.
        if codes[rows[r]] == code:
            out[count] = rows[r]
            count += 1
    return count


@njit(nogil=True, cache=True)
def count_rows(feature, rows, n_rows, evidence, cells):
    """Weights by answer and class of the rows that share the path; their sums by class stand behind the last answer."""
    codes, classes, weights, offsets = evidence.codes, evidence.classes, evidence.weights, evidence.offsets
    n_values = offsets[feature + 1] - offsets[feature]
    for v in range(n_values + 1):
        for i in range(cells.shape[1]):
            cells[v, i] = 0.0
    for r in range(n_rows):
        row = rows[r]
        code = codes[feature, row]
        if code >= 0:
            cells[code, classes[row]] += weights[row]
            cells[n_values, classes[row]] += weights[row]


@njit(nogil=True, cache=True)
def path_likelihoods(feature, rows, n_rows, evidence, cells):
    """P(v | T_i, path) of one feature, for the rows that share the path; ``cells`` has room for one value more."""
    table, m, first, last = evidence.table, evidence.m, evidence.offsets[feature], evidence.offsets[feature + 1]
    on_path = n_rows > 0 and m < np.inf
    if on_path:
        count_rows(feature, rows, n_rows, evidence, cells)
    for v in range(last - first):
        for i in range(table.shape[1]):
            total = cells[last - first, i] + m
            # With m = 0 a class that has no row here says nothing, and naive Bayes stands in.
            if on_path and total > 0:
                cells[v, i] = (cells[v, i] + m * table[first + v, i]) / total
            else:
                cells[v, i] = table[first + v, i]


@njit(nogil=True, cache=True)
def answer(logs, log_likelihood):
    """Take an answer into a log belief (N,); one that rows on the path rule out for every class leaves it as it is."""
    # With m = 0 rows can rule an answer out for every class; a belief must stay one.
    possible = False
    for i in range(logs.size):
        possible |= logs[i] + log_likelihood[i] > -np.inf
    if possible:
        update(logs, log_likelihood)


@njit(nogil=True, cache=True)
def take_logarithms(numbers):
    """Replace numbers (n, V, N) by their logarithms: those of compiled loops, which NumPy's need not equal."""
    for r in range(numbers.shape[0]):
        for v in range(numbers.shape[1]):
            for i in range(numbers.shape[2]):
                numbers[r, v, i] = np.log(numbers[r, v, i])


@njit(nogil=True, cache=True)
def information(belief, cells, n_values):
    """Mutual information of the class and a feature with these likelihoods, in nats."""
    total = 0.0
    for v in range(n_values):
        chance = 0.0
        for i in range(belief.size):
            joint = belief[i] * cells[v, i]
            chance += joint
            # Entropy of the answers less that given the class: sum_iv pi_i P(v|i) log P(v|i) - sum_v P(v) log P(v).
            if joint > 0:
                total += joint * np.log(cells[v, i])
        if chance > 0:
            total -= chance * np.log(chance)
    return max(total, 0.0)


@njit(nogil=True, cache=True)
def marginal_information(belief, feature, offsets, table, negentropy):
    """The same at naive Bayes' likelihoods, with one logarithm per value."""
    total = 0.0
    for i in range(belief.size):
        total += belief[i] * negentropy[feature, i]
    # sum_v P(v|i) log P(v|i) does not depend on the belief and is at hand: logarithms are what takes time here.
    for cell in range(offsets[feature], offsets[feature + 1]):
        chance = 0.0
        for i in range(belief.size):
            chance += belief[i] * table[cell, i]
        if chance > 0:
            total -= chance * np.log(chance)
    return max(total, 0.0)


@njit(nogil=True, cache=True)
def price_of(feature, bought, offers):
    """What a feature costs now: its discounted price once another of its group was bought."""
    group = offers.group[feature]
    return offers.discounted[feature] if group >= 0 and bought[group] > 0 else offers.full[feature]


@njit(nogil=True, cache=True)
def tally_rows(rows, n_rows, evidence, scratch):
    """Weights of the rows of a path by class and cell, and by class."""
    by_row, offsets, starts, others = evidence.by_row, evidence.offsets, evidence.starts, evidence.others
    tally, totals = scratch.tally, scratch.totals
    tally[:] = 0.0
    totals[:] = 0.0
    for r in range(n_rows):
        row = rows[r]
        i, weight = evidence.classes[row], evidence.weights[row]
        totals[i] += weight
        if starts.size == 0:
            for feature in range(by_row.shape[1]):
                code = by_row[row, feature]
                if code >= 0:
                    tally[i, offsets[feature] + code] += weight
        else:
            for place in range(starts[row], starts[row + 1]):
                feature = others[place]
                tally[i, offsets[feature] + evidence.codes[feature, row]] += weight
    if starts.size > 0:
        add_usual(evidence, tally, totals)


@njit(nogil=True, cache=True)
def add_usual(evidence, tally, totals):
    """Tally rows where they are listed without a candidate, for they have its usual code: what the others leave."""
    offsets, usual = evidence.offsets, evidence.usual
    for i in range(totals.size):
        for feature in range(usual.size):
            rest = totals[i]
            for cell in range(offsets[feature], offsets[feature + 1]):
                rest -= tally[i, cell]
            tally[i, offsets[feature] + usual[feature]] = rest


@njit(nogil=True, cache=True)
def share(i, evidence, scratch):
    """What a row of a class weighs in the likelihoods of each cell, 1 / (n_i + m), and naive Bayes, m / (n_i + m)."""
    offsets, gaps, m, tally, seen, kept = (
        evidence.offsets, evidence.gaps, evidence.m, scratch.tally, scratch.sums[0], scratch.sums[1]
    )  # fmt: skip
    whole = scratch.totals[i] + m
    # With m = 0 a class that has no row here says nothing, and naive Bayes stands in.
    seen[:] = 1.0 / whole if whole > 0 else 0.0
    kept[:] = m / whole if whole > 0 else 1.0
    for feature in range(gaps.size):
        if gaps[feature]:
            # Rows that have a value of this candidate.
            whole = m
            for cell in range(offsets[feature], offsets[feature + 1]):
                whole += tally[i, cell]
            for cell in range(offsets[feature], offsets[feature + 1]):
                seen[cell] = 1.0 / whole if whole > 0 else 0.0
                kept[cell] = m / whole if whole > 0 else 1.0


@njit(nogil=True, cache=True)
def bound_on_path(belief, evidence, scratch):
    """Bounds on the :func:`information` of all candidates for rows that are tallied, which the tally does not outlast.

    Information is the mean over the belief of KL(P_i || P), P being the mean of the P_i, and for x = P_i / P
    x log x - x + 1 is at most (x - 1)^2 / (1 + y), y = min(x, 1), which is at most (x - 1)^2 (1 - y / 2).
    """
    by_class, offsets, likelihoods, most = evidence.by_class, evidence.offsets, scratch.tally, scratch.most
    seen, kept, chances, spread = scratch.sums[0], scratch.sums[1], scratch.sums[2], scratch.sums[3]
    chances[:] = _RARE
    spread[:] = 0.0
    for i in range(belief.size):
        share(i, evidence, scratch)
        for cell in range(chances.size):
            likelihoods[i, cell] = likelihoods[i, cell] * seen[cell] + by_class[i, cell] * kept[cell]
            chances[cell] += belief[i] * likelihoods[i, cell]
    for i in range(belief.size):
        for cell in range(chances.size):
            chance, likelihood = chances[cell], likelihoods[i, cell]
            apart = likelihood - chance
            spread[cell] += belief[i] * apart * apart * (2.0 * chance - min(likelihood, chance))
    for feature in range(most.size):
        total = 0.0
        for cell in range(offsets[feature], offsets[feature + 1]):
            total += spread[cell] / (2.0 * chances[cell] * chances[cell])
        most[feature] = total * (1.0 + _SURELY) + _ROUNDING


@njit(nogil=True, cache=True)
def bound_without_rows(belief, evidence, scratch):
    """Bounds on the :func:`marginal_information` of all candidates: sum_i pi_i KL(P_i || Q) for the mean over the
    classes and for the likeliest of them."""
    radius, apart, most, other = evidence.radius, evidence.apart, scratch.most, scratch.other
    top = 0
    most[:] = 0.0
    other[:] = np.inf if apart.shape[2] == 0 else 0.0
    for i in range(belief.size):
        if belief[i] > belief[top]:
            top = i
        for feature in range(most.size):
            most[feature] += belief[i] * radius[i, feature]
    for i in range(belief.size):
        for feature in range(apart.shape[2]):
            other[feature] += belief[i] * apart[top, i, feature]
    for feature in range(most.size):
        most[feature] = min(most[feature], other[feature]) * (1.0 + _SURELY) + _ROUNDING


@njit(nogil=True, cache=True)
def told_by(belief, feature, rows, n_rows, evidence, cells):
    """What a candidate tells about the class at a state."""
    offsets = evidence.offsets
    if n_rows == 0 or evidence.m == np.inf:
        return marginal_information(belief, feature, offsets, evidence.table, evidence.negentropy)
    path_likelihoods(feature, rows, n_rows, evidence, cells)
    return information(belief, cells, offsets[feature + 1] - offsets[feature])


@njit(nogil=True, cache=True)
def most_promising(used, bought, marginal, offers, floor, left, most):
    """The candidate whose bound per price is largest, -1 if there is none."""
    best, best_rate = -1, 0.0
    for r in range(offers.rank.size):
        feature = offers.rank[r]
        if marginal and offers.bound[r] <= best_rate:
            break  # candidates come in descending order of a bound that holds at every belief
        price = price_of(feature, bought, offers)
        if not used[feature] and price <= left and most[feature] > best_rate * max(price, floor):
            best, best_rate = feature, most[feature] / max(price, floor)
    return best


@njit(nogil=True, cache=True)
def choose(belief, used, bought, rows, n_rows, evidence, offers, floor, left, scratch):
    """The feature with most information per price (a price below ``floor`` counts as that), its information and its
    price; -1 if none that is left, and costs no more than is ``left`` of the money, tells anything or is free."""
    rank, bound, cells, most = offers.rank, offers.bound, scratch.cells, scratch.most
    marginal = n_rows == 0 or evidence.m == np.inf
    if marginal:
        bound_without_rows(belief, evidence, scratch)
    else:
        tally_rows(rows, n_rows, evidence, scratch)
        bound_on_path(belief, evidence, scratch)
    probe, probed, reached = most_promising(used, bought, marginal, offers, floor, left, most), 0.0, 0.0
    if probe >= 0:
        probed = told_by(belief, probe, rows, n_rows, evidence, cells)
        if probed > _TINY:
            reached = probed / max(price_of(probe, bought, offers), floor) * (1 - _SURELY)
    best, best_rate, best_gain, best_price = -1, 0.0, 0.0, 0.0
    free = -1
    # In the order of rank, for the first of equal candidates wins: the probe is one of them.
    for r in range(rank.size):
        if marginal and bound[r] <= reached:
            break
        feature = rank[r]
        price = price_of(feature, bought, offers)
        if used[feature] or price > left:
            continue
        per = max(price, floor)
        if price == 0.0 and free < 0:
            free = feature
        if most[feature] <= reached * per:
            continue
        gain = probed if feature == probe else told_by(belief, feature, rows, n_rows, evidence, cells)
        # The same arithmetic as InstanceChoice does for other beliefs: to twelve digits, then the first wins.
        if gain > _TINY and gain / per > best_rate * (1 + _TINY):
            best, best_rate, best_gain, best_price = feature, gain / per, gain, price
            reached = max(reached, best_rate)
    if best < 0:
        best = free  # near certainty, gains drown in rounding; what costs nothing is asked all the same
    return best, best_gain, best_price


@njit(nogil=True, cache=True)
def describe(belief, mistakes, scale, price, gain, facts):
    """The basis of the stopping rule: 1, g, entropy, Gini index, roots and squares, the next price and information."""
    # In units of the scale and of log N: another currency or more classes leaves them of the same size.
    entropy, gini = 0.0, 1.0
    for i in range(belief.size):
        if belief[i] > 0:
            entropy -= belief[i] * np.log(belief[i])
        gini -= belief[i] * belief[i]
    whole = np.log(max(belief.size, 2))
    g = max(stop_cost(belief, mistakes) / scale, 0.0)
    entropy = max(entropy / whole, 0.0)
    facts[BASIS] = 1.0
    facts[BASIS + 1] = g
    facts[BASIS + 2] = entropy
    facts[BASIS + 3] = gini
    facts[BASIS + 4] = np.sqrt(g)
    facts[BASIS + 5] = entropy * entropy
    facts[BASIS + 6] = price / scale
    facts[BASIS + 7] = gain / whole
    facts[PRICE] = price


@njit(nogil=True, cache=True)
def advantage(facts, rule):
    """What going on is expected to cost beyond stopping, by the rule, in units of the scale."""
    total = 0.0
    for b in range(N_BASIS):
        total += rule[b] * facts[BASIS + b]
    return total


@njit(nogil=True, cache=True)
def walk_back(rule, basis, risks, prices, spent, lengths, ends, to_go):
    """Walks under a rule: the state at which one that has come to a state ends, ``ends`` (S,), and what it pays from
    there, ``to_go`` (S,). States (S,) stand walk after walk, as many as ``lengths`` says; ``basis`` is (S, B)."""
    state = risks.size
    for walk in range(lengths.size - 1, -1, -1):
        # A walk stops at its last state at the latest: there was nothing more to ask.
        end = state - 1
        for _ in range(lengths[walk]):
            state -= 1
            total = 0.0
            for b in range(basis.shape[1]):
                total += rule[b] * basis[state, b]
            if prices[state] > 0.0 and not (total < 0.0 and risks[state] > prices[state]):
                end = state
            ends[state] = end
            # What was spent at the end less what was spent here are the prices in between.
            to_go[state] = risks[end] + (spent[end] - spent[state])


@njit(nogil=True, cache=True)
def sum_extra(basis, weights, risks, prices, to_go, sums):
    """Weighted sums (B,) of the basis times what going on has cost beyond stopping, over the states that weigh
    anything; the last state of a walk does not."""
    sums[:] = 0.0
    for state in range(risks.size - 1):
        if weights[state] > 0.0:
            extra = weights[state] * (prices[state] + to_go[state + 1] - risks[state])
            for b in range(basis.shape[1]):
                sums[b] += extra * basis[state, b]


@njit(nogil=True, cache=True)
def estimate(stop, price, facts, rule, scale):
    """What going on is expected to cost by the rule, kept between what is certain: at least the price, at most what
    stopping costs."""
    return min(max(stop + scale * advantage(facts, rule), min(price, stop)), stop)


class Plans(NamedTuple):
    """What plans are worked out on, a row for each of their steps, and whether they may go on where they end.

    Attributes
    ----------
    after : float64 (steps, N)
        Belief after an answer.
    inside : int64 (steps, n)
        Rows that gave it.
    own : float64 (steps, widest, N)
        Likelihoods of all answers.
    chances, least : float64 (steps, widest)
        Of each answer: its chance, and what it and those after it add to the cost at least.
    facts : float64 (N_FACTS,)
    beyond : bool
    """

    after: np.ndarray
    inside: np.ndarray
    own: np.ndarray
    chances: np.ndarray
    least: np.ndarray
    facts: np.ndarray
    beyond: bool


@njit(nogil=True, cache=True, forceinline=True)  # a call passes all these arrays, which takes as long as the work
def leaf_cost(belief, rows, used, bought, left, evidence, offers, setting, scratch, plans):
    """What a state is worth where a plan ends: stopping, or going on by information and the rule if that is less.

    Answers are those of naive Bayes: how many rows share a path that nobody has walked is not looked up.
    """
    stop = stop_cost(belief, setting.mistakes)
    if stop <= offers.cheapest:
        return stop
    none = np.int64(0)  # a literal would be a type of its own, for which all that is called is compiled once more
    feature, gain, price = choose(belief, used, bought, rows, none, evidence, offers, setting.floor, left, scratch)
    if feature < 0 or stop <= price:
        return stop
    describe(belief, setting.mistakes, setting.scale, price, gain, plans.facts)
    return estimate(stop, price, plans.facts, setting.rule, setting.scale)


@njit(nogil=True, cache=True)
def foresee(belief, own, n_values, cheapest, mistakes, after, chances, least):
    """The chance of each answer, and what the answers from each one on add at least to the cost of a plan: an answer is
    followed by a decision or by a price."""
    least[n_values] = 0.0
    for v in range(n_values - 1, -1, -1):
        chances[v] = 0.0
        for i in range(belief.size):
            after[i] = belief[i] * own[v, i]
            chances[v] += after[i]
        # What a decision costs is linear in the belief, so that the chance is in it already.
        least[v] = least[v + 1] + min(stop_cost(after, mistakes), chances[v] * cheapest)


@njit(nogil=True, cache=True)
def look_ahead(belief, rows, used, bought, levels, most, left, evidence, offers, setting, scratch, plans):
    """Least expected cost of plans of up to ``levels`` features, at least one, that cost no more than is ``left``, the
    first feature of the best (-1 to stop), and its price.

    ``rows`` are those that share the path. A plan is given up as soon as it surely costs more than the best one so far,
    or than ``most``: the caller has no use for it, and what is returned where all are given up is more than that.
    """
    offsets, group, n_classes, step = evidence.offsets, offers.group, belief.size, levels - 1
    after, inside, own = plans.after[step], plans.inside[step], plans.own[step]
    chances, least = plans.chances[step], plans.least[step]
    best, best_feature, least_price = stop_cost(belief, setting.mistakes), -1, 0.0
    limit = min(best, most) * (1 + _SURELY)
    for feature in offers.rank:
        price = price_of(feature, bought, offers)
        # Going on costs at least the price, whatever the answers are.
        if used[feature] or price >= limit or price > left:
            continue
        n_values = offsets[feature + 1] - offsets[feature]
        path_likelihoods(feature, rows, rows.size, evidence, own)
        foresee(belief, own, n_values, offers.cheapest, setting.mistakes, after, chances, least)
        used[feature] = True
        if group[feature] >= 0:
            bought[group[feature]] += 1
        total = price
        for v in range(n_values):
            if total + least[v] >= limit:
                total = np.inf
                break
            chance = chances[v]
            if chance <= 0.0:
                continue
            for i in range(n_classes):
                after[i] = belief[i] * own[v, i] / chance
            if step > 0:
                n_inside = narrow(evidence.codes[feature], v, rows, rows.size, inside)
                ahead, _, _ = look_ahead(
                    after, inside[:n_inside], used, bought, step, (limit - total - least[v + 1]) / chance,
                    left - price, evidence, offers, setting, scratch, plans,
                )  # fmt: skip
            elif plans.beyond:
                ahead = leaf_cost(after, rows, used, bought, left - price, evidence, offers, setting, scratch, plans)
            else:
                ahead = stop_cost(after, setting.mistakes)
            total += chance * ahead
        used[feature] = False
        if group[feature] >= 0:
            bought[group[feature]] -= 1
        if total < best * (1 - _TINY):
            best, best_feature, least_price = total, feature, price
            limit = min(limit, total * (1 + _SURELY))
    return best, best_feature, least_price


@njit(nogil=True, cache=True)
def plan(belief, used, bought, depth, rows, n_rows, evidence, offers, setting, left, scratch):
    """The first feature of the best plan of so many steps (-1: stop), its information, its price, and what the plan
    is expected to cost."""
    more = setting.deepest - depth  # features that may still be asked
    steps, cells = max(min(setting.levels, more), 0), scratch.cells
    plans = Plans(
        np.empty((steps, belief.size)), np.empty((steps, n_rows), np.int64), np.empty((steps, *cells.shape)),
        np.empty((steps, len(cells))), np.empty((steps, len(cells))), np.empty(N_FACTS),
        more > setting.levels and setting.rule.any(),
    )  # fmt: skip
    ahead, feature, price = stop_cost(belief, setting.mistakes), -1, 0.0
    if steps > 0:
        ahead, feature, price = look_ahead(
            belief, rows[:n_rows], used, bought, steps, np.inf, left, evidence, offers, setting, scratch, plans
        )
    if feature < 0:
        for candidate in offers.rank:  # what costs nothing is asked, whether it can change the decision or not
            if not used[candidate] and price_of(candidate, bought, offers) == 0.0:
                feature, price = candidate, 0.0
                break
        if feature < 0:
            return feature, 0.0, 0.0, ahead
    offsets = evidence.offsets
    path_likelihoods(feature, rows, n_rows, evidence, cells)
    return feature, information(belief, cells, offsets[feature + 1] - offsets[feature]), price, ahead


@njit(nogil=True, cache=True)
def stops(facts, depth, setting):
    """Whether to stop although there is something to ask.

    By the rule, where going on is expected to cost no less than stopping; a plan has seen to that itself. A free
    feature is always asked; none that costs more than ``g / least`` ever is.
    """
    if depth >= setting.deepest:
        return True
    if facts[PRICE] == 0.0:
        return False
    # No answer can save more than the risk: J >= 0 in the paper's Theorem 2.
    if facts[RISK] <= setting.least * facts[BASIS + 6]:
        return True
    return setting.levels == 0 and advantage(facts, setting.rule) >= 0.0


@njit(nogil=True, cache=True)
def settle(belief, used, bought, depth, rows, n_rows, evidence, offers, setting, scratch, facts):
    """What to do at a state: fills its facts (N_FACTS,), and returns the feature (-1 if none is left) and whether to
    stop. What was spent stands in the facts already."""
    ahead, left = 0.0, setting.budget - facts[SPENT]
    if setting.levels > 0:
        feature, gain, price, ahead = plan(
            belief, used, bought, depth, rows, n_rows, evidence, offers, setting, left, scratch
        )
    else:
        feature, gain, price = choose(
            belief, used, bought, rows, n_rows, evidence, offers, setting.floor, left, scratch
        )
    describe(belief, setting.mistakes, setting.scale, price, gain, facts)
    stop = stop_cost(belief, setting.mistakes)
    if feature < 0 or stops(facts, depth, setting):
        facts[AHEAD] = stop
        return feature, True
    facts[AHEAD] = ahead if setting.levels > 0 else estimate(stop, price, facts, setting.rule, setting.scale)
    return feature, False
