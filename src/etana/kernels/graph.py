"""Loops over a decision graph that grows as instances reach states nobody has reached before.

A *state* is the path of answers that leads to it. Its belief, the feature worth asking there, and whether it is time
to stop follow from the path alone, so they are worked out once, when the state is first reached, and looked up
afterwards. Numbers of a state, one row per node:

    links   parent, code of the answer that led here, feature to ask (a candidate, -1 if none), state, first child,
            depth, number of training rows that share the path
    logs    log belief, largest 0
    facts   what was spent, the price of the feature to ask, the expected cost from here on, and the basis of the
            stopping rule (see ``describe``)

Children of a node lie together in a pool: one for each code of its feature, and a last one for an answer that is no
evidence. ``pool_logs`` holds the log likelihood of each answer.

Likelihoods at a state are those of the training rows that share its path, shrunk towards naive Bayes:

    P(F = v | T_i, path) = (n_iv(path) + m P(v | T_i)) / (n_i(path) + m)

Where no row is left, or m is infinite, they are P(v | T_i), and candidates are pruned without loss: the information
about the class at belief pi is at most sum_i pi_i KL(P_i || Q) for any Q, with Q the mean over the classes here.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from etana.kernels.walk import bin_of, fetch, update

PARENT, CODE, FEATURE, STATE, CHILD, DEPTH, ROWS = range(7)
N_LINKS = 7
NEW, ASKS, STOPS = range(3)
SPENT, PRICE, AHEAD, BASIS = range(4)
N_BASIS = 8
RISK = BASIS + 1  # in units of the scale
INFORMATION = BASIS + 7  # as a share of log N
N_FACTS = BASIS + N_BASIS
NODES, POOL = range(2)
_TINY = 1e-12


@njit(nogil=True, cache=True)
def risk(belief, mistakes):
    """g: expected cost of the best decision."""
    best = np.inf
    for j in range(mistakes.shape[1]):
        cost = 0.0
        for i in range(belief.size):
            cost += belief[i] * mistakes[i, j]
        best = min(best, cost)
    return best


@njit(nogil=True, cache=True)
def decide(belief, mistakes):
    """The class whose decision costs least; the first of equals, to twelve digits."""
    best, label = np.inf, 0
    for j in range(mistakes.shape[1]):
        cost = 0.0
        for i in range(belief.size):
            cost += belief[i] * mistakes[i, j]
        if cost < best * (1 - _TINY):
            best, label = cost, j
    return label


@njit(nogil=True, cache=True)
def believe(logs, belief):
    """Log belief, largest 0, to probabilities."""
    total = 0.0
    for i in range(logs.size):
        belief[i] = np.exp(logs[i])
        total += belief[i]
    for i in range(logs.size):
        belief[i] /= total


@njit(nogil=True, cache=True)
def sharing(node, links, codes, rows):
    """Training rows that gave every answer on the path to a node, missing ones included; returns how many."""
    n_answers = links[node, DEPTH]
    features = np.empty(n_answers, dtype=np.int64)
    answers = np.empty(n_answers, dtype=np.int64)
    for a in range(n_answers):
        answers[a] = links[node, CODE]
        node = links[node, PARENT]
        features[a] = links[node, FEATURE]
    count = 0
    for r in range(codes.shape[1]):
        same = True
        for a in range(n_answers - 1, -1, -1):
            if codes[features[a], r] != answers[a]:
                same = False
                break
        if same:
            rows[count] = r
            count += 1
    return count


@njit(nogil=True, cache=True)
def path_likelihoods(feature, rows, n_rows, evidence, cells):
    """P(v | T_i, path) of one feature, for the rows that share the path."""
    codes, classes, weights, offsets, table, _, _, _, m = evidence
    first, last = offsets[feature], offsets[feature + 1]
    n_classes = table.shape[1]
    if n_rows == 0 or m == np.inf:
        cells[: last - first] = table[first:last]
        return
    cells[: last - first] = 0.0
    totals = np.zeros(n_classes)
    for r in range(n_rows):
        row = rows[r]
        code = codes[feature, row]
        if code >= 0:
            cells[code, classes[row]] += weights[row]
            totals[classes[row]] += weights[row]
    for v in range(last - first):
        for i in range(n_classes):
            if totals[i] + m > 0:
                cells[v, i] = (cells[v, i] + m * table[first + v, i]) / (totals[i] + m)
            else:
                cells[v, i] = table[first + v, i]


@njit(nogil=True, cache=True)
def information(belief, cells, n_values):
    """Mutual information of the class and a feature with these likelihoods, in nats."""
    total = 0.0
    for v in range(n_values):
        chance = 0.0
        for i in range(belief.size):
            joint = belief[i] * cells[v, i]
            chance += joint
            if joint > 0:
                total += joint * np.log(cells[v, i])
        if chance > 0:
            total -= chance * np.log(chance)
    return max(total, 0.0)


@njit(nogil=True, cache=True)
def marginal_information(belief, feature, evidence):
    """The same at naive Bayes' likelihoods, with one logarithm per value."""
    _, _, _, offsets, table, negentropy, _, _, _ = evidence
    total = 0.0
    for i in range(belief.size):
        total += belief[i] * negentropy[feature, i]
    for cell in range(offsets[feature], offsets[feature + 1]):
        chance = 0.0
        for i in range(belief.size):
            chance += belief[i] * table[cell, i]
        if chance > 0:
            total -= chance * np.log(chance)
    return max(total, 0.0)


