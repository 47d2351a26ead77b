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
                      ``beliefs`` and ``policy`` (class and values of each; parts of parts stand within),
                      ``expectation``, ``learnt`` (what the classifier keeps besides the model); if features
                      are described, ``dictionary``; if cells were declared missing, ``missing``, their spellings;
                      if held-out rows judged it, ``judgement``
====================  ==================================================================================

Arrays, with K features and N classes:

=============================================  =========================================================
``beliefs.*``, ``policy.*``                    those of the parts: see ``state`` of each class, and
                                               :mod:`etana.modelfile.parts` for the list of classes
``prices.full``, ``.discounted``, ``.group``   prices of all features (K,); group -1 is none
``prices.round``, ``.delayed``                 where waiting has a price: that of a round (1,), and who waits (K,)
``costs.mistakes``                             misclassification costs (N, N)
``expectation.*``                              :meth:`etana.policies.Expectation.state`
``learnt.*``                                   training counts, or walks of training rows: what new prices need
``parameters.*``                               parameters that are numeric arrays
=============================================  =========================================================

What can be derived is not stored, so that no two parts of a file can contradict each other. All the rest is
checked when it is read: a file that was made by hand, with a right digest, gives a valid model or an error.

The policy is stored with what it announces. A model that is loaded therefore gives the same labels, costs,
posteriors and bounds, bit for bit, without solving or simulating anything again. Two kinds of beliefs hold training
rows: nearest neighbours as encoded values, path counts as the numbers of the bins. Who must not pass these on, uses
naive Bayes or logistic regression.

One thing is not etana's own to check: a scikit-learn estimator as beliefs. It is written and read by skops, and types
that skops does not trust are refused unless the caller names them: see :mod:`etana.modelfile.foreign`.
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
from etana.beliefs.base import Beliefs
from etana.beliefs.prefixes.estimators import ForeignObject
from etana.costs import ResolvedCosts
from etana.dictionary import Dictionary
from etana.errors import EtanaError, InputError, ModelFileError
from etana.judgement import Judgement
from etana.model import Model
from etana.modelfile import container
from etana.modelfile.foreign import Trust
from etana.modelfile.parts import PARTS, encode_part, encode_values
from etana.modelfile.state import OpenFile, State, restore_part
from etana.modelfile.values import Decoder, Encoder
from etana.parameters import check_parameters
from etana.policies.base import Policy
from etana.policies.expectation import Expectation

__all__ = ["ModelFileError", "load", "load_model", "read_metadata", "save"]

# Classes that can be stored, with their modules: these import scikit-learn, which classification does not need.
_HOMES = {
    "ETANAClassifier": "etana.classifiers.fixed", "FETANAClassifier": "etana.classifiers.fixed",
    "AdaptiveClassifier": "etana.classifiers.adaptive", "SequentialClassifier": "etana.classifiers.sequential",
    "CommitteeClassifier": "etana.classifiers.committee", "FrugalClassifier": "etana.classifiers.frugal",
}  # fmt: skip
_NOT_FOR_CLASSIFICATION = ("learnt.", "parameters.")


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
    name, model = _estimator_name(clf), clf.model_
    where = os.fsdecode(path)
    encoder = Encoder(getattr(clf, "binner_", None))
    with _clear_errors(f"this {name} cannot be stored", "change that, or keep it in memory"):
        learnt_arrays, learnt_values = clf.learnt_state()
        given = clf.get_params(deep=False)
        content = {
            "parameters": {key: _encode_parameter(value, f"parameters.{key}", encoder) for key, value in given.items()},
            "classes": encoder.labels(model.classes),
            "names": encoder.names(model.names),
            "beliefs": encode_part(model.beliefs, "beliefs", encoder),
            "policy": encode_part(model.policy, "policy", encoder),
            "expectation": encode_part(model.expectation, "expectation", encoder),
            "learnt": encode_values(learnt_arrays, learnt_values, "learnt", encoder),
        }
        if model.judgement is not None:
            content["judgement"] = encode_part(model.judgement, "judgement", encoder)
        encoder.arrays |= {f"prices.{key}": array for key, array in _price_arrays(model.prices).items()}
        encoder.arrays["costs.mistakes"] = model.mistakes
        if model.dictionary:
            content["dictionary"] = model.dictionary.state()
        if model.dictionary.missing:
            content["missing"] = list(model.dictionary.missing)
        check_parameters(clf)  # which may have been set after the fit, and are checked when they are read
        text = json.dumps(content, sort_keys=True, allow_nan=False, separators=(",", ":"))
    metadata = {"package_version": etana.__version__, "estimator": name, "content": text}
    container.write(where, metadata, encoder.arrays)


