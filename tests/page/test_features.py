"""Features: each one's value on small pages, by its name."""

from __future__ import annotations

import math
import random
import re

import numpy as np
import pytest
from contentspider.page.features._facts import DATE, PRICE

from contentspider.page.about.hints import Hints
from contentspider.page.features.extractor import FEATURE_NAMES, FeatureExtractor
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import Block
from contentspider.page.tree.text import text_weight, tokens
from tests.messages import wording

LONG = "Tea is made of leaves, and of hot water; it is drunk from cups all over the world today."


def log(number: float) -> float:
    return math.log1p(number)


def values(html: str, feature: str) -> list[float]:
    page = Page.from_html(html)
    rows = FeatureExtractor().features(page.content, page.hints)
    assert rows.dtype == np.float32
    return rows[:, FEATURE_NAMES.index(feature)].tolist()


def test_feature_names_are_unique_and_empty_page_has_no_rows() -> None:
    assert len(FEATURE_NAMES) == len(set(FEATURE_NAMES))
    empty = Page.from_html("")
    assert FeatureExtractor().features(empty.content, empty.hints).shape == (0, len(FEATURE_NAMES))


@pytest.mark.parametrize(
    ("feature", "text", "expected"),
    [
        ("log_chars", "tea pot", log(7)),
        ("log_chars", "茶茶", log(6)),
        ("log_words", "a tea pot", log(3)),
        ("word_chars", "a tea pot", 3),
        ("link_share", "<a href=/>tea</a> pot!!", 1 / 3),
        ("links", "<a href=/>tea</a> <a href=/b>pot</a>", log(2)),
        ("punctuation", "a.b;cdefg!", 0.3),
        ("commas", "a,b、cdefg，", 0.3),
        ("ends_sentence", "Tea.", 1),
        ("ends_sentence", "Tea", 0),
        ("digit_share", "12 cups of", 0.2),
        ("upper_share", "Tea ÄÖ", 0.5),
        ("starts_upper", "Tea", 1),
        ("starts_upper", "tea", 0),
        ("date", "on 3.4.2021", 1 / 1.11),
        ("date", "at noon", 0),
        ("price", "only $ 5", 1 / 1.08),
        ("price", "5,00 € only", 1 / 1.11),
        ("price", "5 cups", 0),
        ("code_share", "a <code>cup</code> x", 3 / 7),
        ("code_share", "a <b>cup</b> x", 0),
        ("separators", "a | b › c ", 2 / 9),
        ("ends_colon", "Tea:", 1),
        ("ends_colon", "Tea: a", 0),
        ("question", "Tea? Yes", 1),
        ("question", "Tea!", 0),
        ("bold_share", "<b>tea</b> pot!!", 1 / 3),
        ("starts_digit", "1 cup", 1),
        ("starts_digit", "a cup 1", 0),
        ("url", "see www.example.org", 1),
        ("url", "see it", 0),
        ("spans", "<a href=/>tea</a> is <code>hot</code> now", 0.5),
        ("says_related", "Read more", 1),
        ("says_comment", "12 comments", 1),
        ("says_share", "Tweet", 1),
        ("says_legal", "Tea © 2020", 1),
        ("says_form", "Our newsletter", 1),
        ("says_byline", "By A. Nobody", 1),
        ("says_move", "Next page", 1),
        ("says_ad", "An advertisement", 1),
        ("says_buy", "Add to cart", 1),
        ("says_buy", "They buy now and then", 0),
        ("says_review", "12 reviews", 1),
        ("says_posting", "3 replies", 0),
        ("says_posting", "Joined: 2019", 1),
        ("says_consent", "Accept all", 1),
        ("says_action", "Learn more", 1),
    ],
)
def test_text_features_are_computed_from_block_text(feature, text, expected) -> None:
    assert values(f"<p>{text}</p>", feature) == [pytest.approx(expected, rel=1e-5)]


