"""Phrases by which boilerplate of many languages is known."""

from __future__ import annotations

import random
import re

import pytest

from contentspider.page.words.phrases import (
    NOISE_PHRASES,
    PHRASE_MATCHER,
    beginning,
    compile_phrases,
    read_data,
)


def said(text: str) -> tuple[bool, ...]:
    """Tell for each of `NOISE_PHRASES` whether *text* has it."""
    return tuple(
        bool(PHRASE_MATCHER.kinds_in(text) >> kind & 1) for kind in range(len(NOISE_PHRASES))
    )


@pytest.mark.parametrize(
    ("group", "text", "is_there"),
    [
        ("related", "» Ähnliche Artikel", True),
        ("related", "Not related", False),
        ("related", "Read: the news", True),
        ("comment", "3 комментария", True),
        ("comment", "No comments", False),
        ("share", "Share this", True),
        ("share", "Shareholders", False),
        ("legal", "Alle Rechte vorbehalten", True),
        ("form", "メンバー登録", True),
        ("byline", "von A. B.", True),
        ("byline", "vonnöten", False),
        ("move", "次へ", True),
        ("ad", "Publicité", True),
        ("related", "راجعي أيضا: كل الأسئلة", True),
        ("related", "Läs även", True),
        ("share", "Del mismo autor", False),  # to share, in Danish
        ("byline", "Автор: Ада", True),
        ("byline", "De Ion Creangă", False),  # "of" in five languages
        ("move", "Następna strona", True),
        ("move", "Další možnost", False),  # next, and another
    ],
)
def test_noise_phrases_match_boilerplate_of_many_languages(group, text, is_there) -> None:
    assert bool(NOISE_PHRASES[group].search(text.lower())) == is_there


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("tea is made of leaves", []),
        ("read more in our newsletter ©", ["related", "legal", "form", "action"]),
        ("12 comments", ["comment"]),
        ("tea ©", ["legal"]),
    ],
)
def test_text_is_matched_against_all_phrase_groups(text, groups) -> None:
    found = [name for name, says in zip(NOISE_PHRASES, said(text), strict=True) if says]
    assert found == groups


def test_every_phrase_in_data_is_matched_by_its_group() -> None:
    data = read_data("phrases.json")
    assert list(data) == list(NOISE_PHRASES)
    for name, group in data.items():
        for phrases in group["phrases"].values():
            for phrase in phrases:
                alone = compile_phrases(**{**group, "phrases": {"": [phrase]}})
                assert alone.pattern.strip("^$"), (name, phrase)
                assert phrase == phrase.lower(), (name, phrase)  # it would match nothing
                # Else its beginning would be that of the first alternative only.
                assert "|" not in re.sub(r"\([^()]*\)|\[[^]]*\]", "", phrase), (name, phrase)
    numbered = compile_phrases(
        {"en": ["notes"]}, begins_text=True, after_a_number=True, whole_words=False
    )
    assert numbered.search("12 notes")
    assert not numbered.search("my notes")


@pytest.mark.thorough
@pytest.mark.large
def test_fast_phrase_matcher_agrees_with_regular_expressions() -> None:
    draw = random.Random(0)
    words = re.findall(r"\w+", " ".join(pattern.pattern for pattern in NOISE_PHRASES.values()))
    words = [*sorted(set(words)), "12", "٣", "5", "©", "(c)", ">", "...", "_", "'", "-", ":", "/"]
    found = 0
    for _ in range(20_000):
        parts = [draw.choice(words) for _ in range(draw.randint(1, 4))]
        text = "".join(part + draw.choice(["", " ", " ", "s", ": "]) for part in parts)
        expected = tuple(pattern.search(text) is not None for pattern in NOISE_PHRASES.values())
        assert said(text) == expected, text
        found += any(expected)
    assert 1_000 < found < 19_000


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("tea", "tea"),
        (r"\(c\) ?\d{4}", "(c)"),
        (r"\d+ of", "0"),
        (r"\d?a", ""),
        ("[a5]b", ""),
        (r"\btea", ""),
        ("te(?:a|b)", "te"),
        ("ta*b", "t"),
        ("te.", "te"),
        ("page 7", "page 0"),
        ("abcdefghij", "abcdefgh"),
    ],
)
def test_literal_beginning_of_phrase_pattern_is_computed(phrase, expected) -> None:
    assert beginning(phrase) == expected
