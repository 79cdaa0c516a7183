"""Words, stems and pairs of characters for engines that have no analyser of their own."""

from __future__ import annotations

import itertools
import random
import time

import pytest

from contentspider.index import words
from contentspider.index.words import (
    MAX_CHARS,
    MAX_TERMS,
    STEMMERS,
    common_prefix,
    pair_phrases,
    query_prefixes,
    query_terms,
    searchable_words,
    stemmer_name,
)


def is_found(text: str, query: str, language: str = "", languages: tuple[str, ...] = ()) -> bool:
    """Tell whether an engine that knows nothing but words in a row finds a query in a text."""
    held = " ".join(["", *searchable_words(text, language), ""])
    return all(
        any(f" {' '.join(row)} " in held for row in forms)
        for forms in query_terms(query, languages or (language,))
    )


@pytest.mark.parametrize(
    ("text", "query", "is_there"),
    [
        ("東京都で検索", "東京都", True),
        ("東京都で検索", "都で", True),
        ("東京都で検索", "索", True),
        ("東京都で検索", "京東", False),
        ("東京都の天気は晴れ、パーティーは2026年3月に開く。", "ﾊﾟｰﾃｨｰ ２０２６ く", True),
        ("北京大学的学生在图书馆看书。", "大学 图书馆", True),
        ("北京大学的学生在图书馆看书。", "学校", False),
        ("여객선은 내일 학교에서 돌아온다.", "학교 여객선", True),
        ("ภาษาไทยไม่มีช่องว่าง", "ไทย", True),
        ("ภาษาไทยไม่มีช่องว่าง", "ยไท", False),
        ("วันนี้ฉันกินข้าวและดื่มน้ำที่กรุงเทพ", "ข้าว น้ำ", True),
        ("วันนี้ฉันกินข้าวและดื่มน้ำที่กรุงเทพ", "น\u0e4d\u0e49า", False),  # marks in another order
        ("ຂ້ອຍກິນເຂົ້າຢູ່ວຽງຈັນ", "ວຽງຈັນ", True),
        ("ខ្ញុំញ៉ាំបាយនៅភ្នំពេញ", "ភ្នំពេញ", True),
        ("ကျွန်တော်ထမင်းစားသည်", "ထမင်း", True),
        ("검색엔진을", "엔진", True),
        ("ﾃﾞｰﾀ", "データ", True),
        ("Cafe\u0301 ÉTOILE", "café etoile", True),
        ("STRASSE", "straße", True),
        ("snake_case a-b", "snake case a b", True),
        ("हिन्दी में लिखा", "हिन्दी", True),
        ("हिन्दी में लिखा", "ह", False),
        ("हिन्दी में लिखा", "लख", False),
        ("نمی\u200cدانم", "دانم", False),
        ("نمی\u200cدانم", "نمیدانم", True),
        ("كِتابٌ", "كتاب", True),
        ("اگلا", "ا\u0654گلا", False),  # a hamza is no point
        ("ഓണം ഞാന്\u200d", "ഞാൻ", True),
        ("ഓണം ഞാന്", "ഞാൻ", False),
        ("Kapı", "KAPI", True),
        ("İzmir", "ızmir", True),
        ("\u0301 a \u0640 b", "a b", True),  # marks without a letter
        ("1⃣ ❤\ufe0f 👩\u200d💻", "1", True),
        ("10\u2074 x\u2074", "104", False),
        ("10\u2074 x\u2074", "x4", True),
        ("Donau\u00addampfer 葛\U000e0100城", "donaudampfer 葛城", True),
    ],
)
def test_query_words_match_words_in_text(text: str, query: str, is_there: bool) -> None:
    assert is_found(text, query) == is_there