def test_legal_words_count_only_at_start_of_short_text() -> None:
    assert values(f"<p>{'x' * 79}©</p><p>{'x' * 80}©</p><p>©{'x' * 399}</p>", "says_legal") == [
        1,
        0,
        0,
    ]


def test_position_features_mark_rows_items_and_repeats() -> None:
    html = "<table><tr><td>a</td></tr></table><ul><li>b</li><li>b</li></ul><p>b</p>"
    assert values(html, "in_row") == [1, 0, 0, 0]
    assert values(html, "in_item") == [0, 1, 1, 0]
    assert values(html, "repeats_on_page") == [0, 2, 2, 2]
    assert values("<p>x</p>" * 9, "repeats_on_page") == [5] * 9


def test_cached_paths_give_same_features() -> None:
    page = Page.from_html(f"<p>Read more</p><p>Tea</p><p>Tea</p><p>{LONG}</p>")
    extractor = FeatureExtractor()
    first = extractor.features(page.content, page.hints)
    np.testing.assert_array_equal(extractor.features(page.content, page.hints), first)


def test_long_blocks_begin_at_80_characters() -> None:
    assert (
        values(f"<p>{'x' * 80}</p><p>{'x' * 79}</p>", "page_long_share")
        == [pytest.approx(80 / 159)] * 2
    )


# Each character that is counted, among others of its script that are not.
@pytest.mark.parametrize(
    ("feature", "pattern"),
    [
        ("punctuation", "[,.;:!?،؛。，、；：！？]"),
        ("commas", "[,，、]"),
        ("separators", "[|»«›‹•·→←>/]"),
        ("digit_share", r"\d"),
        ("upper_share", "[A-ZÀ-ÖØ-ÞА-ЯЁ]"),
    ],
)
def test_character_features_agree_with_regular_expressions(feature, pattern) -> None:
    every = "".join(
        char
        for char in map(chr, (*range(33, 0x700), *range(0x2000, 0x3100), 0xFF0C, 0x1D7D8))
        if char not in "<>&" and char.isprintable() and not char.isspace()
    )
    texts = [every[start : start + 500] + "x>" for start in range(0, len(every), 500)]
    html = "".join(f"<p>{text}</p>" for text in texts)
    blocks = [block.text for block in Page.from_html(html).content.blocks]
    expected = [len(re.findall(pattern, text)) / len(text) for text in blocks]
    assert values(html, feature) == pytest.approx(expected)
    weights = [math.log1p(text_weight(text)) for text in blocks]
    assert values(html, "log_chars") == pytest.approx(weights)


@pytest.mark.parametrize(
    ("feature", "pattern", "parts"),
    [
        ("date", DATE, ["1", "2", "19", "20", "٣", "12", "199", ":", ".", "/", "-", " ", "x", "_"]),
        (
            "price",
            PRICE,
            ["5", "٣", "$", "€", " ", "usd", "EUR", "gbp", "\u212ar", "zł", "Руб", "元x", "k"],
        ),
    ],
)
def test_date_and_price_features_agree_with_regular_expressions(feature, pattern, parts) -> None:
    draw = random.Random(0)
    texts = ["x ." + "".join(draw.choices(parts, k=draw.randint(1, 8))) for _ in range(3_000)]
    texts = [" ".join(text.split()) for text in texts]
    found = values("".join(f"<p>{text}</p>" for text in texts), feature)
    expected = [bool(pattern.search(text)) for text in texts]
    assert [value > 0 for value in found] == expected
    assert 100 < sum(expected) < 2_900


def test_invalid_element_tree_raises_value_error() -> None:
    for damage in ({"parents": [-1, 1]}, {"parents": [-1, -1]}):
        page = Page.from_html("<p>Tea</p>").content
        for name, value in damage.items():
            setattr(page, name, value)
        with pytest.raises(ValueError, match="parent"):
            FeatureExtractor().features(page, Hints())
    page = Page.from_html("<p>Tea</p>").content
    page.blocks.append(Block("Milk", "body/p", "p", 7))
    with pytest.raises(ValueError, match=wording("page.block-without-element")):
        FeatureExtractor().features(page, Hints())


