"""An option: how its values are read, and what is said of one that cannot work."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from contentspider.crawl.base.option import Option, SettingError, assignment, header
from tests.messages import raises, wording


def option(default: Any, **fields: Any) -> Option:
    return Option(name="tea", default=default, help="Tea.", **fields)


@pytest.mark.parametrize(
    ("default", "value", "found"),
    [
        (False, "TRUE", True),
        (True, "0", False),
        (False, 1, True),
        (True, False, False),
        (5, "7", 7),
        (5, 7.0, 7),
        (0.5, "1e3", 1000.0),
        ("", Path("a/b"), "a/b"),
        ([], "a, b ,c", ["a", "b", "c"]),
        ([], ("a", 5), ["a", "5"]),
        ([], "", []),
        ([], " [] ", []),
        ([], "a,", ["a"]),
        ({}, '{"a": 1}', {"a": 1}),
        ({}, [("a", 1)], {"a": 1}),
    ],
)
def test_option_value_is_parsed_with_type_of_default(default: Any, value: Any, found: Any) -> None:
    read = option(default).read(value)
    assert read == found
    assert type(read) is type(found)


@pytest.mark.parametrize(
    ("made", "value", "advice"),
    [
        (option(False), "maybe", "give true or false"),
        (option(True), None, "give true or false, such as True"),
        (option(5), "x", "give a whole number, such as 5"),
        (option(5), 2.5, "give a whole number, such as 5"),
        (option(0, minimum=0), -1, "give a whole number from 0 on"),
        (option(5, minimum=1), 0, "give a whole number from 1 on, such as 5"),
        (option(0.5, minimum=0, maximum=1), 1.1, "give a number from 0 to 1, such as 0.5"),
        (option(0.5, minimum=0, maximum=1), math.nan, "give a number from 0 to 1, such as 0.5"),
        (option(5), math.inf, "give a whole number, such as 5"),
        (option(""), 5, "give text"),
        (option([]), 5, "give a list of texts, or texts with commas between them"),
        (option({}), "[1]", "give a table: a dict, or a JSON object"),
        (option("", choices=("", "a", "b")), "c", "use one of 'a', 'b'"),
    ],
)
def test_invalid_option_value_raises_setting_error_with_advice(
    made: Option, value: Any, advice: str
) -> None:
    with pytest.raises(SettingError) as raised:
        made.read(value)
    assert str(raised.value) == advice


def test_option_bounds_and_choices_accept_their_limits() -> None:
    made = option(0.5, minimum=0, maximum=1)
    assert (made.read(0), made.read("1")) == (0.0, 1.0)
    assert option("", choices=("", "a")).read("") == ""


@pytest.mark.parametrize(
    ("default", "right", "wrong"),
    [
        (False, True, "true"),
        (5, 7, True),
        (5, 7, "7"),
        (0.5, 7, False),
        ("x", "a", " "),
        ("x", "a", 5),
        ([], ["a", "b"], ["a", 5]),
        ([], ["a"], [""]),
    ],
)
def test_strict_option_value_must_have_type_of_default(
    default: Any, right: Any, wrong: Any
) -> None:
    made = option(default)
    assert made.read(right, strict=True) == right
    with pytest.raises(SettingError, match=f"^{made.advice}$"):
        made.read(wrong, strict=True)
    assert option([]).read("a", strict=True) == ["a"]


def test_setting_error_names_setting_and_none_gives_default() -> None:
    made = option(5, setting="CONTENTSPIDER_TEA")
    assert (made.read_setting(None), made.read_setting("7")) == (5, 7)
    said = (
        "CONTENTSPIDER_TEA='x' "
        + wording("crawl.value-unusable")
        + " give a whole number, such as 5"
    )
    with pytest.raises(SettingError) as raised:
        made.read_setting("x")
    assert str(raised.value) == said


def test_option_is_named_by_its_long_flag() -> None:
    made = option(False, flags="-t --no-green-tea")
    assert (made.flag, made.key) == ("--no-green-tea", "green_tea")


def test_assignments_and_headers_are_split_at_first_separator() -> None:
    assert assignment("a=b=c") == ("a", "b=c")
    assert assignment("a=") == ("a", "")
    assert header(" X-Tea : green: or black ") == ("X-Tea", "green: or black")
    for wrong in ("", "a", "=b"):
        with pytest.raises(SettingError, match=r"^give NAME=VALUE$"):
            assignment(wrong)
    for wrong in ("", "a", ":b", "a b: c", "caf\u00e9: c"):
        with pytest.raises(SettingError, match=r"^give NAME:VALUE$"):
            header(wrong)
    for wrong in ("b\r\nc", "b\nc", "b\rc", "b\0c"):
        with raises(SettingError, "header-lines", "'a'"):
            header(f"a:{wrong}")
