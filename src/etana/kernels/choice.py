"""What to ask next, worked out for one instance: information per price, or the best plan of a few steps.

Likelihoods on a path of answers are those of the training rows that share it, shrunk towards naive Bayes::

    P(F = v | T_i, path) = (n_iv(path) + m P(v | T_i)) / (n_i(path) + m)

Where no row is left, or m is infinite, they are P(v | T_i), and candidates are pruned without loss: the information
about the class at belief pi is at most sum_i pi_i KL(P_i || Q) for any Q, with Q the mean over the classes here.

Symbols: C candidates (features that can be asked), N classes, V_c values of candidate c, G groups of prices, n training
rows. A candidate is known by its number, 0 to C - 1. ``used`` (C,) marks the candidates that are known already,
``bought`` (G,) counts the features of each group that were paid for, ``rows[:n_rows]`` are the training rows that share
the path, ``cells`` (widest, N) is scratch, ``belief`` (N,) sums to 1.
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
_FEW = 4  # classes


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
    radius : float64 (C, N)
        KL(P_i || Q), Q the mean over the classes.
    usual : int64 (C,)
        The code of each candidate that training rows are listed without.
    starts, others : int64 (n + 1,), int32 (codes,)
        Candidates of which training row r has another code than the usual one: ``others[starts[r]:starts[r + 1]]``.
        Empty where rows are not listed.
    idle : float64 (C,)
        KL(usual || Q), of rows that all have the usual code.
    m : float
        Strength of the shrinkage towards naive Bayes.
    """

    codes: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray
    table: np.ndarray
    negentropy: np.ndarray
    radius: np.ndarray
    usual: np.ndarray
    starts: np.ndarray
    others: np.ndarray
    idle: np.ndarray
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
def shrink(feature, evidence, cells):
    """Turn the weights of :func:`count_rows` into P(v | T_i, path), in place."""
    offsets, table, m = evidence.offsets, evidence.table, evidence.m
    first, last = offsets[feature], offsets[feature + 1]
    for v in range(last - first):
        for i in range(table.shape[1]):
            total = cells[last - first, i] + m
            # With m = 0 a class that has no row here says nothing, and naive Bayes stands in.
            if total > 0:
                cells[v, i] = (cells[v, i] + m * table[first + v, i]) / total
            else:
                cells[v, i] = table[first + v, i]


@njit(nogil=True, cache=True)
def path_likelihoods(feature, rows, n_rows, evidence, cells):
    """P(v | T_i, path) of one feature, for the rows that share the path; ``cells`` has room for one value more."""
    offsets, table = evidence.offsets, evidence.table
    if n_rows == 0 or evidence.m == np.inf:
        for cell in range(offsets[feature], offsets[feature + 1]):
            for i in range(table.shape[1]):
                cells[cell - offsets[feature], i] = table[cell, i]
        return
    count_rows(feature, rows, n_rows, evidence, cells)
    shrink(feature, evidence, cells)


@njit(nogil=True, cache=True)
def most_information(belief, cells, n_values):
    """A bound on :func:`information` that takes no logarithm.

    It is the mean over the belief of KL(P_i || P), P being the mean of the P_i, and x log x - x + 1 is at most
    (x - 1)^2 / (1 + min(x, 1)).
    """
    total = 0.0
    for v in range(n_values):
        chance = 0.0
        for i in range(belief.size):
            chance += belief[i] * cells[v, i]
        if chance > 0:
            for i in range(belief.size):
                apart = cells[v, i] - chance
                total += belief[i] * apart * apart / (chance + min(cells[v, i], chance))
    # More than rounding can make of it.
    return total * (1.0 + 1e-9) + 1e-13


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
def tally_rows(rows, n_rows, evidence, tally, met, totals):
    """Weights of rows by class, ``totals`` (N,), and by cell and class where codes are not the usual ones, ``tally``
    (cells, N); marks in ``met`` (C,) the candidates that have such codes."""
    for r in range(n_rows):
        row = rows[r]
        i, weight = evidence.classes[row], evidence.weights[row]
        totals[i] += weight
        for place in range(evidence.starts[row], evidence.starts[row + 1]):
            feature = evidence.others[place]
            met[feature] = True
            tally[evidence.offsets[feature] + evidence.codes[feature, row], i] += weight


@njit(nogil=True, cache=True)
def take_counts(feature, evidence, tally, totals, cells):
    """What :func:`count_rows` gives, from what was tallied: the usual code has what the others leave of the totals."""
    first, usual = evidence.offsets[feature], evidence.usual[feature]
    n_values = evidence.offsets[feature + 1] - first
    for i in range(totals.size):
        rest = totals[i]
        for v in range(n_values):
            if v != usual:
                cells[v, i] = tally[first + v, i]
                rest -= tally[first + v, i]
        cells[usual, i] = rest
        cells[n_values, i] = totals[i]