@njit(nogil=True, cache=True)
def price_of(feature, node, links, prices):
    """What a feature costs at a node: its discounted price once another of its group was bought."""
    full, discounted, group = prices
    if group[feature] >= 0:
        while links[node, PARENT] >= 0:
            node = links[node, PARENT]
            if group[links[node, FEATURE]] == group[feature]:
                return discounted[feature]
    return full[feature]


@njit(nogil=True, cache=True)
def choose(node, belief, rows, n_rows, links, evidence, prices, floor, cells):
    """The feature with most information per price at a node (a price below ``floor`` counts as that), its
    information and its price; -1 if none that is left tells anything or is free."""
    codes, _, _, offsets, _, _, radius, bound, m = evidence
    used = np.zeros(codes.shape[0], dtype=np.bool_)
    above = node
    while links[above, PARENT] >= 0:
        above = links[above, PARENT]
        used[links[above, FEATURE]] = True
    marginal = n_rows == 0 or m == np.inf
    best, best_rate, best_gain, best_price = -1, 0.0, 0.0, 0.0
    free = -1
    for feature in range(codes.shape[0]):
        if marginal and bound[feature] <= best_rate:
            break  # candidates come in descending order of their bound
        if used[feature]:
            continue
        price = price_of(feature, node, links, prices)
        per = max(price, floor)
        if price == 0.0 and free < 0:
            free = feature
        if marginal:
            most = 0.0
            for i in range(belief.size):
                most += belief[i] * radius[feature, i]
            if most <= best_rate * per:
                continue
            gain = marginal_information(belief, feature, evidence)
        else:
            path_likelihoods(feature, rows, n_rows, evidence, cells)
            gain = information(belief, cells, offsets[feature + 1] - offsets[feature])
        if gain > _TINY and gain / per > best_rate * (1 + _TINY):
            best, best_rate, best_gain, best_price = feature, gain / per, gain, price
    if best < 0:
        best = free  # near certainty, gains drown in rounding; what costs nothing is asked all the same
    return best, best_gain, best_price


@njit(nogil=True, cache=True)
def look_ahead(belief, rows, n_rows, used, bought, levels, evidence, prices, mistakes):
    """Least expected cost when at most ``levels`` more features are asked, and the first of them; -1 to stop.

    ``bought`` counts the features of each group that were bought. A plan is given up as soon as it costs as much as
    the best one so far.
    """
    codes, offsets = evidence[0], evidence[3]
    full, discounted, group = prices
    best, best_feature, least_price = risk(belief, mistakes), -1, 0.0
    if levels == 0:
        return best, best_feature, least_price
    n_classes = belief.size
    after, inside = np.empty(n_classes), np.empty(n_rows, dtype=np.int64)
    for feature in range(codes.shape[0]):
        if used[feature]:
            continue
        grouped = group[feature] >= 0
        price = discounted[feature] if grouped and bought[group[feature]] > 0 else full[feature]
        if price >= best:
            continue
        n_values = offsets[feature + 1] - offsets[feature]
        cells = np.empty((n_values, n_classes))
        path_likelihoods(feature, rows, n_rows, evidence, cells)
        used[feature] = True
        if grouped:
            bought[group[feature]] += 1
        total = price
        for v in range(n_values):
            chance = 0.0
            for i in range(n_classes):
                after[i] = belief[i] * cells[v, i]
                chance += after[i]
            if chance <= 0.0:
                continue
            for i in range(n_classes):
                after[i] /= chance
            n_inside = 0
            if levels > 1:
                for r in range(n_rows):
                    if codes[feature, rows[r]] == v:
                        inside[n_inside] = rows[r]
                        n_inside += 1
            ahead, _, _ = look_ahead(
                after, inside[:n_inside], n_inside, used, bought, levels - 1, evidence, prices, mistakes
            )
            total += chance * ahead
            if total >= best:
                break
        used[feature] = False
        if grouped:
            bought[group[feature]] -= 1
        if total < best * (1 - _TINY):
            best, best_feature, least_price = total, feature, price
    return best, best_feature, least_price


