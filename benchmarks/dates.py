"""Dates as CLDR writes them, and the table of months that they are read with.

    python benchmarks/dates.py [--peer] [--write]

Reads the first of each month in `LANGUAGES`, in the long and the medium form of CLDR (Babel), and
in a third form with the month's name as it stands alone. A date is right, empty or wrong. Each is
read on a page in its language, on one that states no language, and on one that states English.
``--peer`` adds dateparser. ``--write`` writes the table of months and weekdays of `written_dates`
anew.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import defaultdict
from datetime import date, datetime, timezone
from importlib.resources import files
from typing import TYPE_CHECKING

from babel import Locale, localedata
from babel.core import get_cldr_version
from babel.dates import format_date

from contentspider.page.about.written_dates import find_dates, month_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

YEAR, DAY = 2021, 17
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
# Months of these languages are read on pages in any language; those of other languages only on
# pages in the language, because many are words of frequent languages ("see", "out", "pay").
FREQUENT = (
    "af am ar az be bg bn bs ca cs cy da de el en es et eu fa fi fil fr ga gl gu he hi hr hu hy id"
    " is it ja ka kk km kn ko ky lo lt lv mk ml mn mr ms mt my nb ne nl nn no pa pl pt ro ru si sk"
    " sl sq sr sr_Latn sv sw ta te th tr uk ur uz vi zh"
).split()
# Languages of the measurement: those with most pages in the web, all of Europe, and Asia's scripts.
LANGUAGES = (
    "en de fr es it pt nl sv da nb fi is et lv lt pl cs sk sl hr bs sr sr_Latn mk bg ro hu el ru uk"
    " be sq ca gl eu ga cy mt tr az ka hy kk ar fa he hi bn ta te th vi id ms fil ja zh ko sw af"
).split()
# What writers use and CLDR lacks: the genitive of Serbian in Cyrillic, the izafe of Tajik, months
# with numerals as words (WordPress in Vietnamese), and older spellings.
OTHER_NAMES = {
    "sr": "јануара фебруара марта априла маја јуна јула августа септембра октобра новембра"
    " децембра",
    "tg": "январи феврали марти апрели майи июни июли августи сентябри октябри ноябри декабри",
    "vi": "tháng_một tháng_hai tháng_ba tháng_tư tháng_năm tháng_sáu tháng_bảy tháng_tám tháng_chín"
    " tháng_mười tháng_mười_một tháng_mười_hai",
    "bn": "জানুয়ারী ফেব্রুয়ারী",
    "hi": "- - - - - - - - सितम्बर - नवम्बर दिसम्बर",
    "id": "- - - - - - - agt",
    "am": "ጃንዩወሪ ፌብሩወሪ ማርች ኤፕሪል ሜይ ጁን ጁላይ ኦገስት ሴፕቴምበር ኦክቶበር ኖቬምበር ዲሴምበር",
    "si": "ජනවාරි පෙබරවාරි මාර්තු අප්‍රේල් මැයි ජූනි ජූලි අගෝස්තු සැප්තැම්බර් ඔක්තෝබර් නොවැම්බර් දෙසැම්බර්",
    "eu": "urtarrilak otsailak martxoak apirilak maiatzak ekainak uztailak abuztuak irailak urriak"
    " azaroak abenduak",
}
MIN_PREFIX = 3
CUT_SCRIPTS = re.compile("[a-z\u0370-\u03ff\u0400-\u04ff]+")
FORMS: dict[str, Callable[[date, Locale], str]] = {
    "long": lambda day, locale: format_date(day, "long", locale),
    "medium": lambda day, locale: format_date(day, "medium", locale),
    "stand-alone": lambda day, locale: format_date(day, "d LLLL y", locale),
}


def month_forms(locale: Locale) -> Iterator[tuple[int, str]]:
    """Yield each month's number with each form of its name, also with letters that the locale's
    formats attach to it.
    """
    patterns = [locale.date_formats[width].pattern for width in ("long", "medium")]
    around = {("", "")}
    for pattern in patterns:
        if match := re.search(r"(\S*?)'?M{3,4}'?(\w*)", pattern.replace("'", "")):
            before = re.sub(r"[^\w]|[dyG]", "", match[1])
            around.add((before, re.sub(r"[dyG]", "", match[2])))
    for context in ("format", "stand-alone"):
        for width in ("wide", "abbreviated"):
            for number, name in locale.months[context][width].items():
                for before, after in around:
                    form = month_key(before + name + after)
                    if len(form) > 1 and not any(map(str.isdigit, form)):
                        yield number, form


def other_names(language: str) -> Iterator[tuple[int, str]]:
    """Yield each month's number with a name in `OTHER_NAMES`."""
    for number, name in enumerate(OTHER_NAMES.get(language, "").split(), 1):
        if name != "-":
            yield number, month_key(name.replace("_", " "))


def weekdays() -> dict[str, str]:
    """Return the days (digits, 0: Monday) that each name of a weekday has in some language."""
    days: dict[str, set[int]] = defaultdict(set)
    for language in LANGUAGES:
        locale = Locale.parse(language)
        for context in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for day, name in locale.days[context][width].items():
                    days[month_key(name)].add(day)
    return {name: "".join(map(str, sorted(numbers))) for name, numbers in sorted(days.items())}