@njit(nogil=True, cache=True)
def choose_listed(belief, used, bought, rows, n_rows, evidence, offers, floor, left, cells):
    """:func:`choose` where training rows are listed by their unusual codes: of many candidates most have none on a
    path. The information of such a one is at most sum_i pi_i (l_i KL(usual || Q) + (1 - l_i) KL(P_i || Q)), for rows
    that weigh l_i of what they are shrunk to."""
    offsets, radius, m = evidence.offsets, evidence.radius, evidence.m
    tally, met = np.zeros(evidence.table.shape), np.zeros(offers.rank.size, dtype=np.bool_)
    totals, alone = np.zeros(belief.size), np.zeros(belief.size)
    tally_rows(rows, n_rows, evidence, tally, met, totals)
    shared = 0.0
    for i in range(belief.size):
        share = totals[i] / (totals[i] + m) if totals[i] > 0 else 0.0
        shared += belief[i] * share
        alone[i] = belief[i] * (1.0 - share)
    best, best_rate, best_gain, best_price = -1, 0.0, 0.0, 0.0
    free = -1
    for feature in offers.rank:
        if used[feature]:
            continue
        price = price_of(feature, bought, offers)
        if price > left:
            continue
        per = max(price, floor)
        if price == 0.0 and free < 0:
            free = feature
        if not met[feature]:
            most = shared * evidence.idle[feature]
            for i in range(belief.size):
                most += alone[i] * radius[feature, i]
            if most * (1.0 + 1e-9) + 1e-13 <= best_rate * per:
                continue
        take_counts(feature, evidence, tally, totals, cells)
        shrink(feature, evidence, cells)
        n_values = offsets[feature + 1] - offsets[feature]
        if most_information(belief, cells, n_values) <= best_rate * per:
            continue
        gain = information(belief, cells, n_values)
        if gain > _TINY and gain / per > best_rate * (1 + _TINY):
            best, best_rate, best_gain, best_price = feature, gain / per, gain, price
    if best < 0:
        best = free
    return best, best_gain, best_price


@njit(nogil=True, cache=True)
def choose(belief, used, bought, rows, n_rows, evidence, offers, floor, left, cells):
    """The feature with most information per price (a price below ``floor`` counts as that), its information and its
    price; -1 if none that is left, and costs no more than is ``left`` of the money, tells anything or is free."""
    offsets, table, negentropy, radius = evidence.offsets, evidence.table, evidence.negentropy, evidence.radius
    full, discounted, group, rank, bound, _, _ = offers
    marginal = n_rows == 0 or evidence.m == np.inf
    if not marginal and evidence.starts.size > 0:
        return choose_listed(belief, used, bought, rows, n_rows, evidence, offers, floor, left, cells)
    best, best_rate, best_gain, best_price = -1, 0.0, 0.0, 0.0
    free = -1
    for r in range(rank.size):
        if marginal and bound[r] <= best_rate:
            break  # candidates come in descending order of their bound
        feature = rank[r]
        if used[feature]:
            continue
        shared = group[feature] >= 0 and bought[group[feature]] > 0
        price = discounted[feature] if shared else full[feature]
        if price > left:
            continue
        per = max(price, floor)
        if price == 0.0 and free < 0:
            free = feature
        if marginal:
            # The bound at this belief, sum_i pi_i KL(P_i || Q): tighter than that by which candidates are sorted, and
            # without a logarithm.
            most = 0.0
            for i in range(belief.size):
                most += belief[i] * radius[feature, i]
            if most <= best_rate * per:
                continue
            # Where there are few classes a logarithm is dearer than they are.
            first, n_values = offsets[feature], offsets[feature + 1] - offsets[feature]
            if belief.size <= _FEW and most_information(belief, table[first:], n_values) <= best_rate * per:
                continue
            gain = marginal_information(belief, feature, offsets, table, negentropy)
        else:
            count_rows(feature, rows, n_rows, evidence, cells)
            shrink(feature, evidence, cells)
            n_values = offsets[feature + 1] - offsets[feature]
            if most_information(belief, cells, n_values) <= best_rate * per:
                continue
            gain = information(belief, cells, n_values)
        # The same arithmetic as InstanceChoice does for other beliefs: to twelve digits, then the first wins.
        if gain > _TINY and gain / per > best_rate * (1 + _TINY):
            best, best_rate, best_gain, best_price = feature, gain / per, gain, price
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
def estimate(stop, price, facts, rule, scale):
    """What going on is expected to cost by the rule, kept between what is certain: at least the price, at most what
    stopping costs."""
    return min(max(stop + scale * advantage(facts, rule), min(price, stop)), stop)


