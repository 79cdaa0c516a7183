"""Which blocks of a page an own text repeats, and whose own text it is."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.address_keys import address_key, path_key
from contentspider.page.input.page import Page
from contentspider.page.tree.text import tokens
from contentspider.site.own import alignment
from contentspider.site.own.alignment import Alignment, align, matched_tokens
from contentspider.site.own.matching import stated_texts, texts_by_page
from contentspider.site.own.texts import OwnText
from tests.sites import prose

if TYPE_CHECKING:
    from contentspider.page.tree.blocks import PageBlocks

FIRST, SECOND, THIRD, FOURTH = (prose("aligned", part, words=20) for part in range(4))


def align_page(page: PageBlocks, own: OwnText) -> Alignment | None:
    return align(page, [tokens(block.text) for block in page.blocks], own)


def said(html: str, text: str, title: str = "") -> tuple[list[str], list[str], str] | None:
    """Return the texts of the repeated blocks and of the unclear blocks, and the headline."""
    page = Page.from_html(html).content
    found = align_page(page, OwnText("/", text, "feed", title))
    if found is None:
        return None
    texts = [block.text for block in page.blocks]
    assert len(found.repeated) == len(found.unclear) == len(texts)
    return (
        list(compress(texts, found.repeated)),
        list(compress(texts, found.unclear)),
        texts[found.headline] if found.headline >= 0 else "",
    )


def body(*texts: str) -> str:
    return "".join(f"<p>{text}</p>" for text in texts)


def words(text: str, start: int, end: int) -> str:
    return " ".join(text.split()[start:end])


# blocks that are told


def test_blocks_repeated_in_own_text_are_aligned() -> None:
    found = said(body("Home", FIRST, SECOND, "Imprint"), f"{FIRST}\n{SECOND}")
    assert found == ([FIRST, SECOND], [], "")


def test_alignment_ignores_case_and_punctuation() -> None:
    assert said(body(FIRST), FIRST.upper().replace(" ", " — ")) == ([FIRST], [], "")


@pytest.mark.parametrize("extra", ["[gallery ids=1,2,3]", "Share this on", "»"])
def test_extra_words_in_own_text_do_not_affect_alignment(extra) -> None:
    assert said(body(FIRST, SECOND), f"{FIRST}\n{extra}\n{SECOND}") == ([FIRST, SECOND], [], "")


def test_aligned_block_may_miss_tenth_of_its_words() -> None:
    nine, eight = f"{words(FIRST, 0, 18)} x y", f"{words(FIRST, 0, 17)} x y"
    assert said(body(nine, SECOND), f"{FIRST}\n{SECOND}") == ([nine, SECOND], [], "")
    own = f"{FIRST}\n{SECOND}\n{THIRD}\n{FOURTH}"
    assert said(body(eight, SECOND, THIRD, FOURTH), own) == ([SECOND, THIRD, FOURTH], [eight], "")


def test_truncated_quote_gets_no_label() -> None:
    quote = f"{words(FIRST, 0, 10)} alpha beta gamma delta epsilon zeta eta theta"
    own = f"{SECOND}\n{THIRD}\n{words(FIRST, 0, 10)}"
    assert said(body(SECOND, THIRD, quote), own) == ([SECOND, THIRD], [quote], "")


def test_block_sharing_less_than_thirty_percent_is_clearly_outside_own_text() -> None:
    other = "alpha beta gamma delta epsilon zeta eta"
    # of 10 words 3 or 2 stand at this place of the own text
    for shared, unclear in ((3, True), (2, False)):
        block = f"{words(FIRST, 0, shared)} {other} {'omega' * (3 - shared)}".strip()
        found = said(body(SECOND, block), f"{SECOND} {words(FIRST, 0, shared)}")
        assert found == ([SECOND], [block] if unclear else [], "")


def test_quote_that_repeats_part_of_text_gets_no_label() -> None:
    pull = words(FIRST, 5, 15)
    assert said(body(SECOND, FIRST, pull), f"{SECOND}\n{FIRST}") == ([SECOND, FIRST], [pull], "")


# texts that do not agree


def test_text_of_other_page_does_not_align() -> None:
    assert said(body("Home", FIRST, SECOND), prose("another page", words=60)) is None


@pytest.mark.parametrize(("more", "agrees"), [(8, True), (9, False)])
def test_seventy_percent_of_own_text_must_be_on_page(more, agrees) -> None:
    text = f"{FIRST} {' '.join(f'other{number}' for number in range(more))}"
    assert said(body(FIRST), text) == (([FIRST], [], "") if agrees else None)


@pytest.mark.parametrize("text", ["", "  \n", "…!?"])
def test_own_text_without_words_does_not_align(text) -> None:
    assert said(body(FIRST, "…!?"), text) is None


def test_page_without_blocks_does_not_align() -> None:
    assert said("", FIRST) is None


def test_overlong_own_text_does_not_align(monkeypatch) -> None:
    cells = 20 * 21
    monkeypatch.setattr(alignment, "MAX_CELLS", cells)
    assert said(body(FIRST, "Home"), FIRST) == ([FIRST], [], "")
    monkeypatch.setattr(alignment, "MAX_CELLS", cells - 1)
    assert said(body(FIRST, "Home"), FIRST) is None


# short blocks


def test_short_block_aligns_only_beside_long_block() -> None:
    # the same word stands thrice: within the text, three blocks behind it, and four behind it
    lines = ["Tea", "a1", "a2", FIRST, "Salt", SECOND, "b1", "b2", "Mint", "Dill"]
    text = f"Tea {FIRST} Salt {SECOND} Mint Dill"
    assert said(body(*lines), text) == (["Tea", FIRST, "Salt", SECOND, "Mint"], ["Dill"], "")


def test_short_block_must_match_every_word() -> None:
    assert said(body(FIRST, "one two three four"), f"{FIRST} one two three") == (
        [FIRST],
        ["one two three four"],
        "",
    )


def test_block_of_five_words_is_long_and_of_four_is_short() -> None:
    filler = [f"x{number}" for number in range(6)]
    five, four = "one two three four five", "one two three four"
    assert said(body(FIRST, *filler, five), f"{FIRST} {five}") == ([FIRST, five], [], "")
    assert said(body(FIRST, *filler, four), f"{FIRST} {four}") == ([FIRST], [four], "")


def test_short_blocks_alone_align_only_with_short_text() -> None:
    eight = ["one two three four", "five six seven eight"]
    assert said(body("Home", *eight), " ".join(eight)) == (eight, [], "")
    nine = [*eight, "nine"]
    assert said(body("Home", *nine), " ".join(nine)) is None


def test_block_without_words_never_aligns() -> None:
    assert said(body(FIRST, "***", SECOND), f"{FIRST} *** {SECOND}") == ([FIRST, SECOND], [], "")


@pytest.mark.parametrize(
    "text", ["绿茶是一种经过最少氧化的茶", "緑茶は茶葉を蒸して作られます", "ชาเขียวเป็นเครื่องดื่ม"]
)
def test_scripts_without_spaces_are_aligned_by_characters(text) -> None:
    assert said(body("首页", text, "关于"), text) == ([text], [], "")
    assert said(body("首页", text, "关于"), text[::-1]) is None
    # without half of its characters it is no longer the same
    assert said(body(text), text[: len(text) // 2] + "x" * 3) is None


# titles


def page(*headings: str) -> str:
    return f"{''.join(headings)}<div>{body(FIRST, SECOND)}</div>"


TEXT = f"{FIRST}\n{SECOND}"
TITLE = "How to make green tea"


def test_last_heading_equal_to_title_before_text_is_headline() -> None:
    crumb = f"<ul><li>{TITLE}</ul>"
    heading = f"<h1>{TITLE}!</h1>"
    assert said(page(crumb, heading), TEXT, TITLE) == ([FIRST, SECOND], [], f"{TITLE}!")
    two = page(f"<h2>{TITLE}?</h2>", heading, f"<p>{TITLE}</p>")
    assert said(two, TEXT, TITLE) == ([FIRST, SECOND], [], f"{TITLE}!")


def test_first_block_equal_to_title_is_headline_without_heading() -> None:
    html = page(f"<p>{TITLE}!</p>", f"<p>{TITLE}?</p>")
    assert said(html, TEXT, TITLE) == ([FIRST, SECOND], [], f"{TITLE}!")


def test_breadcrumb_repeating_title_does_not_belong_to_text() -> None:
    html = page("<ul><li>Start<li>How to make green tea</ul>", f"<h1>{TITLE}!</h1>")
    found = align_page(Page.from_html(html).content, OwnText("/", TEXT, "feed", TITLE))
    assert found is not None
    assert found.repeated.tolist() == [False, False, False, True, True]
    assert found.unclear.tolist() == [False] * 5
    assert found.headline == 2


def test_second_title_block_does_not_belong_to_text() -> None:
    html = page(f"<nav><h3>{TITLE}</h3><p>Menu<p>Start<p>News</nav>", f"<h2>{TITLE}</h2>")
    assert said(html, f"{TITLE}\n{TEXT}", TITLE) == ([FIRST, SECOND], [], TITLE)
    found = align_page(
        Page.from_html(html).content, OwnText("/", f"{TITLE}\n{TEXT}", "feed", TITLE)
    )
    assert found is not None
    assert found.headline == 4


def test_headline_stands_at_most_one_line_below_start_of_text() -> None:
    heading = f"<h1>{TITLE}</h1>"
    below = f"<p>{FIRST}</p>{heading}<p>{SECOND}</p>"
    assert said(below, TEXT, TITLE) == ([FIRST, SECOND], [], TITLE)
    lower = f"<p>{FIRST}</p><p>By</p>{heading}<p>{SECOND}</p>"
    assert said(lower, TEXT, TITLE) == ([FIRST, SECOND], [TITLE], "")


def test_heading_with_title_below_text_gets_no_label() -> None:
    html = f"{page()}<p>By</p><h2>{TITLE}</h2>"
    assert said(html, TEXT, TITLE) == ([FIRST, SECOND], [TITLE], "")


def test_title_repeated_in_own_text_is_not_evidence() -> None:
    assert said(f"<h1>{TITLE}</h1>{body('Home')}", TITLE) == ([TITLE], [], "")
    assert said(f"<h1>{TITLE}</h1>{body('Home')}", TITLE, TITLE) is None


@pytest.mark.parametrize(
    ("block", "is_title"),
    [
        ("one two three four five six seven", True),
        ("one two three four five six", False),
        ("one two three four five six seven eight nine ten eleven twelve", True),
        ("one two three four five six seven eight nine ten a b c d e", False),
        ("seven six five four three two one", True),
        ("one one one one one one one", False),
    ],
)
def test_title_match_needs_seventy_percent_of_words_of_both(block, is_title) -> None:
    title = "one two three four five six seven eight nine ten"
    expected = block if is_title else ""
    assert said(page(f"<h1>{block}</h1>"), TEXT, title) == ([FIRST, SECOND], [], expected)


# the alignment of tokens


def test_blocks_share_longest_common_subsequence() -> None:
    blocks = ["a b c".split(), [], "d x e".split(), "a".split()]
    assert matched_tokens(blocks, "a b d e f".split()).tolist() == [2, 0, 2, 0]
    assert matched_tokens(blocks, []).tolist() == [0, 0, 0, 0]
    assert matched_tokens([], ["a"]).tolist() == []


# whose own text it is


@pytest.mark.parametrize(
    "address",
    [
        "https://e.org/a/tea",
        "http://e.org/a/tea",
        "//e.org/a/tea",
        "e.org/a/tea",
        "HTTPS://WWW.E.org/a/tea",
        "https://e.org/a/tea/",
        "https://e.org/a/tea/index.html",
        "https://e.org/a/tea/Index.PHP",
        "https://e.org/a/t%65a",
        "https://e.org/a/tea#comments",
        "  https://e.org/a/tea/#a/b?c ",
    ],
)
def test_url_variants_have_same_address_key(address) -> None:
    assert address_key(address) == "e.org/a/tea"


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("https://e.org", "e.org"),
        ("https://e.org/", "e.org"),
        ("https://www.e.org/index.htm", "e.org"),
        ("https://e.org/?p=1", "e.org?p=1"),
        ("https://e.org/index.php?p=1#x", "e.org?p=1"),
        ("https://e.org/A/Tea", "e.org/A/Tea"),
        ("https://e.org/myindex.html", "e.org/myindex.html"),
        ("https://e.org/index.html.txt", "e.org/index.html.txt"),
        ("https://e.org/gr%C3%BCn", "e.org/grün"),
        ("https://e.org/100%", "e.org/100%"),
        ("https://wwww.e.org/", "wwww.e.org"),
        ("https://e.org/t?u=http://www.x.org/index.html", "e.org/t?u=http://www.x.org/index.html"),
        ("/tea/", "tea"),
        ("", ""),
    ],
)
def test_address_key_keeps_distinguishing_parts_of_url(address, key) -> None:
    assert address_key(address) == key


def pages_at(*addresses: str, canonical: str = "") -> list[Page]:
    head = f"<link rel=canonical href={canonical}>" if canonical else ""
    return [Page.from_html(f"{head}<p>{address}", address) for address in addresses]


def test_own_text_belongs_to_page_with_its_url() -> None:
    pages = pages_at("https://e.org/b", "https://e.org/a", "https://e.org/c")
    one, two = OwnText("http://www.e.org/a/", "1", "feed"), OwnText("//e.org/b", "2", "feed")
    foreign = OwnText("https://other.org/c", "3", "feed")
    found = texts_by_page(pages, [one, foreign, two])
    assert found == {0: [two], 1: [one]}
    assert list(found) == [0, 1]
    assert texts_by_page(pages, []) == {}


def test_own_text_belongs_to_page_with_its_canonical_url() -> None:
    own = OwnText("https://e.org/tea", "1", "feed")
    copy = pages_at("https://e.org/t?print", canonical="http://e.org/tea/")
    assert texts_by_page(copy, [own]) == {0: [own]}
    # the page at the address itself comes first, wherever it stands
    assert texts_by_page([*copy, *pages_at("https://e.org/tea")], [own]) == {1: [own]}
    # and of several the first
    assert texts_by_page([*copy, *copy], [own]) == {0: [own]}


def titled(path: str, title: str) -> Page:
    html = f"<title>{title} - Harbour News</title><h1>{title}</h1><p>Ships in {path} sail at noon."
    return Page.from_html(html, f"https://harbour.example{path}")


def moved(path: str, title: str, source: str = "feed a", host: str = "old-harbour.test") -> OwnText:
    return OwnText(f"http://{host}{path}", f"Ships in {path} sail at noon.", source, title)


HARBOUR = [
    titled("/", "Harbour News"),
    titled("/2020/tug/", "The tug's last tow"),
    titled("/show?id=7", "Seven lighthouses"),
    titled("/fog", "Fog"),
]


def test_own_text_at_old_domain_belongs_to_page_with_same_path_and_title() -> None:
    texts = [
        moved("/fog/index.html", "FOG!"),
        moved("/2020/tug", "The tug’s last tow"),
        moved("/show?id=7", "Seven lighthouses"),
    ]
    found = texts_by_page(HARBOUR, texts)
    assert found == {1: [texts[1]], 2: [texts[2]], 3: [texts[0]]}
    by_path = [Page.from_html("<h1>Fog</h1><p>Ships", "fog/index.html")]
    assert texts_by_page(by_path, texts) == {0: [texts[0]]}, "pages in a folder have no domain"


@pytest.mark.parametrize(
    "text",
    [
        moved("/fog", "Snow"),
        moved("/fog", ""),
        moved("/2021/fog", "Fog"),
        moved("/show?id=8", "Seven lighthouses"),
        moved("/", "Harbour News"),
        moved("/Fog", "Fog", host="www.harbour.example"),
    ],
    ids=str,
)
def test_own_text_at_other_domain_needs_same_path_and_title(text) -> None:
    assert texts_by_page(HARBOUR, [text]) == {}


def test_moved_own_text_is_ignored_if_several_pages_share_its_path() -> None:
    twin = Page.from_html("<h1>Fog</h1><p>Ships", "https://docs.harbour.example/fog")
    assert texts_by_page([*HARBOUR, twin], [moved("/fog", "Fog")]) == {}


def test_source_with_mostly_different_titles_is_ignored() -> None:
    agreeing, other = moved("/fog", "Fog"), moved("/2020/tug/", "Offers")
    assert texts_by_page(HARBOUR, [agreeing, other]) == {}
    more = moved("/show?id=7", "Seven lighthouses")
    assert texts_by_page(HARBOUR, [agreeing, other, more]) == {2: [more], 3: [agreeing]}
    # each source for itself, and addresses that no page has say nothing
    good = moved("/fog", "Fog", "feed b")
    unread = [moved(f"/not-read/{number}", "Fog", "feed b") for number in range(9)]
    assert texts_by_page(HARBOUR, [agreeing, other, good, *unread]) == {3: [good]}


def test_path_key_excludes_host() -> None:
    for address in ("https://e.org", "//www.e.org/", "https://e.org/index.html", "/", ""):
        assert path_key(address) == ""
    assert path_key("https://e.org/?p=1") == "?p=1"
    assert path_key("e.org/tea/") == "e.org/tea", "without a scheme it is a path"


def test_several_texts_of_one_source_for_one_page_are_ignored() -> None:
    pages = pages_at("/a", "/b")
    comments = [OwnText("/a#1", "1", "comments"), OwnText("/a#2", "2", "comments")]
    single = OwnText("/b", "3", "comments")
    post, answer = OwnText("/a", "4", "feed"), OwnText("/a", "5", "api")
    assert texts_by_page(pages, [post, *comments, single, answer]) == {
        0: [post, answer],
        1: [single],
    }
    assert texts_by_page(pages, comments) == {0: []}


def test_article_bodies_in_page_markup_are_own_texts() -> None:
    text = "one two three four five six seven eight"
    html = (
        f'<title>Tea</title><script type="application/ld+json">{{"articleBody": "{text}"}}</script>'
        f"<div itemprop=articleBody><p>{text} nine</p></div><p>Other"
    )
    assert stated_texts([Page.from_html(html, "/a"), Page.from_html("<p>none", "/b")]) == [
        OwnText("/a", text, "json-ld articleBody", "Tea"),
        OwnText("/a", f"{text} nine", "marked articleBody", "Tea"),
    ]