def table() -> dict[str, object]:
    """Return the table of months: ``frequent`` has the number of each form that all frequent
    languages read alike, and of unambiguous beginnings; ``languages`` what each one reads besides,
    0 for a form that it does not read; and ``weekdays``.
    """
    readings: dict[str, dict[str, int]] = {}
    names: dict[str, list[str]] = {}
    regions: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for identifier in sorted(localedata.locale_identifiers()):
        locale = Locale.parse(identifier)
        if locale.territory:
            for number, name in locale.months["format"]["wide"].items():
                regions[str(locale.language)][month_key(name)].add(number)
            continue
        language = str(locale).replace("_", "-")
        forms: dict[str, set[int]] = defaultdict(set)
        for number, form in (*month_forms(locale), *other_names(language)):
            forms[form].add(number)
        readings[language] = {form: min(each) for form, each in forms.items() if len(each) == 1}
        names[language] = [month_key(locale.months["format"]["wide"][n]) for n in range(1, 13)]
    for language, regional in regions.items():
        # "Jänner" in Austria, "setiembre" in Peru, the Syriac months of Lebanon.
        own_forms = readings[language]
        single = {form: min(each) for form, each in regional.items() if len(each) == 1}
        readings[language] = single | own_forms
    frequent_languages = [name.replace("_", "-") for name in FREQUENT]
    numbers: dict[str, set[int]] = defaultdict(set)
    for language in frequent_languages:
        for form, number in readings[language].items():
            numbers[form].add(number)
    beginnings: dict[str, set[int]] = defaultdict(set)
    for language in frequent_languages:
        for number, name in enumerate(names[language], 1):
            for end in range(MIN_PREFIX, len(name)):
                if CUT_SCRIPTS.fullmatch(name[:end]):
                    beginnings[name[:end]].add(number)
    frequent = {form: min(each) for form, each in numbers.items() if len(each) == 1}
    for form, each in beginnings.items():
        if form not in numbers and len(each) == 1:
            frequent[form] = min(each)
    languages = {}
    for language, forms_of in readings.items():
        own = {form: number for form, number in forms_of.items() if frequent.get(form) != number}
        if language in frequent_languages:
            # "mar" on a Finnish page may be March in English, or the beginning of its November.
            for number, name in enumerate(names[language], 1):
                for end in range(MIN_PREFIX, len(name)):
                    form = name[:end]
                    if form not in forms_of and frequent.get(form, number) != number:
                        own[form] = 0
        if own:
            languages[language] = dict(sorted(own.items()))
    return {
        "source": f"Unicode CLDR {get_cldr_version()}, by benchmarks/dates.py --write",
        "license": "Unicode License V3, copyright Unicode, Inc. (unicode.org/license.txt)",
        "frequent": dict(sorted(frequent.items())),
        "languages": dict(sorted(languages.items())),
        "weekdays": weekdays(),
    }


def texts() -> Iterator[tuple[str, str, str, str]]:
    """Yield language, form, text and day of each date."""
    for language in LANGUAGES:
        locale = Locale.parse(language)
        for form, write in FORMS.items():
            for month in range(1, 13):
                day = date(YEAR, month, DAY)
                yield language.replace("_", "-"), form, write(day, locale), day.isoformat()


def our_day(text: str, language: str) -> str:
    return next((found.date for found in find_dates(text, NOW, language)), "")


def peer_day(text: str, language: str) -> str:
    import dateparser

    languages = [language] if language else None
    try:
        day = dateparser.parse(
            text, languages=languages, settings={"REQUIRE_PARTS": ["day", "month", "year"]}
        )
    except ValueError:  # a language that it does not know
        return ""
    return day.date().isoformat() if day else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--peer", action="store_true", help="also measure dateparser")
    parser.add_argument("--write", action="store_true", help="write the table of names anew")
    options = parser.parse_args()
    if options.write:
        path = files("contentspider.page.words").joinpath("data", "months.json")
        path.write_text(
            json.dumps(table(), ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8"
        )
        return
    readers = {"contentspider": our_day} | ({"dateparser": peer_day} if options.peer else {})
    print(f"CLDR {get_cldr_version()}, {len(LANGUAGES)} languages")
    print("| reader | page states | right | empty | wrong | ms a date |\n|---|---|---|---|---|---|")
    for reader, read in readers.items():
        for stated in ("its language", "nothing", "English"):
            counts: dict[str, int] = defaultdict(int)
            wrong: list[str] = []
            begun = time.process_time()
            for language, form, text, day in texts():
                page_language = {"nothing": "", "English": "en"}.get(stated, language)
                found = read(text, page_language)
                kind = "right" if found == day else "wrong" if found else "empty"
                counts[kind] += 1
                if kind == "wrong" or (kind == "empty" and stated == "its language"):
                    wrong.append(f"{kind} {language} {form}: {text!r} {day} is {found!r}")
            ms = 1000 * (time.process_time() - begun) / sum(counts.values())
            found = " | ".join(str(counts[kind]) for kind in ("right", "empty", "wrong"))
            print(f"| {reader} | {stated} | {found} | {ms:.2f} |")
            if reader == "contentspider":
                print("\n".join(wrong))


if __name__ == "__main__":
    main()
