"""Wrong edits of one line each, in files that everything else rests on, and the tests that must notice."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """An edit: in ``src/etana/<file>``, the line ``old`` (without its indentation) becomes ``new``.

    ``tests`` are what pytest is given, all of them cheap. Kernels run uncompiled: to compile them again takes longer
    than all of these tests.
    """

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def compiled(self) -> bool:
        """Whether the tests run compiled loops."""
        return not self.file.startswith("kernels/")


_GRAPH = "tests/adaptive/test_adaptive_graph.py::"
_STATES = _GRAPH + "test_every_state_is_what_the_training_rows_say"
_PLANS = _GRAPH + "test_plans_are_the_best_of_all"
_TREE = "tests/policies/test_exact_and_points.py::test_brute_force"
_GRID = "tests/policies/test_grid.py::test_nearest_against_its_twin"
_HONEST = "tests/test_honesty.py::"
_JUDGING = "tests/frugal/test_judging.py"

MUTANTS = [
    Mutant(
        "a posterior is not normalised", "kernels/rules.py",
        "belief[i] *= scale",
        "belief[i] *= 1.0",
        (_STATES,),
    ),
    Mutant(
        "the dearest decision is taken", "kernels/rules.py",
        "if cost < best * (1 - TIE):",
        "if cost > best * (1 - TIE):",
        (_HONEST + "test_what_is_decided_costs_least",),
    ),
    Mutant(
        "a group's discount is dropped where features are chosen", "kernels/choice.py",
        "return offers.discounted[feature] if group >= 0 and bought[group] > 0 else offers.full[feature]",
        "return offers.full[feature]",
        (_STATES,),
    ),
    Mutant(
        "plans are compared the wrong way round", "kernels/choice.py",
        "if total < best * (1 - _TINY):",
        "if total > best * (1 - _TINY):",
        (_PLANS,),
    ),
    Mutant(
        "a plan knows nothing of what lies beyond its end", "kernels/choice.py",
        "return estimate(stop, price, plans.facts, setting.rule, setting.scale)",
        "return stop",
        (_GRAPH + "test_plans_know_what_the_rule_expects_where_they_end",),
    ),
    Mutant(
        "rows that share a path are not shrunk towards naive Bayes", "kernels/choice.py",
        "cells[v, i] = (cells[v, i] + m * table[first + v, i]) / total",
        "cells[v, i] = (cells[v, i] + m) / total",
        (_STATES,),
    ),
    Mutant(
        "one feature more than allowed", "kernels/choice.py",
        "if depth >= setting.deepest:",
        "if depth > setting.deepest:",
        (_STATES,),
    ),
    Mutant(
        "the stopping rule is read the wrong way round", "kernels/choice.py",
        "return setting.levels == 0 and advantage(facts, setting.rule) >= 0.0",
        "return setting.levels == 0 and advantage(facts, setting.rule) <= 0.0",
        (_STATES,),
    ),
    Mutant(
        "a row is among its own neighbours", "kernels/neighbours.py",
        "found[1, voters.codes[i]] -= voters.weights[i]",
        "found[1, voters.codes[i]] -= 0.0",
        (_HONEST + "test_a_row_is_not_among_its_own_neighbours",),
    ),
    Mutant(
        "a stage of the grid has no price", "kernels/grid.py",
        "total = price",
        "total = 0.0",
        (_GRID,),
    ),
    Mutant(
        "held-out rows are learnt from", "learning/instance_choice.py",
        "part, rest = every.take(learning), every.take(held)",
        "part, rest = every, every.take(held)",
        (_HONEST + "test_beliefs_of_a_fold_are_learnt_from_the_other_rows",),
    ),
    Mutant(
        "a fold's rows stay among those to learn from", "learning/folds.py",
        "yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)",
        "yield np.arange(folds.size), np.flatnonzero(folds == fold)",
        (_HONEST + "test_beliefs_of_a_fold_are_learnt_from_the_other_rows",),
    ),
    Mutant(
        "folds depend on the order of the rows", "learning/folds.py",
        "return np.lexsort((keys, np.argsort(_ranked_classes(codes, keys))[codes]))",
        "return np.argsort(codes, kind='stable')",
        ("tests/test_sequential.py::test_folds_and_samples_do_not_depend_on_how_rows_are_written_down",),
    ),
    Mutant(
        "look-ahead gives way without a standard error", "learning/instance_choice.py",
        "return information if mean > error_of_mean(extra, weights, n_rows) else ahead",
        "return information if mean > 0 else ahead",
        (_HONEST + "test_look_ahead_gives_way_only_to_what_is_cheaper_by_more_than_a_standard_error",),
    ),
    Mutant(
        "a candidate wins without a standard error", "learning/judging.py",
        "if mean < min(-_CLEAR * error, least):",
        "if mean < least:",
        (_JUDGING,),
    ),
    Mutant(
        "the winner's own cost is announced", "learning/judging.py",
        "name = self.choose(others) if others.any() else self.choose()",
        "name = self.choose()",
        (_JUDGING,),
    ),
    Mutant(
        "asking need not earn its price", "learning/judging.py",
        "return NOTHING if _mean(self.paid[NOTHING] - self.paid[best], weights)[0] <= 0 else best",
        "return best",
        (_JUDGING,),
    ),
    Mutant(
        "candidates are judged by rows that they had seen", "learning/judging.py",
        "clf = candidates[name]().fit(*rows.take(learning))",
        "clf = candidates[name]().fit(*rows)",
        (_JUDGING,),
    ),
    Mutant(
        "a temperature is taken for a gain that chance explains", "learning/temperature.py",
        "return (chosen, best) if gain > _HALF * error else (TEMPERATURES[0], first)",
        "return (chosen, best) if gain > 0 else (TEMPERATURES[0], first)",
        ("tests/test_temperature.py::test_the_cheapest_is_taken_unless_chance_may_have_chosen_it",),
    ),
    Mutant(
        "the certificate leaves out its standard error", "policies/points.py",
        "return min(max(c.bound - _CONFIDENCE * c.bound_error, 0.0), c.cost) + self.problem.floor_cost",
        "return min(max(c.bound, 0.0), c.cost) + self.problem.floor_cost",
        ("tests/policies/test_exact_and_points.py::test_the_certificate_allows_for_chance",),
    ),
    Mutant(
        "the dearer plan is kept", "policies/points.py",
        "better = total < cost[goes_on] * (1 - 1e-13)",
        "better = total > cost[goes_on] * (1 - 1e-13)",
        (_TREE,),
    ),
    Mutant(
        "prices are not added up along a path", "policies/expectation.py",
        "spent += problem.feature_costs[k]",
        "spent = problem.feature_costs[k]",
        (_TREE,),
    ),
    Mutant(
        "the horizon is one stage short", "policies/expectation.py",
        "if k == horizon:",
        "if k == horizon - 1:",
        (_TREE,),
    ),
    Mutant(
        "regrets are taken from the dearest decision", "problem.py",
        "return self.misclassification_costs.min(axis=1)",
        "return self.misclassification_costs.max(axis=1)",
        (_TREE,),
    ),
    Mutant(
        "the rule of an order asks where it should stop", "policies/regression.py",
        "going = can_gain & ((regression(functions) < 0) | free)",
        "going = can_gain & ((regression(functions) > 0) | free)",
        ("tests/test_sequential.py::test_rule_agrees_with_the_exact_solution",),
    ),
    Mutant(
        "the budget has no slack for rounding", "walks/acquisition.py",
        "return float(max_cost) * (1 + 1e-12)",
        "return float(max_cost)",
        (_HONEST + "test_a_budget_that_fits_to_the_cent_is_enough",),
    ),
    Mutant(
        "what was spent does not count against the budget", "policies/situation.py",
        "return self.spent + price <= self.budget",
        "return price <= self.budget",
        ("tests/cases/test_budgets.py",),
    ),
    Mutant(
        "what came for nothing gives a discount", "policies/situation.py",
        "return [column for column in knowledge.known if column not in self.free] + sorted(self.also_bought)",
        "return [column for column in knowledge.known] + sorted(self.also_bought)",
        (_HONEST + "test_what_came_for_nothing_gives_no_discount",),
    ),
    Mutant(
        "every member of a group pays its fee", "costs.py",
        "price[later] = self.discounted[order][later]",
        "price[later] = self.full[order][later]",
        ("tests/test_costs.py",),
    ),
    Mutant(
        "features without a group share one", "costs.py",
        "shared = group >= 0 and bool((self.group[list(bought)] == group).any()) if len(bought) else False",
        "shared = bool((self.group[list(bought)] == group).any()) if len(bought) else False",
        (_HONEST + "test_features_without_a_group_share_no_fee",),
    ),
    Mutant(
        "likelihoods are smoothed by half a row", "likelihood.py",
        "out = (self.cells + 1.0) / np.repeat(seen + n_values[:, None], n_values, axis=0)",
        "out = (self.cells + 0.5) / np.repeat(seen + n_values[:, None], n_values, axis=0)",
        ("tests/test_likelihood.py",),
    ),
    Mutant(
        "classes of a second part are not counted", "likelihood.py",
        "return replace(self, cells=self.cells + other.cells, classes=self.classes + other.classes)",
        "return replace(self, cells=self.cells + other.cells, classes=self.classes)",
        ("tests/test_likelihood.py",),
    ),
    Mutant(
        "a temperature sharpens instead of cooling", "likelihood.py",
        "power = 1.0 / temperature",
        "power = temperature",
        ("tests/test_temperature.py::test_tempered_likelihoods_by_hand",),
    ),
    Mutant(
        "the order by error is blind to prices", "ordering/scores.py",
        "return np.lexsort((columns, score, _significant(score * costs)))",
        "return np.lexsort((columns, score, _significant(score)))",
        ("tests/test_ordering.py::test_orders_are_those_of_the_twins",),
    ),
]  # fmt: skip
