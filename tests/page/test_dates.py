from __future__ import annotations

from datetime import datetime, timezone

import pytest

from contentspider.page.about.dates import date_in_address, parse_date

NOW = datetime(2024, 5, 1, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2013-10-31", "2013-10-31"),
        ("2013-10-31T12:42:46Z", "2013-10-31T12:42:46+00:00"),
        ("2013-10-31T12:42:46.123+02:00", "2013-10-31T12:42:46+02:00"),
        ("2013-10-31 12:42:46 -0500", "2013-10-31T12:42:46-05:00"),
        ("2013-10-31T12:42", "2013-10-31T12:42:00"),
        ("2013/10/31 05:21:38", "2013-10-31T05:21:38"),
        ("2013.10.31", "2013-10-31"),
        ("20131031", "2013-10-31"),
        ("20131031124246", "2013-10-31T12:42:46"),
        ("20131031T124246Z", "2013-10-31T12:42:46+00:00"),
        ("20131031T1242-0500", "2013-10-31T12:42:00-05:00"),
        ("Thu, 31 Oct 2013 12:00:00 GMT", "2013-10-31T12:00:00+00:00"),
        ("Thu, 31 Oct 2013 12:00:00 EST", "2013-10-31T12:00:00-05:00"),
        ("Thu, 31 Oct 2013 12:00:00 PDT", "2013-10-31T12:00:00-07:00"),
        ("Thu, 31 Oct 2013 12:00:00 IST", "2013-10-31T12:00:00"),  # of India, Ireland or Israel
        ("Thu, 31 Oct 13 12:00:00 UT", "2013-10-31T12:00:00+00:00"),
        ("31 Oct 99 12:00 +0100", "1999-10-31T12:00:00+01:00"),
        ("Thursday, 31-Oct-13 12:00:00 GMT", "2013-10-31T12:00:00+00:00"),
        ("Thu Oct 31 12:00:00 EDT 2013", "2013-10-31T12:00:00-04:00"),
        ("Thu Oct 31 2013 12:00:00 GMT+0100 (CET)", "2013-10-31T12:00:00+01:00"),
        ("October 31st, 2013", "2013-10-31"),
        ("Oct. 31, 2013 4:05 PM", "2013-10-31T16:05:00"),
        ("31 December 2013", "2013-12-31"),
        ("Thu, 10/31/2013 - 12:42", "2013-10-31T12:42:00"),
        ("Friday, 03/01/2013 - 7:05", "2013-03-01T07:05:00"),
        ("٢٠١٣-١٠-٣١", "2013-10-31"),
        ("1383220800", "2013-10-31T12:00:00+00:00"),
        ("1383220800000", "2013-10-31T12:00:00+00:00"),
        ("2024-05-02T01:00:00Z", "2024-05-02T01:00:00+00:00"),  # tomorrow, elsewhere
    ],
)
def test_dates_are_normalized_to_iso_8601(text: str, date: str) -> None:
    assert parse_date(text, NOW) == date


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2013",
        "2013-10",
        "3/4/2013",  # the third of April or the fourth of March
        "Thu, 03/04/2013 - 12:42",  # it was a Monday, and in Europe's order no Thursday either
        "Thu, 31/10/2013 - 12:42",
        "2013-02-30",
        "2013-13-01",
        "2013-10-31T25:00:00",
        "2013-10-31T12:00:00+99:00",
        "2024-05-03",  # the day after tomorrow
        "2099-01-01T00:00:00Z",
        "1970-01-01T00:00:00Z",
        "0001-01-01T00:00:00",
        "9999-12-31",
        "1999999999",
        "2013-10-311",
        "2013112",  # the 112th day of the year
        "31 Oct 13",  # not the form of RFC 822, which has a time
        "9" * 100_000,
        "\0" * 100,
    ],
)
def test_implausible_or_ambiguous_dates_are_dropped(text: str) -> None:
    assert parse_date(text, NOW) == ""


@pytest.mark.parametrize(
    ("path", "date"),
    [
        ("/2013/10/31/ferry", "2013-10-31"),
        ("/blog/2013/10/31/ferry/index.html", "2013-10-31"),
        ("/posts/2013-10-31-ferry.html", "2013-10-31"),
        ("/2013/10/31/", ""),  # the archive of a day
        ("/2013/10/31/page/2/", ""),
        ("/2013/10/31/index.html", ""),
        ("/2013/10/ferry", ""),
        ("/2013/02/30/ferry", ""),
        ("/2099/10/31/ferry", ""),
        ("/1234/56/78/ferry", ""),
        ("/x?to=/2013/10/31/ferry", ""),
        ("/2013-10/31/ferry", ""),
    ],
)
def test_date_is_read_from_permalink(path: str, date: str) -> None:
    assert date_in_address(f"https://harbour.example{path}", NOW) == date


@pytest.mark.parametrize(
    ("zone", "offset"),
    [
        ("\u221205:00", "-05:00"),
        (" GMT+1", "+01:00"),
        (" UTC+5:30", "+05:30"),
        (" UTC -3", "-03:00"),
        (" GMT+10", "+10:00"),
        ("+0530", "+05:30"),
        ("+05", "+05:00"),
    ],
)
def test_zones_have_signs_and_hours_in_many_forms(zone: str, offset: str) -> None:
    assert parse_date(f"2013-10-31T12:00{zone}", NOW) == f"2013-10-31T12:00:00{offset}"
