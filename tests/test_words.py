"""What engines are given of texts without spaces, and the snippets that show what was found."""

from __future__ import annotations

import itertools
import random
import sqlite3
import time
import unicodedata

import pytest

from contentspider.index.words import is_cjk, is_prefix, query_terms, segmented, snippet

TEXTS = {
    "ja": "東京都の天気は晴れ、パーティーは2026年3月に開く。",
    "zh": "北京大学的学生在图书馆看书。",
    "ko": "여객선은 내일 학교에서 돌아온다.",
    "th": "วันนี้ฉันกินข้าวและดื่มน้ำที่กรุงเทพ",
    "lo": "ຂ້ອຍກິນເຂົ້າຢູ່ວຽງຈັນ",
    "km": "ខ្ញុំញ៉ាំបាយនៅភ្នំពេញ",
    "my": "ကျွန်တော်ထမင်းစားသည်",
    "hi": "मैं हिन्दी भाषा बोलता हूँ",
    "de": "Größere Züge fahren über Köln.",
}
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


def engine(texts: dict[str, str]) -> sqlite3.Connection:
    """Return an index of an engine that knows of no words without spaces."""
    found = sqlite3.connect(":memory:")
    tokenizer = "unicode61 remove_diacritics 2 categories ''L* N* Co M*''"
    found.execute(f"CREATE VIRTUAL TABLE t USING fts5(name, text, tokenize='{tokenizer}')")
    rows = ((name, segmented(text)) for name, text in texts.items())
    found.executemany("INSERT INTO t VALUES (?, ?)", rows)
    return found


def search(index: sqlite3.Connection, words: str) -> list[str]:
    terms = [f'"{term}"' + "*" * is_prefix(term) for term in query_terms(words)]
    rows = index.execute("SELECT name FROM t WHERE text MATCH ?", ["text: " + " ".join(terms)])
    return [name for (name,) in rows]


@pytest.mark.parametrize(
    ("words", "language"),
    [
        ("天気", "ja"),
        ("東京都", "ja"),
        ("都", "ja"),  # one character, inside a run
        ("開く", "ja"),
        ("く", "ja"),  # a run's last one
        ("ﾊﾟｰﾃｨｰ", "ja"),  # half width
        ("２０２６", "ja"),  # full width
        ("大学 图书馆", "zh"),
        ("学校", None),
        ("京東", None),
        ("학교", "ko"),  # without its particle
        ("여객선", "ko"),
        ("ข้าว", "th"),
        ("น้ำ", "th"),
        ("น\u0e4d\u0e49า", None),  # marks in another order are another text
        ("ວຽງຈັນ", "lo"),
        ("ភ្នំពេញ", "km"),
        ("ထမင်း", "my"),
        ("हिन्दी", "hi"),
        ("ZÜGE", "de"),
    ],
)
def test_an_engine_without_an_analyser_finds_words_in_any_language(
    words: str, language: str | None
) -> None:
    assert search(engine(TEXTS), words) == ([language] if language else [])


def test_any_part_of_a_run_is_found() -> None:
    source = random.Random(12)
    for _ in range(300):
        run = "".join(source.choices("東京都天気ひらがなカタカナ학교에서", k=source.randint(1, 12)))
        start = source.randrange(len(run))
        part = run[start : source.randint(start + 1, len(run))]
        words = segmented(f"{random_text(source)} {run}").split()
        for term in query_terms(part):
            assert any(word.startswith(term) if is_prefix(term) else word == term for word in words)


def test_texts_are_cut_whatever_they_are() -> None:
    source = random.Random(7)
    for _ in range(500):
        text = random_text(source)
        words = segmented(text).split()
        assert segmented(text) == segmented(unicodedata.normalize("NFC", text))
        assert {word for term in query_terms(text) for word in term.split()} <= {
            part for word in words for part in (word, *query_terms(word))
        }
        assert is_cjk(text) or " ".join(words) == " ".join(
            unicodedata.normalize("NFKC", text.replace("\u200b", "").replace("\ufe00", "")).split()
        )


