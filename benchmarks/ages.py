"""How many ages in words, as Unicode CLDR writes them, are read as ages.

    python benchmarks/ages.py [--write]

An age is the time since something ("3 days ago", "yesterday", "last week"). `--write` writes the
table of ages anew, from CLDR and from the words below, which CLDR does not have.
"""

from __future__ import annotations

import argparse
import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from babel import Locale
from babel.core import get_cldr_version
from babel.dates import format_timedelta

from contentspider.page.about.ages import AGE, without_ages

if TYPE_CHECKING:
    from collections.abc import Iterator

# Those with most pages in the web, all of Europe, and Asia's scripts.
LANGUAGES = (
    "en de fr es it pt nl sv da nb fi is et lv lt pl cs sk sl hr bs sr sr_Latn mk bg ro hu el ru uk"
    " be sq ca gl eu ga cy mt tr az ka hy kk ar fa he hi bn ta te th vi id ms fil ja zh zh_Hant ko"
    " sw af"
).split()
UNITS = "second minute hour day week month quarter year".split()
WIDTHS = ("", "-short", "-narrow")
PAST = (-2, -1, 0)
NUMBER = "{0}"
# One of a unit is written without a number in these: "godzinę temu" is an hour ago.
BARE_ONE = "pl ru uk be bg hr bs sr sr_Latn cs sk sl lt lv".split()
# Short forms that CLDR does not have.
SHORT = {"en": ["# secs ago", "# mins ago", "# hrs ago", "# wks ago", "# yrs ago"]}
# Words in place of a number, or before it, in the languages of most pages: "a day ago", "about 2
# hours ago", "vor einem Tag".
AMOUNTS = {
    "en": "a|an|one|two|three|a few|a couple of|several|about|over|almost|nearly|around|less than|"
    "less than a|more than|more than a|half an",
    "de": "einem|einer|ein|eine|zwei|drei|ein paar|einigen|wenigen|etwa|ca.|rund|über|fast|knapp|"
    "mehr als|weniger als|mehr als einem|weniger als einer|einer halben",
    "fr": "un|une|deux|trois|quelques|environ|plus de|plus d’un|plus d’une|presque|près de|moins de"
    "|moins d’une|moins d’un|à peine",
    "es": "un|una|dos|tres|unos|unas|alrededor de|más de|más de un|casi|menos de|menos de un|cerca"
    " de|aproximadamente",
    "it": "un|uno|una|un’|due|tre|pochi|alcuni|alcune|poche|circa|più di|più di un|quasi|meno di|"
    "meno di un",
    "pt": "um|uma|dois|duas|três|alguns|algumas|poucos|cerca de|aproximadamente|mais de|mais de um|"
    "quase|menos de|menos de um",
    "nl": "een|één|twee|drie|enkele|een paar|ongeveer|circa|meer dan|bijna|minder dan|minder dan"
    " een",
    "sv": "en|ett|två|tre|några|ungefär|cirka|över|mer än|nästan|mindre än en|mindre än",
    "da": "en|et|to|tre|få|nogle|et par|cirka|omkring|over|mere end|næsten|mindre end et",
    "nb": "en|et|ett|én|to|tre|noen|noen få|et par|omtrent|cirka|over|mer enn|nesten|mindre enn",
    "fi": "yksi|kaksi|muutama|muutaman|noin|yli|melkein|lähes|alle",
    "pl": "jeden|jedną|dwa|dwie|trzy|kilka|około|ponad|prawie|mniej niż",
    "cs": "jedním|jednou|dvěma|třemi|několika|pár|asi|přibližně|více než|téměř|méně než",
    "sk": "jedným|jednou|dvoma|tromi|niekoľkými|pár|asi|približne|viac ako|takmer|menej ako",
    "hr": "jedan|jednu|dva|dvije|nekoliko|oko|više od|gotovo|manje od",
    "sr": "један|једну|два|две|неколико|око|више од|скоро|мање од",
    "sr-Latn": "jedan|jednu|dva|dve|nekoliko|oko|više od|skoro|manje od",
    "ro": "o|un|una|două|doi|câteva|câțiva|aproximativ|circa|peste|aproape|mai puțin de",
    "hu": "egy|két|néhány|pár|körülbelül|kb.|több mint|majdnem|kevesebb mint",
    "el": "ένα|μία|μια|έναν|δύο|λίγα|λίγες|μερικά|περίπου|πάνω από|σχεδόν|λιγότερο από",
    "ru": "один|одну|два|две|несколько|около|больше|более|почти|меньше|менее",
    "uk": "один|одну|два|дві|кілька|декілька|близько|більше|понад|майже|менше",
    "bg": "един|една|два|две|няколко|около|над|повече от|почти|по-малко от",
    "ca": "un|una|dos|dues|uns|unes|alguns|aproximadament|més de|gairebé|menys de",
    "tr": "bir|iki|birkaç|yaklaşık|neredeyse|en az",
    "ar": "حوالي|أكثر من|أقل من|بضع|بضعة|ما يقرب من",
    "fa": "یک|دو|چند|حدود|بیش از|تقریباً|کمتر از",
    "he": "כ|כמה|מעל|כמעט|פחות מ",
    "hi": "एक|दो|कुछ|लगभग|करीब",
    "vi": "một|hai|vài|khoảng|hơn|gần|dưới",
    "id": "satu|dua|beberapa|sekitar|lebih dari|hampir|kurang dari|se",
    "ms": "satu|dua|beberapa|sekitar|lebih dari|hampir|kurang dari|se",
    "th": "หนึ่ง|สอง|ไม่กี่|ประมาณ|มากกว่า|เกือบ",
    "ja": "一|数|約|およそ",
    "zh": "一|两|几|数|约|大约|超过|将近|不到",
    "zh-Hant": "一|兩|幾|數|約|大約|超過|將近|不到",
    "ko": "한|몇|약|거의",
}
NOW = {
    "en": "just now|moments ago|a moment ago|earlier today",
    "de": "gerade eben|soeben|eben gerade|gerade jetzt",
    "fr": "à l’instant|il y a un instant|tout à l’heure",
    "es": "ahora mismo|justo ahora|hace un momento|hace instantes",
    "it": "adesso|proprio ora|poco fa|un momento fa",
    "pt": "agora mesmo|agora há pouco|há pouco|há instantes|neste momento",
    "nl": "zojuist|zonet|daarnet|net nu",
    "sv": "just nu|nyss|alldeles nyss",
    "da": "lige nu|for et øjeblik siden",
    "nb": "akkurat nå|nettopp",
    "fi": "juuri nyt|hetki sitten|äsken",
    "pl": "przed chwilą|właśnie teraz|chwilę temu",
    "cs": "právě teď|před chvílí",
    "sk": "práve teraz|pred chvíľou",
    "hr": "upravo sada|maloprije",
    "ro": "chiar acum|adineauri",
    "hu": "éppen most|az imént",
    "el": "μόλις τώρα|πριν λίγο",
    "ru": "только что",
    "uk": "щойно",
    "bg": "току-що",
    "ca": "ara mateix|fa un moment",
    "tr": "az önce|şu anda|demin",
    "ar": "قبل لحظات|منذ لحظات",
    "fa": "همین حالا|لحظاتی پیش",
    "he": "הרגע|ממש עכשיו|לפני רגע",
    "hi": "अभी-अभी|अभी अभी",
    "vi": "vừa xong|mới đây|vừa mới",
    "id": "baru saja|barusan",
    "ms": "baru sahaja|sebentar tadi",
    "th": "เมื่อสักครู่|เมื่อกี้",
    "ja": "たった今|先ほど",
    "zh": "刚刚|刚才",
    "zh-Hant": "剛剛|剛才",
    "ko": "방금|방금 전|조금 전",
}