# six blocks: two of them prose, between two h1
ARTICLE = (
    f"<nav><a href=/>Home</a></nav><main><h1>Tea</h1><p>{LONG}</p><h2>Related</h2><p>{LONG} {LONG}"
    "</p></main><h1>End</h1>"
)
SIZES = np.array([4, 3, len(LONG), 7, 2 * len(LONG) + 1, 3])
TOTAL, PROSE = SIZES.sum(), SIZES[2] + SIZES[4]


@pytest.mark.parametrize(
    ("feature", "expected"),
    [
        ("index_share", [0, 1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6]),
        ("index_log", [log(number) for number in range(6)]),
        ("from_end_log", [log(5 - number) for number in range(6)]),
        ("chars_before", (np.cumsum(SIZES) - SIZES) / TOTAL),
        ("long_before", [0, 0, 0, SIZES[2] / PROSE, SIZES[2] / PROSE, 1]),
        ("depth", [1, 2, 2, 2, 2, 1]),
        ("after_h1", [0, 1, 1, 1, 1, 1]),
        ("from_h1", [-log(1), 0, log(1), log(2), log(3), 0]),
        ("since_heading", [0, 0, log(1), 0, log(1), 0]),
        ("heading_level", [0, 1, 1, 2, 2, 1]),
        ("heading_related", [0, 0, 0, 1, 1, 0]),
        ("heading_comment", [0] * 6),
        ("first_of_path", [1, 1, 1, 1, 0, 1]),
        ("path_blocks_log", [log(1), log(1), log(2), log(1), log(2), log(1)]),
        ("path_char_share", [4, 3, PROSE, 7, PROSE, 3] / TOTAL),
        ("path_link_share", [1, 0, 0, 0, 0, 0]),
        ("path_mean_chars", [log(4), log(3), log(PROSE / 2), log(7), log(PROSE / 2), log(3)]),
        ("position_in_parent", [0, 0, 0, 0, 1, 0]),
        ("in_first_long_container", [0, 1, 1, 1, 1, 0]),
        ("h1_before", [0, 1, 1, 1, 1, 2]),
        ("long_h1_before", [0, 0, 0, 0, 0, 1]),
        ("page_blocks", [log(6)] * 6),
        ("page_chars", [log(TOTAL)] * 6),
        ("page_link_share", [4 / TOTAL] * 6),
        ("page_long_share", [PROSE / TOTAL] * 6),
        ("page_h1", [2] * 6),
        ("char_share_0", SIZES / TOTAL),
        ("char_share_1", [1, *[(TOTAL - 7) / TOTAL] * 4, 1]),
        ("char_share_2", [1] * 6),
        ("link_share_0", [1, 0, 0, 0, 0, 0]),
        ("link_share_1", [4 / TOTAL, 0, 0, 0, 0, 4 / TOTAL]),
        ("blocks_0", [log(1)] * 6),
        ("blocks_1", [log(6), *[log(4)] * 4, log(6)]),
        ("mean_chars_1", [log(TOTAL / 6), *[log((TOTAL - 7) / 4)] * 4, log(TOTAL / 6)]),
        ("long_share_1", [PROSE / TOTAL, *[PROSE / (TOTAL - 7)] * 4, PROSE / TOTAL]),
        ("position_0", [0] * 6),
        ("position_1", [0, 0, 1 / 3, 2 / 3, 1, 1]),
        ("sibling_0", [0, 0, 0, 0, 1, 0]),
        ("in_trunk", [0, 1, 1, 1, 1, 0]),
        ("trunk_depth", [0, 1, 1, 1, 1, 0]),
        ("trunk_share", [(TOTAL - 7) / TOTAL] * 6),
        ("trunk_before", [log(1), 0, 0, 0, 0, 0]),
        ("trunk_after", [0, 0, 0, 0, 0, log(1)]),
        ("trunk_link_share", [0] * 6),
        ("in_stem", [0, 0, 0, 0, 1, 0]),
        ("stem_share", [SIZES[4] / TOTAL] * 6),
        ("log_chars_-2", [-1, -1, *[log(size) for size in SIZES[:4]]]),
        ("log_chars_+1", [*[log(size) for size in SIZES[1:]], -1]),
        ("link_share_-1", [-1, 1, 0, 0, 0, 0]),
        ("same_path_+2", [0, 0, 1, 0, 0, 0]),
        ("heading_+1", [1, 0, 2, 0, 1, -1]),
        ("ends_sentence_-1", [-1, 0, 0, 1, 0, 1]),
        ("window_sentence", [2 / 6] * 6),
        ("window_links", [4 / TOTAL] * 6),
        ("window_chars", [np.log1p(SIZES).mean()] * 6),
        ("wide_links", [4 / TOTAL] * 6),
        ("wide_chars", [np.log1p(SIZES).mean()] * 6),
        ("tag_h1", [0, 1, 0, 0, 0, 1]),
        ("tag_p", [0, 0, 1, 0, 1, 0]),
        ("tag_other", [1, 0, 0, 0, 0, 0]),
        ("inside_main", [0, 1, 1, 1, 1, 0]),
    ],
)
def test_place_features_describe_position_of_block_in_page(feature, expected) -> None:
    assert values(ARTICLE, feature) == pytest.approx(list(expected), rel=1e-4, abs=1e-6)


