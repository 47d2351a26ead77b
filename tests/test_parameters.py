"""One declared way to say what a parameter may be."""

import inspect
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

from etana import Binner, selection
from etana.errors import InputError
from etana.parameters import (
    anything,
    check_parameters,
    check_value,
    either,
    flag,
    has_method,
    instance_of,
    none,
    number,
    one_of,
    parameters_of,
    seed,
    sequence,
    whole,
)
from etana.policies import ExactSolver, GridSolver, PointsSolver, ThresholdSolver

CHECKED = [
    Binner, ExactSolver, GridSolver, PointsSolver, ThresholdSolver,
    *(getattr(selection, name) for name in selection.__all__),
]  # fmt: skip


@pytest.mark.parametrize(
    ("allowed", "good", "bad"),
    [
        (one_of("skip", "bin"), ["skip", np.str_("bin")], ["", "Skip", None, 1, b"skip", np.array(["skip", "bin"])]),
        (whole(), [0, -3, 10**30, np.int8(4), np.uint64(2**64 - 1)], [1.0, True, np.True_, "1", None, np.float64(2)]),
        (whole(least=1, most=20), [1, 20, np.int32(7)], [0, 21, np.int64(-1)]),
        (number(), [0, -1.5, np.float32(2), Fraction(1, 3)], [np.nan, np.inf, -np.inf, True, "1", 1j, None, [1.0]]),
        (number(infinite=True), [np.inf, -np.inf, 3], [np.nan, False]),
        (number(least=0, most=1), [0, 1, 0.5], [-1e-9, 1.0000001]),
        (number(above=0, below=1), [1e-300, 0.999], [0, 1, 0.0, 1.0]),
        (flag, [True, False, np.True_], [0, 1, None, "yes"]),
        (none, [None], [0, False, ""]),
        (instance_of((list, dict), "a list or a mapping"), [[], {}], [(), None]),
        (has_method("append", "pop"), [[]], [list, {}, None, "append"]),
        (sequence("an array"), [[1], (), np.zeros((2, 2))], ["ab", b"ab", {"a": 1}, 3, None]),
        (seed, [None, 0, np.int64(3), np.random.default_rng(0), np.random.RandomState(0)], [-1, 1.5, "0", True]),
        (anything, [None, object()], []),
        (either(one_of("auto"), whole(least=1)), ["auto", 1], ["x", 0, 1.5, None, True]),
    ],
)
def test_constraints_allow_what_they_say(allowed, good, bad):
    for value in good:
        check_value("it", value, allowed)
    for value in bad:
        with pytest.raises(InputError, match=r"^it is "):
            check_value("it", value, allowed)


@pytest.mark.parametrize(
    ("allowed", "words"),
    [
        (one_of("skip", "bin"), "'skip' or 'bin'"),
        (either(one_of("auto"), whole(least=1)), "'auto' or a whole number >= 1"),
        (either(one_of("a", "b"), none, whole()), "'a', 'b', None or a whole number"),
        (whole(least=16, most=2**24), "a whole number >= 16 and <= 16777216"),
        (number(above=0), "a finite number > 0"),
        (number(above=0, most=1), "a number > 0 and <= 1"),
        (number(least=0, infinite=True), "a number >= 0"),
        (flag, "True or False"),
        (has_method("fit", "predict"), "an object with the methods fit and predict"),
        (whole(least=1).cure("use 'auto' if unsure"), "a whole number >= 1; use 'auto' if unsure"),
        (either(none, whole().cure("count them")), "None or a whole number; count them"),
    ],
)
def test_messages_name_what_was_given_and_what_is_allowed(allowed, words):
    with pytest.raises(InputError) as caught:
        check_value("n_bins", b"x", allowed)
    assert str(caught.value) == f"n_bins is b'x'; it must be {words}"


def test_messages_can_use_another_name():
    with pytest.raises(InputError, match=r"^binning is 'x'; it must be 'uniform'$"):
        check_value("method", "x", one_of("uniform").called("binning"))


def test_a_long_value_is_shortened():
    with pytest.raises(InputError) as caught:
        check_value("n_bins", np.arange(500), whole())
    assert len(str(caught.value)) < 200


class Parent:
    _parameters: ClassVar = {"size": whole(least=1), "kind": one_of("a")}

    def __init__(self, size=1, kind="a"):
        self.size, self.kind = size, kind


class Child(Parent):
    _parameters: ClassVar = {"kind": one_of("a", "b"), "extra": flag}

    def __init__(self, size=1, kind="b", extra=True):
        super().__init__(size, kind)
        self.extra = extra


def test_a_table_extends_its_parents():
    check_parameters(Child())
    assert list(parameters_of(Child)) == ["size", "kind", "extra"]
    for wrong, message in [
        (Child(size=0), "size is 0; it must be a whole number >= 1"),
        (Child(kind="c"), "kind is 'c'; it must be 'a' or 'b'"),
        (Child(extra=1), "extra is 1; it must be True or False"),
        (Parent(kind="b"), "kind is 'b'; it must be 'a'"),
    ]:
        with pytest.raises(InputError, match=f"^{message}$"):
            check_parameters(wrong)


def test_some_parameters_alone():
    wrong = Child(size=0)
    check_parameters(wrong, "kind", "extra")
    with pytest.raises(InputError, match="size is 0"):
        check_parameters(wrong, "kind", "size")


@pytest.mark.parametrize("kind", CHECKED)
def test_every_parameter_is_declared_and_its_default_allowed(kind):
    assert set(parameters_of(kind)) == set(inspect.signature(kind).parameters)
    check_parameters(kind())
