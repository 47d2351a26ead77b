"""The independence tests against NumPy, SciPy, scikit-learn and statsmodels; streams against single tests."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import normalized_mutual_info_score

from etana.errors import InputError
from etana.selection.base import Target
from etana.selection.independence import (
    CountTest,
    FisherZTest,
    chi2,
    correlation_cutoffs,
    fisher_z,
    g2,
    partial_correlation,
    symmetrical_uncertainty,
)


def numbers(seed, n=60, k=3):
    rng = np.random.default_rng(seed)
    given = rng.normal(size=(n, k))
    a = given @ rng.normal(size=k) + rng.normal(size=n)
    b = given @ rng.normal(size=k) + 0.5 * a + rng.normal(size=n)
    return a, b, given


def counts(seed, n=400):
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, n)
    a = (rng.integers(0, 3, n) + s) % 3
    b = np.where(rng.random(n) < 0.3, a % 2, rng.integers(0, 2, n))
    return a, b, s


# --- Fisher's z --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_plain_correlation_is_pearsons(seed):
    a, b, _ = numbers(seed)
    assert partial_correlation(a, b) == pytest.approx(stats.pearsonr(a, b).statistic, abs=1e-13)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_partial_correlation_is_read_off_the_precision_matrix(k):
    a, b, given = numbers(k, k=k)
    precision = np.linalg.inv(np.cov(np.column_stack([a, b, given]).T))
    expected = -precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1])
    assert partial_correlation(a, b, given) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_partial_correlation_is_that_of_a_regression_in_statsmodels(k):
    from statsmodels.regression import linear_model

    a, b, given = numbers(k, k=k)
    fit = linear_model.OLS(b, np.column_stack([a, given, np.ones(len(a))])).fit()
    expected = fit.tvalues[0] / np.sqrt(fit.tvalues[0] ** 2 + fit.df_resid)
    assert partial_correlation(a, b, given) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("k", [0, 1, 3])
def test_z_is_normal_under_independence(k):
    rng = np.random.default_rng(k)
    z = []
    for _ in range(2000):
        columns = rng.normal(size=(30, k + 2))
        z.append(fisher_z(columns[:, 0], columns[:, 1], columns[:, 2:] if k else None).statistic)
    assert stats.kstest(z, "norm").pvalue > 0.001


def test_z_and_its_p_value():
    a, b, given = numbers(1)
    result = fisher_z(a, b, given)
    z = np.sqrt(len(a) - 3 - 3) * np.arctanh(partial_correlation(a, b, given))
    assert result.statistic == pytest.approx(z)
    assert result.p_value == pytest.approx(2 * stats.norm.sf(abs(z)))
    assert result.testable
    assert result.independent(0.01) == (result.p_value >= 0.01)


def test_cutoffs_are_the_same_test():
    for r_sign in (-1e-9, 1e-9):
        for k, r in enumerate(correlation_cutoffs(40, 0.01, 3)):
            z = np.sqrt(40 - k - 3) * np.arctanh(r + r_sign)
            assert (2 * stats.norm.sf(z) < 0.01) == (r_sign > 0)


def test_what_cannot_be_tested_is_not_dependent():
    a, b, given = numbers(0)
    constant = np.full(len(a), 0.1)
    assert not fisher_z(constant, b).testable
    assert not fisher_z(given[:, 0], b, given).testable  # a is part of the conditioning set
    assert not fisher_z(given[:, 0] + 2 * given[:, 1], b, given).testable  # or a function of it
    assert not fisher_z(a[:3], b[:3]).testable
    assert fisher_z(constant, b).independent()
    assert fisher_z(a, 2 * a + 1).p_value == 0.0


def test_conditioning_on_a_column_twice_is_conditioning_on_it_once():
    a, b, given = numbers(0, k=1)
    twice = np.column_stack([given, given, np.ones(len(a))])
    assert partial_correlation(a, b, twice) == pytest.approx(partial_correlation(a, b, given), abs=1e-12)


# --- counts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_plain_g2_is_scipys(seed):
    a, b, _ = counts(seed)
    table = stats.contingency.crosstab(a, b).count
    expected = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
    result = g2(a, b)
    assert (result.statistic, result.p_value, result.dof) == pytest.approx(
        (expected.statistic, expected.pvalue, expected.dof)
    )


@pytest.mark.parametrize("seed", range(3))
def test_conditional_g2_is_the_deviance_of_a_log_linear_model_in_statsmodels(seed):
    from statsmodels.genmod import families
    from statsmodels.genmod import generalized_linear_model as glm

    a, b, s = counts(seed)
    cells = np.array([(i, j, k) for i in range(3) for j in range(2) for k in range(2)])
    observed = np.array([np.sum((a == i) & (b == j) & (s == k)) for i, j, k in cells])
    # a and b independent given s: effects of s, a, b, and of s with each
    design = np.column_stack(
        [(cells[:, 2] == k) & (cells[:, 0] == i) for k in range(2) for i in range(3)]
        + [(cells[:, 2] == k) & (cells[:, 1] == 1) for k in range(2)]
    ).astype(float)
    fit = glm.GLM(observed, design, family=families.Poisson()).fit(tol=1e-12)
    result = g2(a, b, s)
    assert result.statistic == pytest.approx(fit.deviance, rel=1e-8)
    assert result.dof == fit.df_resid == 4
    assert result.p_value == pytest.approx(stats.chi2.sf(fit.deviance, 4))


def test_conditional_statistics_add_over_strata():
    a, b, s = counts(7)
    pairs = s + 2 * (np.arange(len(a)) % 2)
    given = np.column_stack([s, np.arange(len(a)) % 2])
    parts = [(a[pairs == v], b[pairs == v]) for v in range(4)]
    assert g2(a, b, given).statistic == pytest.approx(sum(g2(*part).statistic for part in parts))
    assert chi2(a, b, given).statistic == pytest.approx(sum(chi2(*part).statistic for part in parts))


def test_chi2_has_no_correction_where_ten_are_expected_in_every_cell():
    a, b, _ = counts(0)
    expected = stats.chi2_contingency(stats.contingency.crosstab(a, b).count, correction=False)
    assert (chi2(a, b).statistic, chi2(a, b).p_value) == pytest.approx((expected.statistic, expected.pvalue))


def test_chi2_is_corrected_where_fewer_are_expected():
    a = np.repeat([0, 0, 1, 1], [9, 6, 5, 8])
    b = np.repeat([0, 1, 0, 1], [9, 6, 5, 8])
    expected = stats.chi2_contingency([[9, 6], [5, 8]], correction=True)  # Yates, the same in this table
    assert chi2(a, b).statistic == pytest.approx(expected.statistic)


def test_degrees_of_freedom_and_the_reliability_rule():
    a, b, s = counts(0, n=40)
    assert g2(a, b, s).dof == 2 * 1 * 2
    assert g2(a, b, s).testable
    few = g2(a[:19], b[:19], s[:19])
    assert not few.testable
    assert few.p_value == 1.0
    assert g2(a * 2 + 1, b + 1, levels="max").dof == 4 * 1  # levels 1 .. 5, two of them empty
    assert g2(np.zeros(40), b).independent()


def test_exact_independence_has_statistic_zero():
    a, b = np.tile([0, 1, 2], 20), np.repeat([0, 1], 30)
    assert g2(a, b).statistic == 0.0
    assert symmetrical_uncertainty(a, b) == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_symmetrical_uncertainty_is_normalised_mutual_information(seed):
    a, b, _ = counts(seed)
    assert symmetrical_uncertainty(a, b) == pytest.approx(normalized_mutual_info_score(a, b))
    assert symmetrical_uncertainty(a, 5 - a) == pytest.approx(1.0)
    assert symmetrical_uncertainty(np.ones(9), np.ones(9)) == 0.0


def test_counting_tests_say_what_they_need():
    with pytest.raises(InputError, match=r"whole numbers.*Bin the data"):
        g2([0.5, 1.0], [0, 1])
    with pytest.raises(InputError, match="below 1"):
        chi2([0, 1], [1, 2], levels="max")


# --- the stream --------------------------------------------------------------------------------------------


def separated_by_single_tests(test, columns, y, v, others, newest_only, alpha):
    return any(
        test(columns[:, v], y, columns[:, list(subset)]).independent(alpha)
        for k in range(1, min(3, len(others)) + 1)
        for subset in combinations(others, k)
        if not newest_only or others[-1] in subset
    )


@pytest.mark.parametrize("kind", ["fisher_z", "g2", "chi2"])
@pytest.mark.parametrize("newest_only", [False, True])
def test_a_stream_asks_the_same_questions_as_single_tests(kind, newest_only):
    rng = np.random.default_rng(3)
    answers = []
    for _ in range(15):
        y = rng.integers(0, 2, 300)
        columns = rng.normal(size=(300, 6)) + 0.6 * y[:, None] * rng.random(6)
        columns[:, 3] += columns[:, 2]
        if kind != "fisher_z":
            columns = np.clip(np.round(columns), 0, 2)
        target = Target.of(y)
        stream = FisherZTest(target, 0.05, 3) if kind == "fisher_z" else CountTest(target, kind, 0.05, 3, "observed")
        relevant = []
        for j in stream.relevant(columns):
            stream.push(j)
            relevant.append(j)
        single = {"fisher_z": fisher_z, "g2": g2, "chi2": chi2}[kind]
        assert relevant == [j for j in range(6) if not single(columns[:, j], y).independent(0.05)]
        for v in range(len(relevant)):
            others = [h for h in range(len(relevant)) if h != v]
            if others:
                got = stream.separated(v, others, newest_only)
                kept = columns[:, relevant]
                assert got == separated_by_single_tests(single, kept, y, v, others, newest_only, 0.05)
                answers.append(got)
    assert 0 < sum(answers) < len(answers)
