"""Ages in words, in many languages."""

from __future__ import annotations

import time

import pytest

from contentspider.page.about.ages import AGE, MAX_CHARS, without_ages
from tests.sites import prose


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        (
            "en",
            "today|yesterday|3 days ago|a day ago|about 2 hours ago|last week|just now|5 mins ago",
        ),
        ("de-AT", "heute|gestern|vor 3 Tagen|vor einem Tag|vor etwa 2 Stunden|letzte Woche"),
        ("fr", "aujourd'hui|hier|il y a 3 jours|il y a un jour|il y a plus d'un an|à l’instant"),
        ("es", "hoy|ayer|hace 3 días|hace una hora|hace casi 2 años"),
        ("it", "oggi|ieri|3 giorni fa|un giorno fa"),
        ("pt-BR", "hoje|ontem|há 3 dias|há um dia"),
        ("nl", "vandaag|gisteren|3 dagen geleden|een dag geleden"),
        ("sv", "i dag|i går|för 3 dagar sedan"),
        ("da", "i dag|i går|for 3 dage siden"),
        ("nb", "i dag|i går|for 3 døgn siden"),
        ("fi", "tänään|eilen|3 päivää sitten"),
        ("pl", "dzisiaj|wczoraj|3 dni temu|godzinę temu"),
        ("cs", "dnes|včera|před 3 dny|před hodinou"),
        ("sk", "dnes|včera|pred 3 dňami"),
        ("hr", "danas|jučer|prije 3 dana"),
        ("sr-Latn", "danas|juče|pre 3 dana"),
        ("bg", "днес|вчера|преди 3 дни"),
        ("ro", "azi|ieri|acum 3 zile"),
        ("hu", "ma|tegnap|3 nappal ezelőtt"),
        ("el", "σήμερα|χθες|πριν από 3 ημέρες"),
        ("ru", "сегодня|вчера|3 дня назад|неделю назад|только что"),
        ("uk", "сьогодні|учора|3 дні тому|годину тому"),
        ("tr", "bugün|Dün|3 gün önce|bir gün önce"),
        ("ar", "اليوم|أمس|قبل 3 أيام|قبل ٣ أيام|قبل يومين"),
        ("fa", "امروز|دیروز|3 روز پیش"),
        ("he", "היום|אתמול|לפני 3 ימים"),
        ("hi", "आज|कल|3 दिन पहले|३ दिन पहले"),
        ("th", "วันนี้|เมื่อวาน|3 วันที่ผ่านมา"),
        ("vi", "hôm nay|hôm qua|3 ngày trước"),
        ("id", "hari ini|kemarin|3 hari yang lalu"),
        ("ja", "今日|昨日|3日前|3 時間前"),
        ("zh-CN", "今天|昨天|3天前|刚刚"),
        ("zh-TW", "今天|昨天|3 天前|剛剛"),
        ("ko", "오늘|어제|3일 전"),
    ],
)
def test_ages_in_words_are_found(language: str, texts: str) -> None:
    for text in texts.split("|"):
        assert without_ages(text, language) == AGE, text
        assert without_ages(f"Ada · {text} · 1,204", language) == f"Ada · {AGE} · 1,204", text


def test_ages_are_in_language_of_page_or_in_english() -> None:
    assert without_ages("gestern", "de", "en") == without_ages("3 days ago", "ja") == AGE
    assert without_ages("hier", "de") == "hier", "here, and French for yesterday"
    assert without_ages("hier", "de", "fr") == AGE
    assert without_ages("yesterday") == without_ages("yesterday", "tlh") == AGE


@pytest.mark.parametrize(
    "text", ["in 3 days", "tomorrow", "3 days", "next week", "Sundays agog", "2,000 years", "v3d"]
)
def test_what_is_to_come_and_length_are_no_ages(text: str) -> None:
    assert without_ages(text, "en") == text


def test_words_are_ages_in_short_lines_only() -> None:
    long = f"{prose(1)} {{}}"
    assert len(long) > MAX_CHARS
    assert without_ages(long.format("yesterday"), "en") == long.format("yesterday")
    assert without_ages(long.format("3 days ago"), "en") == long.format(AGE)


def test_ages_in_long_texts_take_little_time() -> None:
    text = "1 a few d’un vor " * 20_000
    started = time.process_time()
    for language in ("en", "de", "fr", "ja"):
        without_ages(text, language)
    assert time.process_time() - started < 10