@njit(nogil=True, cache=True)
def plan(node, belief, rows, n_rows, links, evidence, prices, mistakes, levels, cells):
    """The first feature of the best plan of so many steps (-1: stop), its information, its price, and what the plan
    is expected to cost."""
    offsets, m, group = evidence[3], evidence[8], prices[2]
    used = np.zeros(evidence[0].shape[0], dtype=np.bool_)
    bought = np.zeros(max(group.max() + 1, 0) if group.size else 0, dtype=np.int64)
    while links[node, PARENT] >= 0:
        node = links[node, PARENT]
        feature = links[node, FEATURE]
        used[feature] = True
        if group[feature] >= 0:
            bought[group[feature]] += 1
    if m == np.inf:
        n_rows = 0
    ahead, feature, price = look_ahead(belief, rows[:n_rows], n_rows, used, bought, levels, evidence, prices, mistakes)
    if feature < 0:
        for candidate in range(used.size):  # what costs nothing is asked, whether it can change the decision or not
            grouped = group[candidate] >= 0 and bought[group[candidate]] > 0
            price = prices[1][candidate] if grouped else prices[0][candidate]
            if not used[candidate] and price == 0.0:
                feature = candidate
                break
        if feature < 0:
            return feature, 0.0, 0.0, ahead
    path_likelihoods(feature, rows, n_rows, evidence, cells)
    return feature, information(belief, cells, offsets[feature + 1] - offsets[feature]), price, ahead


@njit(nogil=True, cache=True)
def describe(belief, mistakes, scale, price, gain, facts):
    """The basis of the stopping rule: 1, g, entropy, Gini index, roots and squares, the next price and information."""
    entropy, gini = 0.0, 1.0
    for i in range(belief.size):
        if belief[i] > 0:
            entropy -= belief[i] * np.log(belief[i])
        gini -= belief[i] * belief[i]
    whole = np.log(max(belief.size, 2))
    g = max(risk(belief, mistakes) / scale, 0.0)
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
def stops(facts, depth, rule, least, deepest):
    """Whether to stop: by the rule, going on is expected to cost no less than stopping.

    A free feature is always asked; none that costs more than ``g / least`` ever is.
    """
    if depth >= deepest:
        return True
    if facts[PRICE] == 0.0:
        return False
    if facts[RISK] <= least * facts[BASIS + 6]:
        return True
    return advantage(facts, rule) >= 0.0


@njit(nogil=True, cache=True)
def add(parent, code, logs_of, spent, graph, sizes):
    """A new node; its belief is that of the parent with the answer's evidence."""
    links, logs, facts, _, _ = graph
    node = sizes[NODES]
    sizes[NODES] += 1
    links[node, PARENT], links[node, CODE], links[node, FEATURE] = parent, code, -1
    links[node, STATE], links[node, CHILD], links[node, ROWS] = NEW, -1, -1
    links[node, DEPTH] = links[parent, DEPTH] + 1 if parent >= 0 else 0
    logs[node] = logs_of
    facts[node, SPENT] = spent
    return node


