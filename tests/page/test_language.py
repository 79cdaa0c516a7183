from __future__ import annotations

import sys

import pytest

from contentspider.page.input.page import Page
from contentspider.page.words import language
from contentspider.page.words.language import detect_language, language_tag
from contentspider.site.models.record import page_language


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("en", "en"),
        ("EN_us", "en-US"),
        ("en_US.UTF-8", "en-US"),
        ("english", "en"),
        ("Deutsch", "de"),
        ("pt-br", "pt-BR"),
        ("zh_hans_cn", "zh-Hans-CN"),
        ("de, en", "de"),
        ("eng", "en"),
        ("iw", "he"),
        ("jp", "ja"),
        ("", ""),
        ("und", ""),
        ("xx", ""),
        ("utf-8", ""),
        ("{{ page.lang }}", ""),
        ("*", ""),
        ("\0\n", ""),
        ("e" * 100_000, ""),
        ("en-" * 10_000, ""),
    ],
)
def test_language_names_are_normalized_to_tags(text: str, tag: str) -> None:
    assert language_tag(text) == tag


def test_first_valid_language_hint_is_used() -> None:
    page = Page.from_html(
        '<html lang="{lang}"><meta property="og:locale" content="fr_CA"><title>x</title><p>y'
    )
    assert page.hints.language == "fr-CA"


SENTENCES = {
    "en": "The ferry leaves the harbour at seven, and returns when the last guests are aboard.",
    "de": "Die Fähre verlässt den Hafen um sieben und kehrt zurück, wenn alle Gäste da sind.",
    "fr": "Le ferry quitte le port à sept heures et revient quand tous les invités sont à bord.",
    "es": "El transbordador sale del puerto a las siete y vuelve cuando suben todos los viajeros.",
    "ru": "Паром выходит из гавани в семь часов и возвращается, когда на борту последние гости.",
    "ar": "تغادر العبارة الميناء في الساعة السابعة وتعود عندما يصعد آخر الضيوف على متنها.",
    "ja": "フェリーは七時に港を出て、最後の客が乗ると戻ります。",
    "zh": "渡轮七点离开港口，最后一批客人上船后返回。",
    "ko": "여객선은 일곱 시에 항구를 떠나 마지막 손님이 타면 돌아온다.",
    "el": "Το πλοίο φεύγει από το λιμάνι στις επτά και επιστρέφει αργά το βράδυ.",
    "he": "המעבורת יוצאת מהנמל בשבע וחוזרת כשאחרוני האורחים עולים.",
    "th": "เรือข้ามฟากออกจากท่าเรือเวลาเจ็ดโมงและกลับมาเมื่อแขกคนสุดท้ายขึ้นเรือ",
}
# Scripts that name their language need no library.
ALONE = ("ja", "zh", "ko", "el", "he", "th")


@pytest.mark.parametrize("tag", SENTENCES)
def test_language_is_detected_from_text(tag: str) -> None:
    if tag not in ALONE:
        pytest.importorskip("py3langid")
    assert detect_language(SENTENCES[tag]) == tag


def test_without_py3langid_only_unique_scripts_are_detected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(language, "_classifier", lambda: None)
    found = {tag for tag, text in SENTENCES.items() if detect_language(text) == tag}
    assert found == set(ALONE)
    assert detect_language(SENTENCES["de"]) == ""


@pytest.mark.parametrize("text", ["", "1, 2, 3", "OK", "\0\ud800" * 1_000, "- " * 5_000])
def test_too_little_text_gives_no_language(text: str) -> None:
    assert detect_language(text) == ""


def test_declared_page_language_takes_precedence_over_detection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("contentspider.site.models.record.detect_language", lambda text: "de")
    named = Page.from_html(f'<html lang="en"><p>{SENTENCES["de"]}')
    silent = Page.from_html(f"<p>{SENTENCES['de']}")
    assert page_language(named, named.content.blocks) == "en"
    assert page_language(silent, silent.content.blocks) == "de"


def test_declared_language_is_overruled_by_text_in_other_script() -> None:
    for named, text, expected in (
        *(("en-US", "ko", "ko"), ("en", "en", "en"), ("zh", "ja", "ja"), ("cs", "he", "he")),
        *(("ru", "el", "el"), ("ar", "en", "en"), ("ja", "en", "en"), ("yi", "he", "yi")),
        *(("zh-Hant", "zh", "zh-Hant"), ("yue", "zh", "yue"), ("sr", "en", "sr")),
        *(("hi-Latn", "en", "hi-Latn"), ("uk", "th", "th")),
    ):
        page = Page.from_html(f'<html lang="{named}"><p>{SENTENCES[text]} “quoted”')
        assert page_language(page, page.content.blocks) == expected, (named, text)


@pytest.mark.parametrize(
    ("named", "text", "expected"),
    [("de", "ru", "ru"), ("he", "ar", "ar"), ("ar", "fr", "fr"), ("en", "ru", "ru")],
)
def test_declared_language_is_overruled_by_language_of_other_script(
    named: str, text: str, expected: str
) -> None:
    pytest.importorskip("py3langid")
    page = Page.from_html(f'<html lang="{named}"><p>{SENTENCES[text]}')
    assert page_language(page, page.content.blocks) == expected


def test_english_text_is_english_whatever_its_page_declares() -> None:
    text = "The ferry leaves the quay at ten and is back by the evening, with all of the guests. "
    for named in ("cs", "de-AT", "nl", "ar"):
        page = Page.from_html(f'<html lang="{named}"><p>{text * 3}')
        assert page_language(page, page.content.blocks) == "en", named
    # A quoted line is not enough, nor is a transcription, which detectors take for anything.
    for named, said in (("nl", SENTENCES["de"] * 3 + text), ("ru", "Parom uhodit v desyat. " * 9)):
        page = Page.from_html(f'<html lang="{named}"><p>{said}')
        assert page_language(page, page.content.blocks) == named


def test_code_is_ignored_in_language_detection() -> None:
    page = Page.from_html(
        "<pre>for item in every list of the things that we have seen: print(item)</pre>"
        f"<p>{SENTENCES['zh']}"
    )
    assert page_language(page, page.content.blocks) == "zh"


def test_language_tag_keeps_no_reference_to_page_text() -> None:
    text = "en " + "x" * 1_000
    count = sys.getrefcount(text)
    assert language_tag(text) == "en"
    assert sys.getrefcount(text) == count
