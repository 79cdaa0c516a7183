"""Snippets: the part of a text that shows what was searched."""

from __future__ import annotations

import itertools
import random
import time
import unicodedata

import pytest

from contentspider.index.snippets import snippet
from contentspider.index.words import query_prefixes

SCRIPTS = (
    "東京都天気",
    "ひらがなー",
    "カタカナ",
    "학교에서",
    "กินข้าวน้ำ",
    "ខ្ញុំ",
    "abc é",
    " ,.\n1２",
    "\u200b\ufe00\u0301",
)


def random_text(source: random.Random, runs: int = 8) -> str:
    parts = (source.choice(SCRIPTS) for _ in range(runs))
    return "".join("".join(source.choices(part, k=source.randint(0, 6))) for part in parts)


def marked(pieces: list[tuple[str, bool]]) -> list[str]:
    return [text for text, is_marked in pieces if is_marked]


def plain_text(pieces: list[tuple[str, bool]]) -> str:
    return "".join(text for text, _ in pieces)


def test_snippet_shows_part_with_most_search_terms() -> None:
    text = "The fox sleeps. " * 40 + "A quick brown fox jumps over it. " + "The fox sleeps. " * 40
    pieces = snippet(text, query_prefixes("fox quick jump"), 60)
    assert set(marked(pieces)) == {"fox", "quick", "jumps"}
    assert plain_text(pieces).startswith("…")
    assert plain_text(pieces).endswith("…")
    assert plain_text(pieces)[1:-1] in text
    assert marked(snippet("concatenate a cat, cats, catalogues", ["cat"])) == ["cat", "cats"]
    assert marked(snippet("walks walker walking; sleepwalk; walkie-talkies", ["walk"])) == [
        "walks",
        "walker",
        "walking",
        "walkie",
    ]


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("ركب البَحَّارُ القاربَ", "البحار القارب", ["البَحَّارُ", "القاربَ"]),
        ("הַסַּפָּן שָׁט", "הספן", ["הַסַּפָּן"]),
        ("نمی\u200cدانم چرا", "نمیدانم", ["نمی\u200cدانم"]),
        ("Ọkọ̀ ẹ́kọ́ o", "oko", ["Ọkọ̀"]),
        ("IŞIK ışık", "isik", ["IŞIK", "ışık"]),
        ("किनारा नाव ना", "ना", ["ना"]),  # neither within a word nor its beginning
        ("दीन किन", "न", []),
    ],
)
def test_snippet_marks_whole_words_with_their_marks(
    text: str, query: str, found: list[str]
) -> None:
    pieces = snippet(text, query_prefixes(query))
    assert marked(pieces) == found
    assert plain_text(pieces) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    ("wanted", "chars", "found"),
    [
        (["tea"], 40, "…. Black [tea] is other [tea] in a pot. x y z…"),
        (["tea", "pot"], 60, "…. Black [tea] is other [tea] in a [pot]. x y z w v u t s r q p.…"),
        (["nothing"], 30, "One two three four five six…"),
        (["leaves", "green"], 30, "…[Green] tea is made of [leaves],…"),
    ],
)
def test_snippet_begins_and_ends_between_words(wanted: list[str], chars: int, found: str) -> None:
    text = "One two three four five six seven eight nine ten. Green tea is made of leaves, which"
    text += " grow. Black tea is other tea in a pot. " + "x y z w v u t s r q p." * 6
    pieces = snippet(text, wanted, chars)
    assert "".join(f"[{part}]" if is_marked else part for part, is_marked in pieces) == found
    whole = snippet(text, wanted, len(text))
    assert plain_text(whole) == text


def test_snippet_ignores_case_accents_and_width() -> None:
    assert marked(
        snippet("Cafe\u0301 CRÈME ＡＢＣ İstanbul", query_prefixes("café creme abc istanbul"))
    ) == [
        "Café",
        "CRÈME",
        "ＡＢＣ",
        "İstanbul",
    ]
    # Voiced kana are other letters, and tones other words.
    assert marked(snippet("ハハ バナナ", query_prefixes("ハナ"))) == []
    assert marked(snippet("ﾊﾞﾅﾅを食べる", query_prefixes("バナナ"))) == ["バナナ"]


def test_snippet_works_for_text_without_spaces() -> None:
    text = "今日は雨です。" * 100 + "明日の東京都は晴れです。" + "今日は雨です。" * 100
    pieces = snippet(text, query_prefixes("東京都 晴れ"), 20)
    assert marked(pieces) == ["東京都", "晴れ"]
    assert 12 <= len(plain_text(pieces)) <= 22
    thai = "ที่กรุงเทพมีน้ำท่วม" * 50
    assert marked(snippet(thai, query_prefixes("น้ำ"), 30))[0] == "น้ำ"


def test_snippet_without_match_shows_beginning() -> None:
    assert snippet("One\n\n  two three", ["x"], 8) == [("One two…", False)]
    assert snippet("One two", []) == [("One two", False)]
    assert snippet("", ["x"]) == []
    assert snippet("x" * 500, ["y"], 50) == [("x" * 50 + "…", False)]


def test_snippets_of_random_texts_are_parts_of_text() -> None:
    source = random.Random(3)
    for _ in range(500):
        text, chars = random_text(source, 30), source.randint(1, 60)
        terms = [*query_prefixes(random_text(source, 2)), text[5:8]]
        pieces = snippet(text, terms, chars)
        flat = " ".join(plain_text(snippet(text, [], 10_000)).split())
        inside = plain_text(pieces).removeprefix("…").removesuffix("…")
        longest = max(map(len, terms))
        assert inside in flat
        assert len(inside) <= chars + longest + 3
        assert all(piece for piece, _ in pieces)
        assert all(first[1] != second[1] for first, second in itertools.pairwise(pieces))


@pytest.mark.parametrize("unit", ["the quick fox ", "東京都の天気は晴れ", "a", "กินข้าว", "ab-"])
def test_snippet_of_long_text_takes_little_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    terms = query_prefixes("the fox a 東京 晴れ ข้าว " + " ".join(f"w{i}" for i in range(1_000)))
    before = time.process_time()
    snippet(text, terms)
    assert time.process_time() - before < 3


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("Le cœur de la ville", "coeur", "cœur"),
        ("Die Straße", "strasse", "Straße"),
        ("п'ять човнів", "п’ять", "п'ять"),
        ('של ארה"ב כאן', "ארה״ב", 'ארה"ב'),
        ("كتاب\u200cهاي", "کتاب\u200cهای", "كتاب\u200cهاي"),
        ("سال ۱۲۳", "123", "۱۲۳"),
    ],
)
def test_other_spellings_of_a_word_are_marked(text: str, query: str, marked: str) -> None:
    pieces = snippet(text, query_prefixes(query))
    assert [piece for piece, is_match in pieces if is_match] == [marked]
