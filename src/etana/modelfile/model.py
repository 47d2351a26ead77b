"""Saving a classifier and loading it again, without pickle.

One file holds all of a fitted classifier; :mod:`etana.modelfile.container` says how its bytes are laid out and
checked.

Metadata, each entry a text:

====================  ==================================================================================
``etana_format``      version of the format
``sha256``            digest of the whole file
``package_version``   version of etana that wrote it
``estimator``         name of the class, one of those in ``_HOMES``
``content``           JSON: ``parameters``, ``classes`` (type and labels), ``names`` of features or null,
                      ``binner`` (method, levels of categorical columns), ``policy`` (class and numbers);
                      of an adaptive classifier ``graph`` instead of ``policy``, of a sequential one
                      ``sequence`` instead of both
====================  ==================================================================================

Arrays, with K features, N classes and C cells (bins of all features):

=============================================  =========================================================
``binner.edges``, ``binner.edge_offsets``      edges of all columns, and where each column's start (K + 1,)
``binner.has_missing``                         columns in which a missing value has a bin (K,)
``counts.cells``, ``counts.classes``           training counts (C, N), (N,)
``order``                                      column asked at each stage (K,)
``problem.priors``, ``problem.cells``          P(T_i) (N,); P(F_k = v | T_i) in order of stages (C, N)
``problem.feature_costs``                      prices in order of stages (K,)
``problem.misclassification_costs``            (N, N)
``policy.*``                                   the policy's :class:`~etana.policies.base.State`
``parameters.*``                               parameters that are numeric arrays
=============================================  =========================================================

A decision graph takes the place of order, problem and policy: see :mod:`etana.modelfile.adaptive`. A sequential
classifier has neither bins nor counts: see :mod:`etana.modelfile.sequential`.

What can be derived is not stored, so that no two parts of a file can contradict each other. All the rest is
checked when it is read: a file that was made by hand, with a right digest, gives a valid model or an error.
Before a file is written the same checks run on what it would hold, so that a file that was saved can be loaded.

The policy is stored with what it announces. A model that is loaded therefore gives the same labels, costs,
posteriors and bounds, bit for bit, without solving or simulating anything again.

One thing is not etana's own to check: a scikit-learn estimator under a sequential classifier. It is written and read by
skops, and types that skops does not trust are refused unless the caller names them: see :mod:`etana.modelfile.foreign`.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import etana
from etana.acquisition import AnyModel, Model
from etana.binning import Binner
from etana.errors import EtanaError, InputError, ModelFileError
from etana.likelihood import Counts
from etana.modelfile import container
from etana.modelfile.adaptive import decode_graph, encode_graph
from etana.modelfile.foreign import Trust
from etana.modelfile.prices import read_costs, read_priors
from etana.modelfile.sequential import decode_estimator, decode_sequence, encode_sequence, own_types
from etana.modelfile.values import Decoder, Encoder
from etana.policies.base import Policy, State
from etana.policies.exact import ExactPolicy
from etana.policies.grid import GridPolicy
from etana.policies.points import AlphaPolicy, FittedPolicy, FreePolicy
from etana.policies.thresholds import ThresholdPolicy
from etana.problem import Problem, check_cells

__all__ = ["ModelFileError", "load", "load_model", "read_metadata", "save"]

# Classes that can be stored, with their modules: these import scikit-learn, which classification does not need.
_HOMES = {
    "ETANAClassifier": "etana.classifiers", "FETANAClassifier": "etana.classifiers",
    "AdaptiveClassifier": "etana.adaptive.classifier", "SequentialClassifier": "etana.sequential.classifier",
}  # fmt: skip
_ADAPTIVE, _SEQUENTIAL = "AdaptiveClassifier", "SequentialClassifier"
_POLICIES: dict[str, type[Policy]] = {
    p.__name__: p for p in (AlphaPolicy, ExactPolicy, FittedPolicy, FreePolicy, GridPolicy, ThresholdPolicy)
}


def save(clf: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to a file, all or nothing.

    A classifier whose policy is not solved yet (after ``partial_fit``) is solved first, and the bounds that it
    announces are computed, so that whoever loads the file need not.

    Parameters
    ----------
    clf : ETANAClassifier, FETANAClassifier, AdaptiveClassifier or SequentialClassifier
        Its parameters must be plain values, arrays, or objects of etana; ``random_state`` None or a whole number. A
        scikit-learn estimator under a SequentialClassifier is written by skops (``pip install 'etana[skops]'``).
    path : str or path
        A file that is there is replaced in one step; a crash leaves the old file or the new one.
    """
    estimator = _estimator_name(clf)
    model = clf.model_
    where = os.fsdecode(path)
    encoder = Encoder(getattr(clf, "binner_", None))
    with _clear_errors(f"this {estimator} cannot be stored", "change that, or keep it in memory"):
        given = clf.get_params(deep=False)
        foreign = given.pop("estimator", None)
        content = {
            "parameters": {k: encoder.encode(v, f"parameters.{k}") for k, v in given.items()},
            "classes": encoder.labels(model.classes),
            "names": encoder.names(model.names),
        }
        if estimator == _SEQUENTIAL:
            content["sequence"], own = encode_sequence(model, foreign, encoder)
        else:
            own = _encode_binned(clf, content, encoder)
        arrays = encoder.arrays | own
        text = json.dumps(content, sort_keys=True, allow_nan=False, separators=(",", ":"))
        _decode_estimator(estimator, json.loads(text), arrays, Trust(tuple(own_types(arrays)), where))
    metadata = {"package_version": etana.__version__, "estimator": estimator, "content": text}
    container.write(where, metadata, arrays)