@njit(nogil=True, cache=True)
def expand(node, graph, sizes, evidence, prices, setting, rule, rows, cells):
    """Work out what a new state asks, or that it stops; False if there is no room for its children."""
    links, logs, facts, children, pool_logs = graph
    mistakes, scale, floor, least, deepest, levels = setting
    offsets = evidence[3]
    belief = np.empty(logs.shape[1])
    believe(logs[node], belief)
    parent = links[node, PARENT]
    n_rows = 0
    if evidence[8] != np.inf and (parent < 0 or links[parent, ROWS] > 0):
        n_rows = sharing(node, links, evidence[0], rows)
    ahead = 0.0
    if levels > 0:
        feature, gain, price, ahead = plan(node, belief, rows, n_rows, links, evidence, prices, mistakes, levels, cells)
    else:
        feature, gain, price = choose(node, belief, rows, n_rows, links, evidence, prices, floor, cells)
    describe(belief, mistakes, scale, price, gain, facts[node])
    links[node, FEATURE], links[node, ROWS] = feature, n_rows
    stop = risk(belief, mistakes)
    if feature < 0 or stops(facts[node], links[node, DEPTH], rule, least, deepest):
        links[node, STATE], facts[node, AHEAD] = STOPS, stop
        return True
    if levels == 0:
        ahead = min(max(stop + scale * advantage(facts[node], rule), min(price, stop)), stop)
    facts[node, AHEAD] = ahead
    n_values = offsets[feature + 1] - offsets[feature]
    first = sizes[POOL]
    if first + n_values + 1 > children.size:
        links[node, FEATURE], links[node, ROWS] = -1, -1
        return False
    sizes[POOL] += n_values + 1
    path_likelihoods(feature, rows, n_rows, evidence, cells)
    for v in range(n_values + 1):
        children[first + v] = -1
        for i in range(logs.shape[1]):
            pool_logs[first + v, i] = np.log(cells[v, i]) if v < n_values else 0.0
    links[node, CHILD], links[node, STATE] = first, ASKS
    return True


@njit(nogil=True, cache=True)
def restore(stored, numbers, answers, n_values, graph, sizes, prices, setting):
    """Rebuild states from what is stored of them, in the order in which they were made; the root is there.

    ``stored`` has parent, code, feature, state and rows of each, ``numbers`` the information of its feature and what is
    expected from there on. Returns the first state that asks for a feature twice on its path or deeper than is allowed,
    -1 if all is well.
    """
    links, logs, facts, children, pool_logs = graph
    mistakes, scale, _, _, deepest, _ = setting
    belief = np.empty(logs.shape[1])
    read = 0
    for node in range(stored.shape[0]):
        parent, code, feature = stored[node, 0], stored[node, 1], stored[node, 2]
        if node > 0:
            follow(parent, code, graph, sizes, n_values[parent], facts[parent, PRICE])
        above = node
        while links[above, PARENT] >= 0:
            above = links[above, PARENT]
            if links[above, FEATURE] == feature:
                return node
        price = price_of(feature, node, links, prices) if feature >= 0 else 0.0
        believe(logs[node], belief)
        describe(belief, mistakes, scale, price, 0.0, facts[node])
        facts[node, INFORMATION], facts[node, AHEAD] = numbers[node, 0], numbers[node, 1]
        links[node, FEATURE], links[node, STATE], links[node, ROWS] = feature, stored[node, 3], stored[node, 4]
        if stored[node, 3] == ASKS:
            if links[node, DEPTH] >= deepest:
                return node
            first = sizes[POOL]
            sizes[POOL] += n_values[node] + 1
            children[first : first + n_values[node] + 1] = -1
            pool_logs[first : first + n_values[node]] = answers[read : read + n_values[node]]
            pool_logs[first + n_values[node]] = 0.0
            read += n_values[node]
            links[node, CHILD] = first
    return -1


@njit(nogil=True, cache=True)
def follow(node, code, graph, sizes, n_values, price):
    """The state that an answer leads to; -1 if it is new and there is no room for it."""
    links, logs, facts, children, pool_logs = graph
    slot = links[node, CHILD] + (code if 0 <= code < n_values else n_values)
    if children[slot] < 0:
        if sizes[NODES] >= links.shape[0]:
            return -1
        after = logs[node].copy()
        update(after, pool_logs[slot])
        if after.max() == -np.inf:  # an answer that training rows on the path rule out for every class
            after[:] = logs[node]
        known = code if 0 <= code < n_values else -1
        children[slot] = add(node, known, after, facts[node, SPENT] + price, graph, sizes)
    return children[slot]


