"""The facts of products, events, recipes and places, as objects of schema.org have them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from contentspider.page.about.jsonld import MAX_DEPTH, MAX_VALUES, strings_of
from contentspider.page.about.stated_texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Entry = dict[str, object]
# Returns the object that a value refers to by its "@id", or the value itself.
Follow = Callable[[object], object]
Fact = Callable[[Entry, Follow], list[str]]

MAX_OBJECTS = 50  # of a list
PLACE_PROPERTIES = frozenset(
    ("address", "telephone", "openingHours", "openingHoursSpecification", "geo")
)
ADDRESS_PARTS = (
    ("streetAddress",),
    ("postalCode", "addressLocality"),
    ("addressRegion",),
    ("addressCountry",),
)
ISO_DURATION = re.compile(
    r"P(?=\d|T\d)(?:\d+Y)?(?:\d+M)?(?:\d+W)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:[\d.]+S)?)?"
)
# A duration in words: "1 hour 30 minutes", "45 min", "2 h".
WRITTEN_DURATION = re.compile(
    r"(?:(?P<hours>\d{1,3})\s*(?:h|hours?|hrs?|std\.?|stunden?|heures?|horas?|ore)\b\W*)?"
    r"(?:(?P<minutes>\d{1,4})\s*(?:m|min|mins?\.?|minutes?|minuten|minutos?|minuti)\b\W*)?",
    re.IGNORECASE,
)
MARKUP = re.compile(r"</\w|<br|&#?\w+;")
DECIMAL = re.compile(r"[-+]?\d{1,3}(?:[.,]\d+)?")
DAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
WEEK = "monday tuesday wednesday thursday friday saturday sunday".split()
CLOCK = re.compile(r"T?(\d{1,2}):(\d{2})(?::\d{2})?(?:\s*([ap])\.?m)?", re.IGNORECASE)


def opening_hours(entry: dict[str, object], follow: Callable[[object], object]) -> list[str]:
    """Return the opening hours of a place, from ``openingHoursSpecification`` or else from the
    texts of ``openingHours``.

    Hours with a first or last day, such as holidays, are left out, and so are closed days.
    If a specification has the unknown name of a day, all specifications are ignored.
    """
    value = entry.get("openingHoursSpecification")
    specifications = value if isinstance(value, list) else [value]
    days_of: dict[str, list[str]] = {}
    # References may lead to one specification many times.
    targets = {id(target): target for target in map(follow, specifications[:MAX_VALUES])}
    for specification in targets.values():
        if not isinstance(specification, dict) or _is_passing(specification):
            continue
        if hours := _opening(specification):
            days_of.setdefault(hours, []).extend(_open_days(specification))
    if days_of and all(day in DAYS for days in days_of.values() for day in days):
        return [f"{_day_ranges(days)} {hours}".strip() for hours, days in days_of.items()]
    return [_tidy_hours(text) for text in strings_of(entry.get("openingHours"))]


def _tidy_hours(text: str) -> str:
    """Return a text of opening hours with the English names of days in two letters.

    >>> _tidy_hours("Monday,Tuesday,Wednesday 09:00-17:00"), _tidy_hours("Mo-Fr 9-5")
    ('Mo-We 09:00-17:00', 'Mo-Fr 9-5')
    """
    names, space, hours = text.strip().partition(" ")
    days = names.split(",")
    if all(map(_is_english, days)):
        return f"{_day_ranges(day[:2].capitalize() for day in days)}{space}{hours}"
    return text.strip()


def _is_passing(specification: dict[str, object]) -> bool:
    """Tell whether hours are valid for a time only."""
    return bool(specification.get("validFrom") or specification.get("validThrough"))


def _opening(specification: dict[str, object]) -> str:
    """Return the hours of a specification, "" if it is closed or has none."""
    times = []
    for name in ("opens", "closes"):
        text = "".join(strings_of(specification.get(name))[:1]).strip()
        if match := CLOCK.match(text):
            times.append(f"{_hour(match):02}:{match[2]}")
    return "-".join(times) if len(set(times)) == 2 else ""


def _hour(match: re.Match[str]) -> int:
    """Return the hour of a match of `CLOCK`, from 0 to 24."""
    hour, half = int(match[1]), (match[3] or "").lower()
    if half:
        hour %= 12
    return hour + 12 if half == "p" else hour


def _open_days(specification: dict[str, object]) -> list[str]:
    """Return the days of a specification in two letters; an unknown day as it is written."""
    value = specification.get("dayOfWeek")
    texts: list[str] = []
    for day in value if isinstance(value, list) else [value]:
        texts += strings_of(day.get("@id", day) if isinstance(day, dict) else day)
    names = [re.split(r"[/#]", text)[-1] for text in texts]
    days = [name.strip() for text in names for name in text.split(",")]
    return [day[:2].capitalize() if _is_english(day) else day for day in days]


def _is_english(day: str) -> bool:
    """Tell whether a text is the English name of a day, which may be cut: "Th", "Thu"."""
    return len(day) > 1 and any(name.startswith(day.lower()) for name in WEEK)


def _day_ranges(days: Iterable[str]) -> str:
    """Return days in the order of the week; three or more in a row become a range.

    >>> _day_ranges(["Mo", "We", "Tu", "Sa"])
    'Mo-We,Sa'
    """
    runs: list[list[str]] = []
    for number in sorted({DAYS.index(day) for day in days}):
        if runs and runs[-1][-1] == DAYS[number - 1] and number:
            runs[-1].append(DAYS[number])
        else:
            runs.append([DAYS[number]])
    texts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(run) for run in runs]
    return ",".join(texts)


def at(*paths: str) -> Fact:
    """Return a fact with the texts at some *paths* of properties, the first path first."""

    def read(entry: Entry, follow: Follow) -> list[str]:
        return [
            text
            for path in paths
            for value in _values(entry, path, follow)
            for text in strings_of(value)
        ]

    return read


def _values(entry: Entry, path: str, follow: Follow) -> Iterator[object]:
    """Yield the values at a path of properties, of each entry of a list.

    An object is read once at each step of the path. References may lead to it many times.
    """
    names = path.split(".")
    visited: set[tuple[int, int]] = set()
    # The next value is at the end. The number counts the names of its path.
    pending: list[tuple[object, int]] = [(entry, 0)]
    while pending:
        value, depth = pending.pop()
        if isinstance(value, list):
            pending += [(each, depth) for each in reversed(value[:MAX_OBJECTS])]
            continue
        target = follow(value)
        if isinstance(target, dict):
            if (id(target), depth) in visited:
                continue
            visited.add((id(target), depth))
        if depth == len(names):
            yield target
        elif isinstance(target, dict):
            pending.append((target.get(names[depth]), depth + 1))


def address(*paths: str) -> Fact:
    """Return a fact with addresses as single lines: "Quay Road 5, 0150 Oslo, Norway"."""

    def read(entry: Entry, follow: Follow) -> list[str]:
        values = (value for path in paths for value in _values(entry, path, follow))
        return list(filter(None, map(_address_line, values)))

    return read


def _address_line(value: object) -> str:
    if not isinstance(value, dict):
        parts = re.split(r"\s*[,\n]\s*", plain_text("".join(strings_of(value)[:1])))
        return ", ".join(filter(None, parts))
    groups = (
        " ".join(text for name in names for text in strings_of(value.get(name))[:1])
        for names in ADDRESS_PARTS
    )
    return ", ".join(group.strip(" ,") for group in groups if group.strip(" ,"))


def durations(name: str) -> Fact:
    """Return a fact with durations in ISO 8601, such as PT1H30M. Others are left out."""

    def read(entry: Entry, _: Follow) -> list[str]:
        return list(filter(None, map(duration, strings_of(entry.get(name)))))

    return read


def duration(text: str) -> str:
    """Return a duration in ISO 8601; "" if it is unknown or nothing.

    >>> duration("pt90m"), duration("1 hour 5 minutes"), duration("45"), duration("PT0M")
    ('PT90M', 'PT1H5M', '', '')
    """
    text = text.strip()[:100]
    if ISO_DURATION.fullmatch(text.upper()):
        return text.upper() if re.search("[1-9]", text) else ""
    match = WRITTEN_DURATION.fullmatch(text)
    if not match or not re.search("[1-9]", text):
        return ""
    parts = [f"{int(match[name])}{name[0].upper()}" for name in ("hours", "minutes") if match[name]]
    return f"PT{''.join(parts)}"


def entries(*names: str) -> Fact:
    """Return a fact with the entries of the first of some properties that has any, such as the
    steps of a recipe: texts, steps, or sections with steps. A single text has an entry per line.
    """

    def read(entry: Entry, _: Follow) -> list[str]:
        for name in names:
            texts = list(_entries(entry.get(name)))
            if texts:
                return texts[0].split("\n") if len(texts) == 1 else texts
        return []

    return read


def _entries(value: object, depth: int = 0) -> Iterator[str]:
    """Yield the texts of a value, each without markup."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for each in value[:MAX_VALUES]:
            yield from _entries(each, depth + 1)
    elif isinstance(value, dict):
        parts = value.get("itemListElement") or value.get("steps")
        text = value.get("text") or value.get("item") or value.get("name")
        yield from _entries(parts or text, depth + 1)
    elif isinstance(value, str):
        text = plain_text(value)
        # Some content management systems escape markup twice.
        yield plain_text(text) if MARKUP.search(text) else text