def load(path: str | os.PathLike[str], trusted: Sequence[str] = ()) -> Any:
    """The classifier that :func:`save` wrote: same class, parameters and answers.

    Parameters
    ----------
    path : str or path
    trusted : sequence of str
        Names of types that a scikit-learn estimator in the file may be made of, besides those that skops trusts. Only
        for files whose maker you know: code of these types runs. An error names the types that a file needs.

    Raises
    ------
    ModelFileError
        If the file cannot be read, is damaged, is no model, is of a newer format, or needs types that are not trusted.
    """
    where = os.fsdecode(path)
    trust = Trust.of(trusted, where)
    metadata, arrays = container.read(where, lambda name: True)
    with _reading(where):
        return _decode_estimator(metadata["estimator"], json.loads(metadata["content"]), arrays, trust)


def load_model(path: str | os.PathLike[str], trusted: Sequence[str] = ()) -> AnyModel:
    """What classification needs of the classifier, with ``acquire`` and ``start``.

    Does not import scikit-learn, unless the file holds estimators of scikit-learn.

    Parameters
    ----------
    path, trusted
        As for :func:`load`.

    Raises
    ------
    ModelFileError
        As :func:`load`.
    """
    where = os.fsdecode(path)
    trust = Trust.of(trusted, where)
    metadata, arrays = container.read(where, lambda name: not name.startswith(("counts.", "parameters.", "walks.")))
    with _reading(where):
        return _decode_model(metadata["estimator"], json.loads(metadata["content"]), arrays, trust)[0]


