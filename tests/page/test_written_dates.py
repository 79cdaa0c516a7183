from __future__ import annotations

import time
from datetime import datetime, timezone

import pytest

from contentspider.page.about.written_dates import find_dates, month_of

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
    assert month_of("sept") == 9
    assert month_of("jui") == 0  # June or July
    assert month_of("ju") == 0
    assert month_of("mar") == 3
    assert month_of("mar", "fi") == 0  # March in English, but the beginning of November


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("3. listopada 2020.", {"hr": "2020-10-03", "pl": "2020-11-03", "cs": "", "": ""}),
        ("5 lip 2013", {"hr": "2013-06-05", "pl-PL": "2013-07-05", "en": "", "": ""}),
        ("5. srp 2013", {"hr-HR": "2013-07-05", "cs": "2013-08-05", "": ""}),
        ("5. lis 2013", {"hr": "2013-10-05", "cs": "2013-11-05", "": ""}),
        ("17. kolovoza 2021.", {"hr": "2021-08-17", "en": "2021-08-17", "": "2021-08-17"}),
        ("17. februar 2021", {"sr-Latn-RS": "2021-02-17", "da": "2021-02-17", "": "2021-02-17"}),
        ("17 see 2021", {"en": "", "": "", "tn": "2021-06-17"}),  # a word of English
    ],
)
def test_month_is_read_in_language_of_page(text: str, days: dict[str, str]) -> None:
    for language, day in days.items():
        assert [found.date for found in find_dates(text, NOW, language)] == [day] * bool(day)


@pytest.mark.parametrize(
    ("text", "language", "day"),
    [
        ("29 พฤศจิกายน 2568", "th", "2025-11-29"),
        ("เผยแพร่ ๒๙ พ.ย. ๒๕๖๘ 10:00", "", "2025-11-29"),
        ("29 November 2568", "en", ""),
        ("29 พ.ย. 68", "th", ""),
        ("شنبه ۸ آذر ۱۴۰۴ - ۱۰:۳۰", "fa", "2025-11-29"),
        ("۳۰ اسفند ۱۴۰۳", "fa", "2025-03-20"),
        ("۳۰ اسفند ۱۴۰۴", "fa", ""),  # no leap year
        ("۱۴۰۴/۰۹/۰۸", "fa-IR", "2025-11-29"),
        ("1404/09/08", "ar", ""),
        ("۸ قوس ۱۴۰۴", "fa-AF", "2025-11-29"),
        ("8 جمادى الآخرة 1447", "ar", ""),
        ("8 جمادى الآخرة 1447هـ الموافق 29 نوفمبر 2025م", "ar", "2025-11-29"),
        ("令和7年11月29日", "ja", "2025-11-29"),
        ("平成31年4月30日", "ja", "2019-04-30"),
        ("平成31年5月1日", "ja", ""),
        ("令和元年5月1日", "ja", "2019-05-01"),
        ("中華民國 114 年 11 月 29 日", "zh-TW", "2025-11-29"),
        ("২৯ নভেম্বর, ২০২৫", "bn", "2025-11-29"),
    ],
)
def test_years_of_other_calendars_are_read_where_text_or_language_tells(
    text: str, language: str, day: str
) -> None:
    assert [found.date for found in find_dates(text, NOW, language)] == [day] * bool(day)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("ngày 29 tháng 11 năm 2025", "2025-11-29"),
        ("2025. gada 29. novembris", "2025-11-29"),
        ("2025 m. lapkričio 29 d.", "2025-11-29"),
        ("2025eko azaroaren 29a", "2025-11-29"),
        ("2025. nov. 29., szombat", "2025-11-29"),
        ("29 KASIM 2025 Cumartesi", "2025-11-29"),
        ("29 ΝΟΕΜΒΡΙΟΥ 2025", "2025-11-29"),
        ("29 בנובמבר 2025", "2025-11-29"),
        ("5 d’abril del 2015", "2015-04-05"),
        ("29 Deireadh Fómhair 2025", "2025-10-29"),
        ("29. 11. 2025", "2025-11-29"),
        ("fevrier: 3 fevrier 2013", "2013-02-03"),
        ("In 2013 June 14 2014", "2014-06-14"),
        ("Founded 2013, 5 May 2014", "2014-05-05"),
    ],
)
def test_order_and_small_words_of_languages_are_read(text: str, day: str) -> None:
    assert [found.date for found in find_dates(text, NOW)] == [day]