def test_window_features_cover_5_blocks_and_wide_features_20_blocks() -> None:
    html = "<p>Tea.</p>" + "<p>Tea</p>" * 30
    near = values(html, "window_sentence")
    assert near[:7] == pytest.approx([1 / 6, 1 / 7, 1 / 8, 1 / 9, 1 / 10, 1 / 11, 0])
    html = f"<p>{LONG}</p>" + "<p>Tea</p>" * 30
    wide = values(html, "wide_chars")
    assert wide[20] > wide[21] == pytest.approx(log(3))


def test_page_without_headings_or_prose_has_default_feature_values() -> None:
    html = "<p>Tea</p><p>Milk</p>"
    assert values(html, "after_h1") == [-1, -1]
    assert values(html, "from_h1") == [-9, -9]
    assert values(html, "long_before") == [0, 0]
    assert values(html, "in_first_long_container") == [0, 0]
    assert values(html, "same_path_-2") == [-1, -1]
    assert values(html, "same_path_-1") == [0, 1]


def test_title_and_description_features_measure_shared_words() -> None:
    html = (
        "<title>Green tea</title><meta name=description content='Tea, and milk, and sugar'>"
        "<p>Tea pots of clay</p><p>Nothing</p>"
    )
    expected = {
        "in_title": 1 / 4,
        "of_title": 1 / 2,
        "in_description": 1 / 4,
        "of_description": 1 / 4,
    }
    for feature, value in expected.items():
        assert values(html, feature) == pytest.approx([value, 0])


@pytest.mark.parametrize(
    ("title", "block", "of_title"),
    [
        ("हिन्दी नाव", "नाव पुरानी", 1 / 2),
        ("हिन्दी नाव", "न व", 0),
        ("نمی\u200cدانم", "نمیدانم چرا", 1),
        ("ទូក", "ទាទូ", 2 / 3),  # each character is a word
    ],
)
def test_words_of_titles_are_words_of_any_script(title: str, block: str, of_title: float) -> None:
    found = values(f"<title>{title}</title><p>{block}</p>", "of_title")
    assert found == [pytest.approx(of_title)]


def test_page_type_is_feature_of_all_blocks() -> None:
    html = "<title>Tea</title><meta property=og:type content=article><p>Tea</p><p>Nothing</p>"
    assert values(html, "page_is_article") == [1, 1]
    assert values(html, "page_is_product") == [0, 0]