@pytest.mark.parametrize(
    ("language", "text", "query"),
    [
        ("cs", "Naše zahrada a dům", "zahrady"),
        ("cs-CZ", "v zahradách", "ZAHRADA"),
        ("en-US", "We walk", "walking"),
        ("en", "He was walking past ponies", "walks pony"),
        ("de", "Die Häuser", "haus"),
        ("fr", "les maisons", "maison"),
        ("ru", "красивая книга", "книги"),
        ("nb", "husene", "huset"),
    ],
)
def test_words_match_by_stem_and_exact_spelling(language: str, text: str, query: str) -> None:
    assert is_found(text, query, language)
    assert is_found(text, query, language, ("ja", "it", language))
    assert is_found(text, text, "", (language,)), "though its language was not told"
    assert is_found(text, text, language, ("ja",))
    assert not is_found(text, query, "ja")


def test_query_is_stemmed_only_in_given_languages() -> None:
    assert query_terms("news", ["en", "ja", "nowhere"]) == [(("news",),)]
    assert query_terms("Kinder kinder", ["de"]) == [(("kinder",), ("kind",))]
    assert searchable_words("Kinder", "de") == ["kinder", "kind"]


def test_stem_of_turkish_capitals_is_that_of_small_letters() -> None:
    assert searchable_words("KAPILARIN", "tr") == searchable_words("kapıların", "tr")
    assert len(searchable_words("KAPILARIN", "tr")) == 2


def test_stems_do_not_depend_on_another_stemmer_that_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("snowballstemmer.stemmer", lambda name: pytest.fail(name))
    words._stemmer.cache_clear()
    words.word_forms.cache_clear()
    assert searchable_words("Häuser", "de") == ["hauser", "haus"]


def test_every_listed_stemmer_works() -> None:
    for tag in STEMMERS:
        assert searchable_words("Haus", tag)


def test_words_contain_only_letters_and_digits_and_are_limited() -> None:
    odd = 'a\'b \\ "c" (d|e) & !f:* <-> \0 \ud83d `g` 東\u3099京' + "x" * 999
    for word in [
        *searchable_words(odd, "en"),
        *(word for term in query_terms(odd) for row in term for word in row),
    ]:
        assert not set(word) & set("'\\\"()|&!:*<->\0\ud83d` ")
        assert 0 < len(word) <= MAX_CHARS
    assert len(query_terms(" ".join(map(str, range(999))))) == MAX_TERMS
    assert not searchable_words("???")
    assert not query_terms("")


def test_any_substring_of_cjk_run_matches() -> None:
    source = random.Random(12)
    for _ in range(300):
        run = "".join(source.choices("東京都天気ひらがなカタカナ학교에서", k=source.randint(1, 12)))
        start = source.randrange(len(run))
        assert is_found(f"ab {run}, c", run[start : source.randint(start + 1, len(run))])


def test_character_pairs_are_grouped_longer_for_scripts_with_longer_words() -> None:
    assert list(pair_phrases("東京都")) == [("東京",), ("京都",)]
    assert list(pair_phrases("東")) == [("東",)]
    letters = [*"กขคงจฉ"]
    pairs = [first + second for first, second in itertools.pairwise(letters)]
    assert list(pair_phrases("".join(letters))) == [
        tuple(pairs[start : start + 3]) for start in range(3)
    ]
    assert list(pair_phrases("".join(letters[:2]))) == [(pairs[0],)]


def test_stemmer_is_chosen_by_language_tag() -> None:
    assert [stemmer_name(tag) for tag in ("en", "EN-gb", "cs-CZ", "ja", "", "x")] == [
        *("english", "english", "czech", "", "", "")
    ]
    assert [
        common_prefix(forms)
        for forms in (["walking", "walk"], ["ferries", "ferri"], ["go", "went"])
    ] == [*("walk", "ferr", "go")]


def test_roots_are_common_beginnings_of_word_forms() -> None:
    assert query_prefixes("Ferries 東京都 Zahrady", ["en"]) == ["ferr", "東京都", "zahrad"]
    assert query_prefixes("walking", ["cs"]) == query_prefixes("walking") == ["walking"]
    assert query_prefixes("ski ties", ["en"]) == ["ski", "tie"]
    assert query_prefixes("Café", ["fr"]) == ["caf"]


def test_long_text_is_split_into_words_quickly() -> None:
    text = " ".join("".join(letters) for letters in itertools.product("abcdefghij", repeat=4))
    before = time.process_time()
    searchable_words(text, "en")
    assert time.process_time() - before < 5