def test_dates_as_cldr_writes_them_are_right_or_empty() -> None:
    pytest.importorskip("babel", reason="has the names and forms of CLDR")
    from benchmarks import dates

    kinds: dict[str, int] = {"right": 0, "empty": 0, "wrong": 0}
    for language, _, text, day in dates.texts():
        for stated in (language, ""):
            found = dates.our_day(text, stated)
            kinds["right" if found == day else "wrong" if found else "empty"] += 1
    assert kinds["wrong"] == 0
    # Arabic's medium form has numbers only; nobody writes the third form of Japanese and Korean.
    assert kinds["right"] >= 0.97 * sum(kinds.values())


@pytest.mark.parametrize("text", ["1 " * 5_000, "January " * 5_000, "2013-" * 5_000, "a" * 20_000])
def test_date_search_in_long_text_takes_little_time(text: str) -> None:
    started = time.process_time()
    list(find_dates(text, NOW))
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("language", "text"),
    [
        # Names of a region, of CLDR: Lebanon, Algeria, Morocco, Austria, Peru.
        ("ar", "31 تشرين الأول 2013"),
        ("ar", "31 تشرين الأول/أكتوبر 2013"),
        ("ar-MA", "31 أكتوبر 2013"),
        # What writers use and CLDR lacks (`OTHER_NAMES` in benchmarks/dates.py).
        ("sr", "31. октобра 2013. године"),
        ("tg", "31 октябри 2013"),
        ("vi", "31 Tháng Mười, 2013"),
        ("si", "2013 ඔක්තෝබර් 31"),
        ("am", "ኦክቶበር 31 2013"),
        ("eu", "2013ko urriak 31"),
        # Ordinal numbers, and words around the year.
        ("fr", "31ᵉʳ octobre 2013"),
        ("ga", "31ú Deireadh Fómhair 2013"),
        ("cy", "31ain o Hydref 2013"),
        ("nl", "31e oktober 2013"),
        ("eo", "la 31-an de oktobro 2013"),
        ("he", "ביום ה-31 באוקטובר 2013"),
        ("kk", "2013 жылғы 31 қазан"),
        ("uz", "2013-yil 31-oktabr"),
        ("az", "31 oktyabr 2013-cü il"),
        ("ky", "31-октябрь, 2013-жыл"),
        ("pt", "31/out/2013"),
    ],
)
def test_written_dates_are_found_in_many_languages(language: str, text: str) -> None:
    assert [found.date for found in find_dates(text, NOW, language)] == ["2013-10-31"]


@pytest.mark.parametrize(
    ("language", "text", "month"),
    [
        ("de-AT", "5. Jänner 2013", 1),
        ("es", "5 de setiembre de 2013", 9),
        ("ar", "5 كانون الثاني 2013", 1),
        ("ar-DZ", "5 جانفي 2013", 1),
        ("ar-MA", "5 غشت 2013", 8),
        ("bn", "5 জানুয়ারী 2013", 1),
        ("id", "5 Agt 2013", 8),
        ("hi", "5 नवम्बर 2013", 11),
        ("cy", "5ed o Ionawr 2013", 1),
    ],
)
def test_months_of_regions_and_older_spellings_are_read(
    language: str, text: str, month: int
) -> None:
    assert [found.date for found in find_dates(text, NOW, language)] == [f"2013-{month:02}-05"]


@pytest.mark.parametrize(
    "text", ["2-5 May 2012-2013", "31 May 2012-2013", "تشرين/مايو 3 2013", "5km May 2013"]
)
def test_ranges_and_other_numbers_are_no_dates(text: str) -> None:
    assert list(find_dates(text, NOW)) == []
