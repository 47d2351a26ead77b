"""Small made data sets, and a decision graph worked out from raw training rows, slowly and obviously."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from etana import Binner
from etana.beliefs import PathCounts
from etana.costs import ResolvedCosts
from etana.kernels import graph as kernel
from etana.kernels.choice import N_BASIS
from etana.likelihood import Counts
from etana.policies.instance_choice import InstanceChoice, scale_of
from etana.table import read_table
from etana.walks.acquisition import storage_of
from etana.walks.graph import Graph

FREE = 1e-9  # the share of the scale below which a price counts as that


@dataclass
class Made:
    """A data set of small whole numbers, its bins, prices and class costs, and beliefs learnt from it."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    binner: Binner
    prices: ResolvedCosts
    priors: np.ndarray
    mistakes: np.ndarray
    beliefs: PathCounts

    def policy(self, rule, least=1.0, deepest=2**31 - 1, most=2**18, levels=0):
        return InstanceChoice(
            self.beliefs.candidates, self.priors, self.prices, self.mistakes, rule, least, deepest, levels, most
        )

    def graph(self, rule, m=np.inf, least=1.0, deepest=2**31 - 1, most=2**18, levels=0):
        return Graph(self.beliefs.with_strength(m), self.policy(rule, least, deepest, most, levels))

    def spans(self, graph, X=None, budget=np.inf):
        """The walk of rows through a graph, in parts."""
        table = read_table(self.X if X is None else X)
        storage, rows = storage_of(table, self.beliefs.candidates, {}), np.arange(table.n_rows)
        return graph.walk(storage, budget, rows, (0, table.n_rows))

    def walk(self, graph, X=None, budget=np.inf):
        """Nodes at which rows end; the graph must have room."""
        spans = list(self.spans(graph, X, budget))
        assert len(spans) == 1
        return spans[0][2]


def learn(binner, X, y, weights, priors, prices, mistakes):
    """Beliefs from rows, in given bins."""
    table = read_table(X)
    counts = Counts.of(binner, table, y, weights, priors.size)
    per = np.maximum(np.minimum(prices.full, prices.discounted), FREE * scale_of(priors, mistakes))
    return PathCounts.learn(binner, counts, (table, y, weights), priors, per)


def made(seed, n_rows=None, n_features=None, n_classes=None, missing=None, grouped=None, free=None):
    """A random data set in which features tell something about the class and about each other."""
    rng = np.random.default_rng(seed)
    n = n_rows or int(rng.integers(4, 40))
    k = n_features or int(rng.integers(1, 7))
    c = n_classes or int(rng.integers(2, 5))
    values = rng.integers(1, 5, k)  # 1: a column that says nothing
    y = rng.integers(0, c, n)
    hidden = rng.integers(0, 3, n)
    X = np.empty((n, k))
    for j in range(k):
        told = (y + hidden * (j % 2)) % values[j]
        X[:, j] = np.where(rng.random(n) < 0.6, told, rng.integers(0, values[j], n))
    how = missing or str(rng.choice(["none", "skip", "bin"]))
    if how != "none":
        X[rng.random((n, k)) < 0.15] = np.nan
    binner = Binner.from_edges([np.arange(v - 1) + 0.5 for v in values], missing="skip" if how == "none" else how)
    weights = rng.integers(1, 4, n).astype(float)
    full = rng.choice([0.0, 0.01, 0.02, 0.05] if free is None or free else [0.01, 0.02, 0.05], k)
    group = rng.integers(-1, 2, k) if grouped is None or grouped else np.full(k, -1)
    prices = ResolvedCosts(
        full, np.where(group >= 0, full * rng.choice([0.0, 0.3, 1.0], k), full), group.astype(np.int64)
    )
    mistakes = (rng.random((c, c)) + 0.2) * (1 - np.eye(c))
    priors = rng.dirichlet(np.full(c, 3.0))
    beliefs = learn(binner, X, y, weights, priors, prices, mistakes)
    return Made(X, y, weights, binner, prices, priors, mistakes, beliefs)


def doubled(data: Made) -> Made:
    """The same data with every column twice, at the same price."""
    X, binner = np.hstack([data.X, data.X]), data.binner
    edges = [binner.edges[a:b] for a, b in pairwise(binner.edge_offsets)]
    binner = Binner.from_edges(edges + edges, missing=binner.missing)
    prices = ResolvedCosts(
        *(np.tile(part, 2) for part in (data.prices.full, data.prices.discounted, data.prices.group))
    )
    beliefs = learn(binner, X, data.y, data.weights, data.priors, prices, data.mistakes)
    return replace(data, X=X, binner=binner, prices=prices, beliefs=beliefs)


def rule_of(seed):
    """A stopping rule that stops sometimes."""
    rng = np.random.default_rng([seed, 7])
    rule = rng.normal(size=N_BASIS)
    rule[1] = -abs(rule[1]) * 4
    return rule


