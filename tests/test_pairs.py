"""Words for engines that cut at spaces only."""

from __future__ import annotations

import pytest

from contentspider.index.engines.pairs import MAX_CHARS, MAX_TERMS, terms, words


@pytest.mark.parametrize(
    ("text", "query", "is_there"),
    [
        ("東京都で検索", "東京都", True),
        ("東京都で検索", "都で", True),
        ("東京都で検索", "索", True),
        ("東京都で検索", "京東", False),
        ("ภาษาไทยไม่มีช่องว่าง", "ไทย", True),
        ("ภาษาไทยไม่มีช่องว่าง", "ยไท", False),
        ("검색엔진을", "엔진", True),
        ("ﾃﾞｰﾀ", "データ", True),
        ("Cafe\u0301 ÉTOILE", "café etoile", True),
        ("STRASSE", "straße", True),
        ("snake_case a-b", "snake case a b", True),
        ("हिन्दी में लिखा", "हिन्दी", True),
    ],
)
def test_what_stands_in_a_text_is_in_its_words(text: str, query: str, is_there: bool) -> None:
    held = " ".join(["", *words(text), ""])
    assert all(f" {' '.join(term)} " in held for term in terms(query)) == is_there


def test_words_are_letters_and_digits_however_long_and_many() -> None:
    odd = 'a\'b \\ "c" (d|e) & !f:* <-> \0 \ud83d `g` 東\u3099京' + "x" * 999
    for word in [*words(odd), *(word for term in terms(odd) for word in term)]:
        assert not set(word) & set("'\\\"()|&!:*<->\0\ud83d` ")
        assert 0 < len(word) <= MAX_CHARS
    assert len(terms(" ".join(map(str, range(999))))) == MAX_TERMS
    assert not words("???")
    assert not terms("")
