"""Limits: named defaults, changed by name, refused when they make no sense."""

from dataclasses import fields

import pytest

from etana.errors import InputError
from etana.service.limits import Limits


def test_every_limit_has_a_default_and_a_word():
    for field in fields(Limits):
        assert getattr(Limits(), field.name) > 0
        assert f"    {field.name} : " in Limits.__doc__


def test_settings_change_what_they_name():
    limits = Limits.parse(["rows=7", "request_time=0.5"])
    assert (limits.rows, limits.request_time, limits.body) == (7, 0.5, Limits().body)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("rows", "name=value"),
        ("nonsense=3", "nonsense"),
        ("rows=many", "'many'"),
        ("rows=1.5", "'1.5'"),
        ("rows=0", "above 0"),
        ("rows=-1", "above 0"),
        ("request_time=inf", "finite"),
        ("request_time=nan", "finite"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(setting, said):
    with pytest.raises(InputError, match=said):
        Limits.parse([setting])


def test_a_limit_of_a_wrong_type_is_refused():
    with pytest.raises(InputError, match="whole number"):
        Limits(rows=1.5)
    with pytest.raises(InputError, match="number"):
        Limits(rows=True)