@njit(nogil=True, cache=True)
def leaf_cost(belief, used, bought, left, evidence, offers, setting, cells, facts):
    """What a state is worth where a plan ends: stopping, or going on by information and the rule if that is less.

    Answers are those of naive Bayes: how many rows share a path that nobody has walked is not looked up.
    """
    stop = stop_cost(belief, setting.mistakes)
    if stop <= offers.cheapest:
        return stop
    none = np.empty(0, dtype=np.int64)
    feature, gain, price = choose(belief, used, bought, none, none.size, evidence, offers, setting.floor, left, cells)
    if feature < 0 or stop <= price:
        return stop
    describe(belief, setting.mistakes, setting.scale, price, gain, facts)
    return estimate(stop, price, facts, setting.rule, setting.scale)


@njit(nogil=True, cache=True)
def look_ahead(belief, rows, used, bought, levels, beyond, left, evidence, offers, setting, cells, facts):
    """Least expected cost of plans of up to ``levels`` features that cost no more than is ``left``, the first feature
    of the best (-1 to stop), and its price.

    ``beyond`` says whether a plan may go on where it ends, by the rule. ``rows`` are those that share the path. A plan
    is given up as soon as it costs as much as the best one so far.
    """
    codes, offsets = evidence.codes, evidence.offsets
    best, best_feature, least_price = stop_cost(belief, setting.mistakes), -1, 0.0
    if levels == 0:
        if beyond:
            best = leaf_cost(belief, used, bought, left, evidence, offers, setting, cells, facts)
        return best, best_feature, least_price
    n_classes = belief.size
    after, inside = np.empty(n_classes), np.empty(rows.size, dtype=np.int64)
    for feature in offers.rank:
        if used[feature]:
            continue
        price = price_of(feature, bought, offers)
        # Going on costs at least the price, whatever the answers are.
        if price >= best or price > left:
            continue
        n_values = offsets[feature + 1] - offsets[feature]
        own = np.empty((n_values + 1, n_classes))
        path_likelihoods(feature, rows, rows.size, evidence, own)
        group = offers.group[feature]
        used[feature] = True
        if group >= 0:
            bought[group] += 1
        total = price
        for v in range(n_values):
            chance = 0.0
            for i in range(n_classes):
                after[i] = belief[i] * own[v, i]
                chance += after[i]
            if chance <= 0.0:
                continue
            for i in range(n_classes):
                after[i] /= chance
            n_inside = narrow(codes[feature], v, rows, rows.size, inside) if levels > 1 else 0
            ahead, _, _ = look_ahead(
                after, inside[:n_inside], used, bought, levels - 1, beyond, left - price, evidence, offers, setting,
                cells, facts,
            )  # fmt: skip
            total += chance * ahead
            if total >= best:
                break
        used[feature] = False
        if group >= 0:
            bought[group] -= 1
        if total < best * (1 - _TINY):
            best, best_feature, least_price = total, feature, price
    return best, best_feature, least_price


@njit(nogil=True, cache=True)
def plan(belief, used, bought, depth, rows, n_rows, evidence, offers, setting, left, cells, facts):
    """The first feature of the best plan of so many steps (-1: stop), its information, its price, and what the plan
    is expected to cost. ``facts`` are scratch."""
    more = setting.deepest - depth  # features that may still be asked
    beyond = more > setting.levels and setting.rule.any()
    ahead, feature, price = look_ahead(
        belief, rows[:n_rows], used, bought, max(min(setting.levels, more), 0), beyond, left, evidence, offers, setting,
        cells, facts,
    )  # fmt: skip
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
def settle(belief, used, bought, depth, rows, n_rows, evidence, offers, setting, cells, facts):
    """What to do at a state: fills its facts (N_FACTS,), and returns the feature (-1 if none is left) and whether to
    stop. What was spent stands in the facts already."""
    ahead, left = 0.0, setting.budget - facts[SPENT]
    if setting.levels > 0:
        feature, gain, price, ahead = plan(
            belief, used, bought, depth, rows, n_rows, evidence, offers, setting, left, cells, facts
        )
    else:
        feature, gain, price = choose(belief, used, bought, rows, n_rows, evidence, offers, setting.floor, left, cells)
    describe(belief, setting.mistakes, setting.scale, price, gain, facts)
    stop = stop_cost(belief, setting.mistakes)
    if feature < 0 or stops(facts, depth, setting):
        facts[AHEAD] = stop
        return feature, True
    facts[AHEAD] = ahead if setting.levels > 0 else estimate(stop, price, facts, setting.rule, setting.scale)
    return feature, False


@njit(nogil=True, cache=True)
def widest(offsets):
    """Largest number of values of a feature, and room for one more."""
    most = 1
    for k in range(offsets.size - 1):
        most = max(most, offsets[k + 1] - offsets[k])
    return most + 1
