from __future__ import annotations

import time
from datetime import datetime, timezone

import pytest

from contentspider.page.about.written_dates import MONTHS, find_dates

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "text",
    [
        "31. Oktober 2013",
        "Thursday, the 31st of October 2013",
        "Posted on 31-Oct-2013 by Ada",
        "October 31st, 2013",
        "Oct. 31 2013",
        "31 de octubre de 2013",
        "31 ottobre 2013",
        "le 31 octobre 2013",
        "31 października 2013",
        "31 Październik, 2013",
        "31 Říjen, 2013",
        "31 октября 2013 г.",
        "2013年10月31日",
        "2013년 10월 31일",
        "2013-10-31",
        "2013/10/31 12:00",
        "31.10.2013, 12:00 Uhr",
    ],
)
def test_written_dates_are_found_in_text(text: str) -> None:
    assert [found.date for found in find_dates(text, NOW)] == ["2013-10-31"]


@pytest.mark.parametrize(
    "text",
    [
        "3/4/2013",  # in March or in April
        "version 1.2.2013.4",
        "127.0.10.2013",
        "maybe 3 2020",
        "99 May 2012",
        "31 February 2012",
        "1 May 2027",
        "1 May 1912",
        "2020-2021-03",
        "juin et jui 3 2013",
        "",
    ],
)
def test_numbers_that_are_not_dates_are_ignored(text: str) -> None:
    assert list(find_dates(text, NOW)) == []


def test_found_date_has_its_text_offsets() -> None:
    text = "Von Ada am 3. März 2013, geändert 31.10.2013"
    assert [(found.date, text[found.start : found.end]) for found in find_dates(text, NOW)] == [
        ("2013-03-03", "3. März 2013"),
        ("2013-10-31", "31.10.2013"),
    ]


def test_ambiguous_month_abbreviations_are_excluded() -> None:
    assert MONTHS["sept"] == 9
    assert "jui" not in MONTHS
    assert "ju" not in MONTHS


@pytest.mark.parametrize("text", ["1 " * 5_000, "January " * 5_000, "2013-" * 5_000, "a" * 20_000])
def test_date_search_in_long_text_takes_little_time(text: str) -> None:
    started = time.process_time()
    list(find_dates(text, NOW))
    assert time.process_time() - started < 1