@njit(nogil=True, cache=True)
def descend(table, bins, budget, first, last, graph, sizes, evidence, prices, setting, rule, ends):
    """Take rows through the graph, growing it where they leave it; returns the first row that found no room.

    A row stops where it asks for more than is left of the budget.
    """
    storage, dense, data, indices, indptr, columns = table
    edges, edge_offsets, missing = bins
    links, facts = graph[0], graph[2]
    offsets = evidence[3]
    rows = np.empty(evidence[0].shape[1], dtype=np.int64)
    cells = np.empty((widest(offsets), graph[1].shape[1]))
    for row in range(first, last):
        node = 0
        while True:
            if links[node, STATE] == NEW and not expand(
                node, graph, sizes, evidence, prices, setting, rule, rows, cells
            ):
                return row
            if links[node, STATE] == STOPS or facts[node, SPENT] + facts[node, PRICE] > budget:
                break
            feature = links[node, FEATURE]
            value = fetch(storage, dense, data, indices, indptr, row, columns[feature])
            code = bin_of(value, edges, edge_offsets[feature], edge_offsets[feature + 1], missing[feature])
            n_values = offsets[feature + 1] - offsets[feature]
            node = follow(node, code, graph, sizes, n_values, facts[node, PRICE])
            if node < 0:
                return row
        ends[row] = node
    return last


@njit(nogil=True, cache=True)
def simulate(draws, first, last, graph, sizes, evidence, prices, setting, rule, ends):
    """The same for instances drawn from the model itself: the true class first, then each answer that is asked."""
    links, logs, facts, _, pool_logs = graph
    offsets = evidence[3]
    rows = np.empty(evidence[0].shape[1], dtype=np.int64)
    cells = np.empty((widest(offsets), logs.shape[1]))
    belief = np.empty(logs.shape[1])
    believe(logs[0], belief)
    for row in range(first, last):
        left, truth = draws[row, 0], 0
        while truth < belief.size - 1 and left >= belief[truth]:
            left -= belief[truth]
            truth += 1
        node, step = 0, 1
        while True:
            if links[node, STATE] == NEW and not expand(
                node, graph, sizes, evidence, prices, setting, rule, rows, cells
            ):
                return row
            if links[node, STATE] == STOPS or step >= draws.shape[1]:
                break
            feature = links[node, FEATURE]
            n_values = offsets[feature + 1] - offsets[feature]
            left, code = draws[row, step], 0
            chance = np.exp(pool_logs[links[node, CHILD], truth])
            while code < n_values - 1 and left >= chance:
                left -= chance
                code += 1
                chance = np.exp(pool_logs[links[node, CHILD] + code, truth])
            node = follow(node, code, graph, sizes, n_values, facts[node, PRICE])
            if node < 0:
                return row
            step += 1
        ends[row] = node
    return last


@njit(nogil=True, cache=True)
def widest(offsets):
    """Largest number of values of a feature, and room for one more."""
    most = 1
    for k in range(offsets.size - 1):
        most = max(most, offsets[k + 1] - offsets[k])
    return most + 1


@njit(nogil=True, cache=True)
def results(ends, first, last, graph, mistakes, labels, asked, spent, posteriors):
    """What each row was decided, asked and charged."""
    links, logs, facts, _, _ = graph
    for row in range(first, last):
        node = ends[row]
        believe(logs[node], posteriors[row])
        labels[row] = decide(posteriors[row], mistakes)
        asked[row], spent[row] = links[node, DEPTH], facts[node, SPENT]


@njit(nogil=True, cache=True)
def paths(ends, first, last, links, offsets, features):
    """Candidates that each row was asked, in order; row r fills ``features[offsets[r]:offsets[r + 1]]``."""
    for row in range(first, last):
        node = ends[row]
        for position in range(offsets[row + 1] - 1, offsets[row] - 1, -1):
            node = links[node, PARENT]
            features[position] = links[node, FEATURE]


@njit(nogil=True, cache=True)
def trace(ends, links, nodes):
    """Nodes that each row passed, the root first; unused places stay as they are."""
    for row in range(ends.size):
        node = ends[row]
        for position in range(links[node, DEPTH], -1, -1):
            nodes[row, position] = node
            node = links[node, PARENT]