def yields(entry: Entry, _: Follow) -> list[str]:
    """Return how much a recipe yields. A text with words comes before a number."""
    value = entry.get("recipeYield") or entry.get("yield")
    if isinstance(value, dict) and (amount := strings_of(value.get("value"))[:1]):
        return [" ".join(amount + strings_of(value.get("unitText"))[:1])]
    return sorted(strings_of(value), key=lambda text: not re.search(r"[^\W\d]", text))


def telephones(entry: Entry, _: Follow) -> list[str]:
    """Return telephone numbers as they are written."""
    return [text.strip().removeprefix("tel:") for text in strings_of(entry.get("telephone"))]


def coordinates(name: str, limit: float) -> Fact:
    """Return a fact with a coordinate in degrees, between -*limit* and *limit*."""
    read_all = at(f"geo.{name}", name)

    def read(entry: Entry, follow: Follow) -> list[str]:
        texts = (text.strip().replace(",", ".") for text in read_all(entry, follow))
        return [text for text in texts if DECIMAL.fullmatch(text) and abs(float(text)) <= limit]

    return read


# The facts of each kind of things.
FACTS: Mapping[str, Mapping[str, Fact]] = {
    "product": {
        "price": at("offers.price", "offers.lowPrice", "offers.priceSpecification.price", "price"),
        "currency": at(
            "offers.priceCurrency", "offers.priceSpecification.priceCurrency", "priceCurrency"
        ),
        "sku": at("sku"),
        "brand": at("brand"),
        "availability": at("offers.availability", "availability"),
        "rating": at("aggregateRating.ratingValue", "ratingValue"),
    },
    "event": {
        "name": at("name", "headline"),
        "start": at("startDate"),
        "end": at("endDate"),
        "place": at("location", "location.url"),
        "address": address("location.address"),
        "price": at("offers.price", "offers.lowPrice", "offers.priceSpecification.price"),
    },
    "recipe": {
        "ingredients": entries("recipeIngredient", "ingredients"),
        "steps": entries("recipeInstructions"),
        "yield": yields,
        "total_time": durations("totalTime"),
    },
    "place": {
        "address": address("address"),
        "telephone": telephones,
        "opening_hours": opening_hours,
        "latitude": coordinates("latitude", 90),
        "longitude": coordinates("longitude", 180),
    },
}