def test_words_of_other_scripts_and_what_is_not_seen() -> None:
    assert segmented("It's  node.js\n") == "It's  node.js\n"
    assert segmented("Donau\u00addampfer Москва") == "Donaudampfer Москва"
    assert segmented("葛\U000e0100城") == segmented("葛城")
    assert segmented("ジョン・スミス") == "ジョ ョン ン ・ スミ ミス ス"
    assert segmented("") == ""
    assert query_terms('«C++» -- (don\'t) OR x* "C"') == ["C", "don't", "OR", "x"]
    assert query_terms("   \u200b ?!") == []


def marked(pieces: list[tuple[str, bool]]) -> list[str]:
    return [text for text, is_marked in pieces if is_marked]


def shown(pieces: list[tuple[str, bool]]) -> str:
    return "".join(text for text, _ in pieces)


def test_a_snippet_shows_most_terms() -> None:
    text = "The fox sleeps. " * 40 + "A quick brown fox jumps over it. " + "The fox sleeps. " * 40
    pieces = snippet(text, query_terms("fox quick jump"), 60)
    assert set(marked(pieces)) == {"fox", "quick", "jumps"}
    assert shown(pieces).startswith("…")
    assert shown(pieces).endswith("…")
    assert shown(pieces)[1:-1] in text
    assert marked(snippet("concatenate a cat, cats, catalogues", ["cat"])) == ["cat"]
    assert marked(snippet("walks walker walking; sleepwalk; walkie-talkies", ["walk"])) == [
        "walks",
        "walker",
        "walking",
        "walkie",
    ]


def test_a_snippet_takes_case_accents_and_width_for_the_same() -> None:
    assert marked(
        snippet("Cafe\u0301 CRÈME ＡＢＣ İstanbul", query_terms("café creme abc istanbul"))
    ) == [
        "Café",
        "CRÈME",
        "ＡＢＣ",
        "İstanbul",
    ]
    # Voiced kana are other letters, and tones other words.
    assert marked(snippet("ハハ バナナ", query_terms("ハナ"))) == []
    assert marked(snippet("ﾊﾞﾅﾅを食べる", query_terms("バナナ"))) == ["バナナ"]


def test_a_snippet_of_a_text_without_spaces() -> None:
    text = "今日は雨です。" * 100 + "明日の東京都は晴れです。" + "今日は雨です。" * 100
    pieces = snippet(text, query_terms("東京都 晴れ"), 20)
    assert marked(pieces) == ["東京都", "晴れ"]
    assert 12 <= len(shown(pieces)) <= 22
    thai = "ที่กรุงเทพมีน้ำท่วม" * 50
    assert marked(snippet(thai, query_terms("น้ำ"), 30))[0] == "น้ำ"


def test_a_snippet_of_what_was_not_found_is_the_beginning() -> None:
    assert snippet("One\n\n  two three", ["x"], 8) == [("One two…", False)]
    assert snippet("One two", []) == [("One two", False)]
    assert snippet("", ["x"]) == []
    assert snippet("x" * 500, ["y"], 50) == [("x" * 50 + "…", False)]


def test_snippets_are_parts_of_the_text_whatever_it_is() -> None:
    source = random.Random(3)
    for _ in range(500):
        text, chars = random_text(source, 30), source.randint(1, 60)
        terms = [*query_terms(random_text(source, 2)), text[5:8]]
        pieces = snippet(text, terms, chars)
        flat = " ".join(shown(snippet(text, [], 10_000)).split())
        inside = shown(pieces).removeprefix("…").removesuffix("…")
        longest = max(map(len, terms))
        assert inside in flat
        assert len(inside) <= chars + longest + 3
        assert all(piece for piece, _ in pieces)
        assert all(first[1] != second[1] for first, second in itertools.pairwise(pieces))


@pytest.mark.parametrize("unit", ["the quick fox ", "東京都の天気は晴れ", "a", "กินข้าว", "ab-"])
def test_a_long_text_takes_no_long_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    terms = query_terms("the fox a 東京 晴れ ข้าว " + " ".join(f"w{i}" for i in range(1_000)))
    before = time.process_time()
    snippet(text, terms)
    assert time.process_time() - before < 3