def test_text_without_spaces_is_tokenized_and_weighted() -> None:
    assert tokens("Green tea_pot, 茶です") == ["green", "tea", "pot", "茶", "で", "す"]
    assert tokens("हिन्दी में نمی\u200cدانم Cafe\u0301 ❤\ufe0f") == [
        *("हिन्दी", "में", "نمیدانم", "cafe\u0301"),
    ]
    assert tokens("ទូក ລາວ") == list("ទូក" + "ລາວ")
    assert [text_weight(text) for text in ("tea", "é", "茶")] == [3, 1, 3]


def test_landmark_features_describe_article_and_main_elements() -> None:
    html = (
        f"<p>a</p><article><p>{LONG}</p></article><div role=main><article><p>b</p></article></div>"
    )
    total = 2 + len(LONG)
    assert values(html, "article_count") == [2, 2, 2]
    assert values(html, "article_inside") == [0, 1, 1]
    assert values(html, "article_rank") == [0, 1, 2]
    shares = [-1, len(LONG) / total, 1 / total]
    assert values(html, "article_char_share") == [pytest.approx(share) for share in shares]
    assert values(html, "article_largest") == [pytest.approx(shares[1])] * 3
    assert values(html, "article_is_largest")[:2] == [-1, 1]
    assert values(html, "main_inside") == [0, 0, 1]
    assert values("<p>a", "main_count") == [0]


def test_heading_features_count_half_for_lower_headings() -> None:
    html = "<h2>Related</h2><h3>Tea</h3><p>a</p><h3>Reviews</h3><p>b</p>"
    html += "<h2><a href=/>Milk</a></h2><p>c"
    assert values(html, "heading_related") == [1, 0.5, 0.5, 0.5, 0.5, 0, 0]
    assert values(html, "heading_review") == [0, 0, 0, 1, 1, 0, 0]
    assert values(html, "heading_linked") == [0, 0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("text", "part", "away", "again"),
    [
        ("<a href=#milk>tea</a> pot!!", 1 / 3, 0, 0),
        ("<a href=tea.html#milk>tea</a> pot!!", 1 / 3, 0, 0),
        ("<a href=#>tea</a> pot!!", 0, 0, 0),
        ("<a href=https://tea.test/>tea</a> pot!!", 0, 0, 0),  # all that name a site name this one
        ("<a href=/>tea</a> <a href=/>pot</a>!!", 0, 0, 6 / 9),
        ("<a href=a.html#b>tea</a> <a href=a.html>pot</a>!!", 3 / 9, 0, 6 / 9),
        ("<a href=/a>tea</a> <a href=/b>pot</a> <a href=//x.test>cup</a>", 0, 3 / 11, 0),
        ("<a href=http://WWW.x.test:80/a>tea</a> <a href=//x.test?b>pot</a> a", 0, 0, 0),
        ("<b>tea</b> <code>pot</code>", 0, 0, 0),
        ("tea", 0, 0, 0),
    ],
)
def test_link_features_measure_where_links_lead(
    text: str, part: float, away: float, again: float
) -> None:
    for name, share in {"part": part, "away": away, "again": again}.items():
        assert values(f"<p>{text}</p>", f"to_{name}") == [pytest.approx(share)]


def test_link_features_cover_neighbouring_blocks_and_whole_page() -> None:
    html = "<p><a href=#a>tea</a></p>" + "<p>pot</p>" * 4 + "<p><a href=/b>cups!</a></p>"
    assert values(html, "to_part") == [1, 0, 0, 0, 0, 0]
    around = [3 / 12, 3 / 15, 3 / 20, 3 / 20, 0, 0]
    assert values(html, "to_part_around") == pytest.approx(around)
    assert values(html, "to_part_page") == pytest.approx([3 / 8] * 6)
