"""The language of filters: how comparisons are read and written."""

from __future__ import annotations

import time

import pytest

from contentspider.index.filters import Comparison, FilterError, Order, fields_of
from contentspider.index.own_fields import typed_values

TYPES = fields_of({"price": ["number"], "brand": ["text"]})


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("brand=Acme", ("Acme",)),
        (" brand = Acme | Bolt & Co ", ("Acme", "Bolt & Co")),
        (r"brand=A\|B", ("A|B",)),
        (r"brand=C:\dir", (r"C:\dir",)),
        (r"brand=\\\||\\", (r"\|", "\\")),
        (r"brand=\\a\\|b", (r"\a" + "\\", "b")),
        ("brand=a=b<c", ("a=b<c",)),
        ("brand=two\nlines", ("two\nlines",)),
    ],
)
def test_alternatives_are_read_and_written_back(text: str, values: tuple[str, ...]) -> None:
    comparison = Comparison.parse(text)
    assert comparison.values == values
    assert Comparison.parse(str(comparison)) == comparison


@pytest.mark.parametrize(
    "text", ["brand=", "brand=|", "brand=a||b", r"brand=\||", "=a", "price<1|2"]
)
def test_filters_without_a_value_are_refused(text: str) -> None:
    with pytest.raises(FilterError):
        Comparison.parse(text)


def test_dates_beyond_the_calendar_are_refused() -> None:
    for day in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-02-30"):
        with pytest.raises(FilterError):
            Comparison.parse(f"published_at>{day}").conditions(TYPES["published_at"])


@pytest.mark.parametrize(
    "text",
    [
        "price=" + " " * 200_000,
        "price" + " " * 200_000 + "=",
        "price=" + "9" * 200_000 + "x",
        "price=" + "1." * 100_000,
        "brand=" + "\\" * 200_000 + "|",
        "brand=" + "|" * 200_000,
    ],
)
def test_hostile_filters_take_no_time(text: str) -> None:
    begin = time.process_time()
    with pytest.raises(FilterError):
        Comparison.parse(text).conditions(TYPES["price"])
    assert time.process_time() - begin < 1


def test_records_are_sorted_by_a_date_of_the_page() -> None:
    records = [{"published_at": f"202{year}-01-01T00:00:00+00:00"} for year in (5, 6, 4)]
    newest = sorted([{}, *records], key=Order("published_at", is_descending=True).key)
    assert [record.get("published_at", "")[:4] for record in newest] == ["2026", "2025", "2024", ""]


def test_numbers_without_a_float_are_no_values() -> None:
    fields = {"huge": 10**400, "infinite": float("inf"), "large": 10**300, "text": "a\0\ud83d"}
    assert typed_values(fields) == {
        "number": {"large": [1e300]},
        "order": {"large": 1e300},
        "text": {"text": ["a\ufffd?"]},
    }