def _encode_parameter(value: Any, name: str, encoder: Encoder) -> Any:
    """A parameter; one that is an estimator itself is not etana's own to write."""
    if hasattr(value, "get_params"):
        return {"type": "foreign"} | encode_values({}, {"": ForeignObject(value)}, name, encoder)
    return encoder.encode(value, name)


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
        return _decode_estimator(metadata["estimator"], json.loads(metadata["content"]), OpenFile(arrays, trust, PARTS))


def load_model(path: str | os.PathLike[str], trusted: Sequence[str] = ()) -> Model:
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
    metadata, arrays = container.read(where, lambda name: not name.startswith(_NOT_FOR_CLASSIFICATION))
    with _reading(where):
        return _decode_model(json.loads(metadata["content"]), OpenFile(arrays, trust, PARTS))


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
        policy = content["policy"]
        rule = policy["values"].get("stopping", policy)
        return {
            **{name: metadata[name] for name in ("etana_format", "package_version", "sha256", "estimator")},
            "parameters": content["parameters"],
            "classes": Decoder({}).labels(content["classes"]).tolist(),
            "feature_names": content["names"],
            "beliefs": content["beliefs"]["class"],
            "policy": rule["class"],
            "expected_n_features": content["expectation"]["values"]["n_features"],
            "lower_bound": rule["values"].get("lower_bound"),
        }


def _price_arrays(prices: ResolvedCosts) -> dict[str, np.ndarray]:
    arrays = {"full": prices.full, "discounted": prices.discounted, "group": prices.group}
    if prices.waiting is None:
        return arrays
    return arrays | {"round": np.array([prices.waiting.price]), "delayed": prices.waiting.delayed}


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


def _decode_estimator(name: str, content: dict[str, Any], source: OpenFile) -> Any:
    if name not in _HOMES:
        raise InputError(f"its class {name!r} is not known to this version of etana; upgrade etana")
    kind = getattr(importlib.import_module(_HOMES[name]), name)
    kind.check_made_of(content["beliefs"]["class"], content["policy"]["class"])
    model = _decode_model(content, source)
    given = content["parameters"]
    unknown = sorted(set(given) - set(kind().get_params(deep=False)))
    if unknown:
        raise InputError(f"{name} has no parameter {', '.join(map(repr, unknown))} in this version of etana")
    decoder = Decoder(dict(source.arrays), getattr(model.beliefs, "binner", None))
    clf = kind(**{key: _decode_parameter(value, f"parameters.{key}", decoder, source) for key, value in given.items()})
    check_parameters(clf)
    clf.restore_model(model)
    clf.restore_learnt(State(source, "learnt", content["learnt"]))
    return clf


def _decode_parameter(value: Any, name: str, decoder: Decoder, source: OpenFile) -> Any:
    if isinstance(value, dict) and value.get("type") == "foreign":
        return State(source, name, value).foreign("")
    return decoder.decode(value)


def _decode_model(content: dict[str, Any], source: OpenFile) -> Model:
    decoder = Decoder({})
    classes = decoder.labels(content["classes"])
    # Labels are looked up by binary search.
    if not classes.size or (classes[1:] <= classes[:-1]).any() or (classes != classes).any():
        raise InputError("class labels are not sorted and distinct")
    n = classes.size
    beliefs = restore_part(source, "beliefs", content["beliefs"], Beliefs, n)
    expectation = restore_part(source, "expectation", content["expectation"], Expectation, n)
    prices = State(source, "prices", {}).prices()
    mistakes = State(source, "costs", {}).costs("mistakes", (n, n))
    if prices.full.size != beliefs.n_features:
        raise InputError(f"there are prices for {prices.full.size} features, and {beliefs.n_features} features")
    policy = restore_part(source, "policy", content["policy"], Policy, beliefs, prices, mistakes, expectation)
    judgement = None
    if "judgement" in content:
        judgement = restore_part(source, "judgement", content["judgement"], Judgement)
    names = decoder.names(content["names"], beliefs.n_features)
    words = Dictionary(content.get("dictionary"), content.get("missing", ()))
    model = Model(beliefs, policy, classes, names, words, judgement)
    vars(model)["expectation"] = expectation
    return model