def date_fields(locale: Locale) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each unit of time with CLDR's forms of its ages, in each width."""
    fields = locale._data["date_fields"]  # Babel has no function for the words
    for unit in UNITS:
        for width in WIDTHS:
            yield unit, fields.get(unit + width) or {}


def forms_of(locale: Locale) -> tuple[list[str], list[str]]:
    """Return the forms of ages with a number, or with a word that has one in it ("# days ago"), and
    the words that are an age ("yesterday").
    """
    language = str(locale).replace("_", "-")
    counted, words = set(SHORT.get(language, ())), set(NOW.get(language, "").lower().split("|"))
    for _, field in date_fields(locale):
        past = field.get("past") or {}
        # "-3 d" and the like may be a difference of any kind.
        forms = {form.lower() for form in past.values() if not re.match(r"[+-]|\W*\{0\}\W*$", form)}
        counted |= forms
        if str(locale) in BARE_ONE and "one" in past:
            counted.add(" ".join(past["one"].lower().replace(NUMBER, "").split()))
        relative = field.get("relative") or {}
        words |= {relative[number].lower() for number in PAST if number in relative}
    # "1 hour ago" as CLDR's word for this hour is a form with a number.
    words = {word for word in words if word and not re.search(r"\d", word)}
    return sorted(form.replace(NUMBER, "#") for form in counted), sorted(words - counted)


def table() -> dict[str, object]:
    """Return the table of ages: by language, the forms with a number, the words, and the words in
    place of a number.
    """
    languages = {}
    for name in LANGUAGES:
        locale = Locale.parse(name)
        language = str(locale).replace("_", "-")
        counted, words = forms_of(locale)
        amounts = sorted(filter(None, AMOUNTS.get(language, "").lower().split("|")))
        languages[language] = {"counted": counted, "words": words, "amounts": amounts}
    return {
        "source": f"Unicode CLDR {get_cldr_version()}, by benchmarks/ages.py --write",
        "languages": languages,
    }


def texts() -> Iterator[tuple[str, str]]:
    """Yield each language with each age as Babel writes it, and with the words of CLDR."""
    seconds = {"minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}
    for name in LANGUAGES:
        locale = Locale.parse(name)
        language = name.replace("_", "-")
        for unit, length in seconds.items():
            for count in (1, 2, 3, 5, 6, 11, 21, 45):
                yield (
                    language,
                    format_timedelta(
                        -count * length,
                        granularity=unit,
                        threshold=99,
                        add_direction=True,
                        locale=locale,
                    ),
                )
        for unit, field in date_fields(locale):
            if unit in ("day", "week"):
                relative = field.get("relative") or {}
                yield from ((language, relative[number]) for number in PAST if number in relative)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--write", action="store_true", help="write the table of ages anew")
    if parser.parse_args().write:
        path = files("contentspider.page.words").joinpath("data", "ages.json")
        line = json.dumps(table(), ensure_ascii=False, separators=(",", ":"))
        path.write_text(line + "\n", "utf-8")
        return
    found = [(language, text, without_ages(text, language) == AGE) for language, text in texts()]
    for language, text, is_right in found:
        if not is_right:
            print(f"{language}: {text!r} is {without_ages(text, language)!r}")
    count = sum(is_right for *_, is_right in found)
    print(f"CLDR {get_cldr_version()}, {len(LANGUAGES)} languages: {count} of {len(found)} ages")


if __name__ == "__main__":
    main()