def read_metadata(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a file says of itself, without reading its arrays; the digest is not checked.

    Returns
    -------
    dict
        With ``etana_format``, ``package_version``, ``sha256``, ``estimator``, ``parameters`` (as they are stored),
        ``classes``, ``feature_names`` (or None), ``policy``, and the policy's ``expected_n_features`` and
        ``lower_bound`` (None for a decision graph and a sequential classifier, which know of none).
    """
    where = os.fsdecode(path)
    metadata = container.read_metadata(where)
    with _reading(where):
        content = json.loads(metadata["content"])
        kind = {_ADAPTIVE: "graph", _SEQUENTIAL: "sequence"}.get(metadata["estimator"])
        policy = State({}, content["policy"]["numbers"] if kind is None else content[kind])
        return {
            **{name: metadata[name] for name in ("etana_format", "package_version", "sha256", "estimator")},
            "parameters": content["parameters"],
            "classes": Decoder({}).labels(content["classes"]).tolist(),
            "feature_names": content["names"],
            "policy": {"graph": "Graph", "sequence": "StoppingRule"}[kind] if kind else content["policy"]["class"],
            "expected_n_features": policy.number("n_features"),
            "lower_bound": None if kind else policy.number("lower_bound"),
        }


def _estimator_name(clf: Any) -> str:
    name = type(clf).__name__
    if name not in _HOMES or type(clf) is not getattr(importlib.import_module(_HOMES[name]), name):
        raise ModelFileError(
            f"a {type(clf).__module__}.{name} cannot be stored; an object of {' or '.join(_HOMES)} can"
        )
    return name


@contextlib.contextmanager
def _clear_errors(what: str, cure: str) -> Iterator[None]:
    """Whatever goes wrong with content that makes no sense becomes one error, with its reason."""
    try:
        with np.errstate(all="ignore"):
            yield
    except ModelFileError:
        raise
    except (EtanaError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError) as error:
        reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise ModelFileError(f"{what}: {reason}; {cure}") from error


def _reading(path: str) -> contextlib.AbstractContextManager[None]:
    return _clear_errors(f"{path} holds no valid model", "restore it from a copy, or save the model again")


def _encode_binned(clf: Any, content: dict[str, Any], encoder: Encoder) -> dict[str, np.ndarray]:
    """Put bins and policy or graph into the content; returns the arrays of a classifier over binned features."""
    model = clf.model_
    content["binner"] = encoder.binner(model.binner, "binner")
    if isinstance(model, Model):
        content["policy"], own = _encode_policy(model.policy, encoder), _problem_arrays(model)
    else:
        content["graph"], own = encode_graph(model, clf.cv_costs_)
    return own | {"counts.cells": clf.counts_.cells, "counts.classes": clf.counts_.classes}


def _problem_arrays(model: Model) -> dict[str, np.ndarray]:
    problem = model.problem
    return {
        "order": model.order,
        "problem.priors": problem.priors,
        "problem.cells": problem.cells,
        "problem.feature_costs": problem.feature_costs,
        "problem.misclassification_costs": problem.misclassification_costs,
    }


def _encode_policy(policy: Policy, encoder: Encoder) -> dict[str, Any]:
    name = type(policy).__name__
    if _POLICIES.get(name) is not type(policy):
        raise InputError(f"its policy is a {name}; those of etana's own solvers can be stored")
    if not isinstance(policy.random_state, int | np.integer):
        raise InputError(f"its solver has random_state={policy.random_state!r}; give the solver a whole number")
    state = policy.state()
    encoder.arrays |= {f"policy.{key}": array for key, array in state.arrays.items()}
    return {"class": name, "numbers": state.numbers}


def _decode_estimator(name: str, content: dict[str, Any], arrays: dict[str, np.ndarray], trust: Trust) -> Any:
    if name not in _HOMES:
        raise InputError(f"its class {name!r} is not known to this version of etana; upgrade etana")
    model, learnt = _decode_model(name, content, arrays, trust)
    kind = getattr(importlib.import_module(_HOMES[name]), name)
    given = content["parameters"]
    unknown = sorted(set(given) - set(kind().get_params(deep=False)))
    if unknown:
        raise InputError(f"{name} has no parameter {', '.join(map(repr, unknown))} in this version of etana")
    decoder = Decoder(arrays, learnt.get("binner_"))
    clf = kind(**{key: decoder.decode(value) for key, value in given.items()})
    clf.classes_, clf.n_features_in_ = model.classes, model.n_features
    if model.names is not None:
        clf.feature_names_in_ = np.array(model.names, dtype=object)
    if name == _SEQUENTIAL:
        clf.estimator = decode_estimator(content["sequence"], arrays, trust)
    else:
        clf.counts_ = _decode_counts(arrays, learnt["binner_"], model.classes.size)
    clf._model = model
    vars(clf).update(learnt)
    return clf


def _decode_counts(arrays: dict[str, np.ndarray], binner: Binner, n: int) -> Counts:
    offsets = binner.cell_offsets
    state = State(arrays, {})
    cells, totals = state.array("counts.cells", (int(offsets[-1]), n)), state.array("counts.classes", (n,))
    for counts in (cells, totals):
        if not (np.isfinite(counts).all() and (counts >= 0).all()):
            raise InputError("a training count is negative or not finite")
    return Counts(cells, offsets, totals)


def _decode_model(
    estimator: str, content: dict[str, Any], arrays: dict[str, np.ndarray], trust: Trust
) -> tuple[AnyModel, dict[str, Any]]:
    """The model, and the attributes that its classifier learnt."""
    decoder = Decoder(arrays)
    classes = decoder.labels(content["classes"])
    # Labels are looked up by binary search.
    if not classes.size or (classes[1:] <= classes[:-1]).any() or (classes != classes).any():
        raise InputError("class labels are not sorted and distinct")
    if estimator == _SEQUENTIAL:
        sequential = decode_sequence(content["sequence"], arrays, classes, content["names"], trust)
        return sequential, {"_levels": sequential.levels, "_learnt": sequential.learnt}
    binner = decoder.binner(content["binner"])
    names = decoder.names(content["names"], binner.n_features)
    if estimator == _ADAPTIVE:
        adaptive, costs = decode_graph(content["graph"], arrays, binner, classes, names)
        chosen = {"m_": adaptive.graph.evidence.m, "look_ahead_": adaptive.graph.levels}
        return adaptive, {"binner_": binner, "cv_costs_": costs} | chosen
    state = State(arrays, {})
    order = state.array("order", (binner.n_features,), np.int64)
    if not binner.n_features or not np.array_equal(np.sort(order), np.arange(order.size)):
        raise InputError("the order does not hold every column once")
    problem = _decode_problem(state, binner, order, classes.size)
    policy = _decode_policy(content["policy"], arrays, problem)
    return Model(binner, classes, order, problem, policy, names), {"binner_": binner}


def _decode_problem(state: State, binner: Binner, order: np.ndarray, n: int) -> Problem:
    priors = read_priors(state, "problem.priors", n)
    offsets = np.concatenate(([0], np.cumsum(np.diff(binner.cell_offsets)[order], dtype=np.int64)))
    cells = state.array("problem.cells", (int(offsets[-1]), n))
    check_cells(cells, offsets)
    # Smoothing leaves no zeros; with one, evidence could rule out every class.
    if not (cells > 0).all():
        raise InputError("a likelihood is zero")
    prices = read_costs(state, "problem.feature_costs", (order.size,))
    mistakes = read_costs(state, "problem.misclassification_costs", (n, n))
    problem = Problem.from_cells(priors, cells, offsets, prices, np.zeros((n, n)))
    # Set here, for the warning about odd costs was given when the classifier was fitted.
    problem.misclassification_costs = mistakes
    return problem


def _decode_policy(content: dict[str, Any], arrays: dict[str, np.ndarray], problem: Problem) -> Policy:
    own = {name.removeprefix("policy."): a for name, a in arrays.items() if name.startswith("policy.")}
    if content["class"] not in _POLICIES:
        raise InputError(f"its policy {content['class']!r} is not known to this version of etana; upgrade etana")
    return _POLICIES[content["class"]].restore(problem, State(own, content["numbers"]))