class Twin:
    """The policy from its definition. A path is a list of (column, code); code -1 is an answer that is no evidence."""

    def __init__(self, data: Made, rule, m, least=1.0, deepest=2**31 - 1):
        self.data, self.rule, self.m, self.least, self.deepest = data, rule, m, least, deepest
        self.codes = data.binner.transform(data.X)
        self.scale = min(float(data.priors @ data.mistakes[:, j]) for j in range(data.priors.size)) or 1.0

    def values(self, column):
        offsets = self.data.binner.cell_offsets
        return int(offsets[column + 1] - offsets[column])

    def marginal(self, column):
        """P(v | T_i) with the paper's smoothing, shape (V, N)."""
        d, v, n = self.data, self.values(column), self.data.priors.size
        out = np.empty((v, n))
        for i in range(n):
            rows = (d.y == i) & (self.codes[:, column] >= 0)
            for code in range(v):
                out[code, i] = d.weights[rows & (self.codes[:, column] == code)].sum() + 1
            out[:, i] /= d.weights[rows].sum() + v
        return out

    def sharing(self, path):
        rows = np.ones(len(self.data.y), dtype=bool)
        for column, code in path:
            rows &= self.codes[:, column] == code
        return rows

    def likelihoods(self, path, column):
        """P(v | T_i, path), shape (V, N)."""
        marginal, rows = self.marginal(column), self.sharing(path)
        if np.isinf(self.m) or not rows.any():
            return marginal
        out = marginal.copy()
        for i in range(self.data.priors.size):
            own = rows & (self.data.y == i) & (self.codes[:, column] >= 0)
            total = self.data.weights[own].sum()
            if total + self.m > 0:
                for v in range(len(out)):
                    seen = self.data.weights[own & (self.codes[:, column] == v)].sum()
                    out[v, i] = (seen + self.m * marginal[v, i]) / (total + self.m)
        return out

    def belief(self, path):
        belief = self.data.priors
        for k, (column, code) in enumerate(path):
            if code >= 0:
                after = belief * self.likelihoods(path[:k], column)[code]
                belief = after / after.sum() if after.sum() > 0 else belief
        return belief

    def price(self, path, column):
        prices = self.data.prices
        paid = {prices.group[c] for c, _ in path if prices.group[c] >= 0}
        return prices.discounted[column] if prices.group[column] in paid else prices.full[column]

    def spent(self, path):
        return sum(self.price(path[:k], column) for k, (column, _) in enumerate(path))

    def information(self, path, column):
        """H(T) - sum_v P(v) H(T | v)."""
        belief, cells = self.belief(path), self.likelihoods(path, column)
        left = 0.0
        for row in cells:
            joint = belief * row
            if joint.sum() > 0:
                left += joint.sum() * entropy(joint / joint.sum())
        return max(entropy(belief) - left, 0.0)

    def rates(self, path):
        """Information per price of every column that may be asked."""
        used = {c for c, _ in path}
        return {
            c: self.information(path, c) / max(self.price(path, c), FREE * self.scale)
            for c in self.data.beliefs.candidates.tolist()
            if c not in used
        }

    def risk(self, path):
        return float((self.belief(path) @ self.data.mistakes).min())

    def estimate(self, path):
        """What going on by information and the rule is worth, between the price and stopping; stopping without it."""
        risk, rates = self.risk(path), self.rates(path)
        useful = [c for c in rates if self.information(path, c) > 1e-12 or self.price(path, c) == 0]
        if not useful or not self.rule.any():
            return risk
        column = max(useful, key=rates.get)
        price = self.price(path, column)
        return min(max(risk + self.scale * self.advantage(path, column), min(price, risk)), risk)

    def plan(self, path, levels):
        """What the best plan of so many steps costs, and the first column of each plan that pays. Where it ends, it is
        worth the estimate of the rule."""
        risk, used, costs = self.risk(path), {c for c, _ in path}, {}
        if levels == 0:
            return self.estimate(path), {}
        for column in self.data.beliefs.candidates.tolist():
            if column not in used:
                chances = self.likelihoods(path, column) @ self.belief(path)
                nexts = [[*path, (column, v)] for v in range(len(chances))]
                after = [self.plan(to, levels - 1)[0] if p > 0 else 0.0 for to, p in zip(nexts, chances, strict=True)]
                costs[column] = self.price(path, column) + float(chances @ after)
        return min([risk, *costs.values()]), {c: cost for c, cost in costs.items() if cost < risk}

    def advantage(self, path, column):
        """The rule's estimate of what going on costs beyond stopping, in units of the scale."""
        belief, n = self.belief(path), self.data.priors.size
        g = self.risk(path) / self.scale
        h = entropy(belief) / np.log(n)
        basis = [
            1.0, g, h, 1 - (belief**2).sum(), np.sqrt(g), h * h, self.price(path, column) / self.scale,
            self.information(path, column) / np.log(n),
        ]  # fmt: skip
        return float(np.dot(self.rule, basis))

    def stops(self, path, column):
        price = self.price(path, column)
        if len(path) >= self.deepest:
            return True
        if price == 0:
            return False
        return self.risk(path) <= self.least * price or self.advantage(path, column) >= 0


def entropy(belief):
    some = belief[belief > 0]
    return float(-(some * np.log(some)).sum())


def path_of(graph, node):
    """The answers that lead to a node, as (column, code)."""
    path = []
    links = graph.nodes.links
    while links[node, kernel.PARENT] >= 0:
        parent = int(links[node, kernel.PARENT])
        column = int(graph.beliefs.candidates[links[parent, kernel.FEATURE]])
        path.append((column, int(links[node, kernel.CODE])))
        node = parent
    return path[::-1]
