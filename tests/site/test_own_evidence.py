"""What own texts tell of a site: whole texts or excerpts, and sources that are wrong."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider.site.own.evidence import Evidence, gather_evidence
from contentspider.site.own.matching import texts_by_page
from contentspider.site.own.texts import OwnText
from tests.ownsite import (
    FEED,
    WORDS,
    address,
    feed,
    html,
    make_pages,
    own,
    part,
    prose,
    title,
    wanted,
)
from tests.sites import site_of, where

SITE = site_of([html(number) for number in range(12)])
PAGES = make_pages()
LIKELY = ("h1", "sidebar", "story")
JUDGED = np.where(where(SITE, lambda slot: any(name in slot for name in LIKELY)), 0.9, 0.1)
LEAD, TEXT = "body/div.sidebar/p.lead", "body/div.sidebar/p"
BOX = "body/div.story/p"
HEADLINE = "body/h1"
OTHERS = {
    "body/ul.menu/li",
    BOX,
    "body/ul.related/li",
    "body/ul.comments/li/p",
    "body/div.footer/p",
}


def gathered(texts, judged=JUDGED, site=SITE, pages=PAGES) -> Evidence:
    return gather_evidence(site, texts_by_page(pages, texts), judged, judged)


def told(evidence: Evidence, page: int, site=SITE) -> dict[str, list[float]]:
    """Return what is told of a page's blocks by their slots; -1 is nothing."""
    found: dict[str, list[float]] = {}
    for index in np.flatnonzero(site.pages == page):
        value = evidence.labels[index]
        found.setdefault(site.slots[index], []).append(-1.0 if np.isnan(value) else float(value))
    return found


def excerpt(number: int, words: int = 55) -> str:
    return " ".join(wanted(number).split()[:words]) + " [...]"


# whole texts, or excerpts


def test_site_without_own_texts_has_no_evidence() -> None:
    evidence = gathered([])
    assert np.isnan(evidence.labels).all()
    assert (len(evidence.labels), evidence.has_label.any()) == (len(SITE.chars), False)
    assert (evidence.pages, evidence.whole) == (frozenset(), {})


def test_complete_own_text_labels_every_block_of_its_page() -> None:
    evidence = gathered(feed(2, 5, 7))
    assert evidence.pages == {2, 5, 7}
    assert evidence.whole == {number: feed(number)[0] for number in (2, 5, 7)}
    assert told(evidence, 5) == {
        "body/ul.menu/li": [0, 0],
        HEADLINE: [1],
        LEAD: [1],
        TEXT: [1, 1, 1],
        BOX: [0, 0],
        "body/ul.related/li": [0, 0, 0],
        "body/ul.comments/li/p": [0, 0],
        "body/div.footer/p": [0],
    }
    assert set(np.unique(SITE.pages[evidence.has_label]).tolist()) == {2, 5, 7}


def test_single_complete_own_text_is_enough() -> None:
    evidence = gathered(feed(4))
    assert set(evidence.whole) == {4}


def test_excerpt_labels_only_content() -> None:
    # the first paragraph has a class of its own, and is all that is told whole
    evidence = gathered([own(number, excerpt(number)) for number in range(6)])
    assert (evidence.pages, evidence.whole) == ({0, 1, 2, 3, 4, 5}, {})
    for page in range(6):
        assert {slot: set(found) for slot, found in told(evidence, page).items()} == {
            slot: {1.0} if slot in (HEADLINE, LEAD) else {-1.0} for slot in told(evidence, page)
        }


def test_first_paragraphs_alone_count_as_excerpt() -> None:
    texts = [own(number, f"{part(number, 'lead')}\n{part(number, 'one')}") for number in range(6)]
    evidence = gathered(texts)
    assert (evidence.pages, evidence.whole) == ({0, 1, 2, 3, 4, 5}, {})
    assert told(evidence, 3)[TEXT] == [1, -1, -1]


def test_mixed_source_is_complete_if_most_of_its_texts_are() -> None:
    few = [own(number, f"{part(number, 'lead')}\n{part(number, 'one')}") for number in (4, 5)]
    evidence = gathered([*feed(0, 1, 2), *few])
    assert set(evidence.whole) == {0, 1, 2}
    # of the pages with an excerpt only that is told
    assert (told(evidence, 4)[TEXT], told(evidence, 4)[BOX]) == ([1, -1, -1], [-1, -1])
    assert (told(evidence, 1)[TEXT], told(evidence, 1)[BOX]) == ([1, 1, 1], [0, 0])
    more = [*few, *(own(n, f"{part(n, 'lead')}\n{part(n, 'one')}") for n in (6, 7))]
    evidence = gathered([*feed(0, 1, 2), *more])
    assert evidence.whole == {}
    assert told(evidence, 1)[BOX] == [-1, -1]


def test_each_source_is_judged_separately() -> None:
    short = [own(number, excerpt(number), "json-ld articleBody") for number in (3, 4, 5)]
    evidence = gathered([*short, *feed(0, 1)])
    assert (evidence.pages, set(evidence.whole)) == ({0, 1, 3, 4, 5}, {0, 1})


@pytest.mark.parametrize("whole_first", [True, False])
def test_complete_text_takes_precedence_over_excerpt(whole_first) -> None:
    texts = [feed(3)[0], own(3, excerpt(3), "other")]
    evidence = gathered(texts if whole_first else texts[::-1])
    assert evidence.whole == {3: texts[0]}
    assert told(evidence, 3)[TEXT] == [1, 1, 1]
    assert told(evidence, 3)[BOX] == [0, 0]


def test_first_of_equal_own_texts_takes_precedence() -> None:
    one, two = own(3, part(3, "lead"), "a"), own(3, part(3, "one"), "b")
    assert told(gathered([one, two]), 3)[TEXT] == [-1, -1, -1]
    assert told(gathered([two, one]), 3)[TEXT] == [1, -1, -1]
    whole = [own(3, wanted(3), source) for source in "ba"]
    assert gathered(whole).whole == {3: whole[0]}


def test_hidden_pages_are_removed_from_evidence() -> None:
    evidence = gathered(feed(2, 5, 7))
    left = evidence.without(frozenset([5, 7]), SITE)
    assert (left.pages, set(left.whole)) == ({2}, {2})
    here = SITE.pages == 2
    np.testing.assert_array_equal(left.labels[here], evidence.labels[here])
    assert np.isnan(left.labels[~here]).all()
    assert evidence.pages == {2, 5, 7}  # which is not changed


# the blocks of one page


def one_page(html: str, text: str, judged: dict[str, float], name: str = "", source: str = FEED):
    """Return what a text tells of a page's blocks, that has three other pages beside it."""
    site = site_of([html, *(f"<article><p>{prose('else', n)}</p></article>" for n in range(3))])
    chances = np.array([judged.get(slot.rpartition("/")[2], 0.9) for slot in site.slots])
    evidence = gather_evidence(site, {0: [OwnText("/", text, source, name)]}, chances, chances)
    return told(evidence, 0, site), bool(evidence.whole)


P1, P2, P3 = (prose("one page", number) for number in range(3))


def sized(name: str, chars: int) -> str:
    """Return a sentence of so many characters."""
    return f"{prose(name)[: chars - 2]} .".replace("  ", "x ")


@pytest.mark.parametrize(("missing", "is_whole"), [(18, True), (20, False)])
def test_complete_own_text_must_cover_most_of_its_place(missing, is_whole) -> None:
    first, second, other = sized("a", 200), sized("b", 160), sized("c", missing)
    assert [len(first), len(second), len(other)] == [200, 160, missing]
    found, whole = one_page(f"<p>{first}<p>{second}<p>{other}", f"{first} {second}", {})
    assert whole == is_whole
    # what is missing is judged to be content: it may have been lost on its way
    assert found == {"body/p": [1, 1, -1]}


@pytest.mark.parametrize(("missing", "is_whole"), [(120, True), (121, False)])
def test_complete_own_text_must_cover_half_of_likely_prose(missing, is_whole) -> None:
    first, other = sized("a", 120), sized("b", missing)
    found, whole = one_page(f"<p>{first}</p><h4>{other}</h4>", first, {"h4": 0.8})
    assert whole == is_whole
    assert found == {"body/p": [1], "body/h4": [0 if is_whole else -1]}


def test_unlikely_or_short_blocks_may_be_missing_from_complete_text() -> None:
    # what nobody takes for content is not asked for
    _, whole = one_page(f"<p>{P1}</p><h4>{P2} {P3}</h4>", P1, {"h4": 0.49})
    assert whole
    # nor what is shorter than a sentence
    short = "".join(f"<h4>w{n}{'x' * 50} y</h4>" for n in range(9))
    _, whole = one_page(f"<p>{P1}</p>{short}", P1, {"h4": 0.8})
    assert whole


@pytest.mark.parametrize(
    ("behind", "judged", "is_whole"),
    [
        ("<h4>{}</h4>", 0.91, False),  # it stops amid the content
        ("<div><h4>{}</h4></div>", 0.91, False),
        ("<h4>{}</h4>", 0.89, True),  # this may be the template's
        ("</article><h4>{}</h4>", 0.91, True),  # not in the text's element
        ("", 0.91, True),
    ],
)
def test_own_text_followed_by_confident_content_is_not_complete(behind, judged, is_whole) -> None:
    short = "".join(behind.format(f"w{n}{'x' * 50} y") for n in range(3))
    html = f"<article><p>{P1}</p><p>{P2}</p>{short}"
    _, whole = one_page(html, f"{P1} {P2}", {"h4": judged})
    assert whole == is_whole


def test_own_text_of_short_blocks_is_measured_by_place() -> None:
    html = f"<ul><li>onetime twotime<li>threetime fourtime<li>x</ul><p>{'y' * 30}"
    texts, whole = one_page(html, "onetime twotime threetime fourtime", {})
    # 33 of 34 characters in the list
    assert whole
    assert texts == {"body/ul/li": [1, 1, -1], "body/p": [0]}


def test_missing_block_at_place_of_text_is_noise_if_judged_unlikely() -> None:
    html = f"<p>{P1}</p><p>{P2}</p><p>{P3}</p><p>a short line</p>"
    site = site_of([html, *(f"<article><p>{prose('else', n)}</p></article>" for n in range(3))])
    texts = {0: [OwnText("/", f"{P1} {P2} {P3}", FEED)]}
    for judged, label in ((0.5, -1), (0.49, 0)):
        chances = np.where(np.array(site.texts) == site.texts[3], judged, 0.9)
        evidence = gather_evidence(site, texts, chances, chances)
        assert told(evidence, 0, site) == {"body/p": [1, 1, 1, label]}


@pytest.mark.parametrize(("judged", "label"), [(0.01, -1), (0.02, 1)])
def test_improbable_template_link_after_own_text_gets_no_label(judged, label) -> None:
    link = "The next post in this long series of posts"
    html = f"<p>{P1}</p>{{}}<p>{P2}</p><p>{P3}</p>{{}}"
    behind = html.format("", f"<h4>{link}</h4>")
    within = html.format(f"<h4>{link}</h4>", "")
    texts, _ = one_page(behind, f"{P1} {P2} {P3} {link}", {"h4": judged})
    assert texts == {"body/p": [1, 1, 1], "body/h4": [label]}
    texts, _ = one_page(within, f"{P1} {link} {P2} {P3}", {"h4": judged})
    assert texts == {"body/p": [1, 1, 1], "body/h4": [1]}


def test_unclear_block_stays_unlabelled_beside_complete_text() -> None:
    quote = " ".join(P1.split()[3:20])
    texts, _ = one_page(f"<p>{P1}</p><p>{P2}</p><h4>{quote}</h4>", f"{P1} {P2}", {})
    assert texts == {"body/p": [1, 1], "body/h4": [-1]}


@pytest.mark.parametrize("tag", ["p", "h4"])
def test_unclear_blocks_do_not_make_own_text_incomplete(tag) -> None:
    quote = f"<{tag}>{' '.join(P1.split()[3:35])}</{tag}>"
    texts, whole = one_page(f"<p>{P1}</p>{quote * 3}", P1, {})
    assert whole
    assert texts in ({"body/p": [1, -1, -1, -1]}, {"body/p": [1], "body/h4": [-1, -1, -1]})


def test_short_aligned_line_does_not_mark_its_place_as_content() -> None:
    html = f"<p>{P1}</p><ul><li>tea leaf<li>{sized('list', 55)}<li>{sized('more', 55)}</ul>"
    texts, whole = one_page(html, f"{P1} tea leaf", {"li": 0.1})
    assert whole
    assert texts == {"body/p": [1], "body/ul/li": [1, 0, 0]}


def test_article_body_markup_labels_only_likely_content() -> None:
    html = f"<div><p>{P1}</p><p>{P2}</p><h4>{P3}</h4></div><h5>other</h5>"
    text = f"{P1} {P2} {P3}"
    likely = {"h4": 0.5, "h5": 0.1}
    unlikely = {"h4": 0.49, "h5": 0.1}
    for source, judged, expected in (
        (FEED, unlikely, 1),
        ("marked articleBody", likely, 1),
        ("marked articleBody", unlikely, -1),
    ):
        texts, _ = one_page(html, text, judged, source=source)
        assert texts == {"body/div/p": [1, 1], "body/div/h4": [expected], "body/h5": [0]}


# sources that are wrong, or hostile


def test_own_texts_of_other_pages_give_no_evidence() -> None:
    shifted = [own(number, wanted(number + 1), named=title(number + 1)) for number in range(11)]
    evidence = gathered(shifted)
    assert not evidence.has_label.any()


@pytest.mark.parametrize(
    "text",
    [
        "All rights reserved by the makers of this site",
        " ".join(WORDS * 20),
        "buy cheap pills now " * 200,
        "Tea Start",
        "…",
    ],
)
def test_template_text_and_spam_give_no_evidence(text) -> None:
    evidence = gathered([own(number, text) for number in range(12)])
    assert not evidence.has_label.any()


def test_template_text_in_complete_own_text_gets_no_label() -> None:
    line = "All rights reserved by the makers of this site"
    evidence = gathered([own(number, f"{wanted(number)}\n{line}") for number in range(4)])
    found = told(evidence, 2)
    assert (found[TEXT], found["body/div.footer/p"]) == ([1, 1, 1], [-1])


def test_garbled_own_text_is_not_complete() -> None:
    def garbled(number: int) -> str:
        words = wanted(number).split(" ")
        return " ".join(f"{word}Ã" if at % 20 == 5 else word for at, word in enumerate(words))

    evidence = gathered([own(number, garbled(number)) for number in range(4)])
    assert not evidence.whole


@pytest.mark.parametrize(
    ("copies", "alone", "value"), [(2, 0.1, 1.0), (3, 0.49, -1.0), (3, 0.5, 1.0)]
)
def test_text_on_more_than_two_pages_is_template_unless_judged_content(
    copies, alone, value
) -> None:
    # of few pages; a copy of a page would count once
    line = prose("line")
    bodies = [
        f"<p>{prose('a', n)}</p>{f'<p>{line}</p>' if n < copies else ''}<p>{prose('b', n)}</p>"
        for n in range(8)
    ]
    site = site_of(bodies)
    given = {0: [OwnText("/", f"{prose('a', 0)} {line} {prose('b', 0)}", FEED)]}
    judged, chances = np.full(len(site.chars), 0.9), np.full(len(site.chars), alone)
    evidence = gather_evidence(site, given, judged, chances)
    assert told(evidence, 0, site) == {"body/p": [1, value, 1]}


def test_copied_pages_do_not_make_text_template() -> None:
    bodies = [f"<p>{prose('copied')}</p><p>{prose('too')}</p>"] * 4
    site = site_of([*bodies, *(f"<p>{prose('x', n)}</p><p>{prose('y', n)}" for n in range(4))])
    given = {0: [OwnText("/", f"{prose('copied')} {prose('too')}", FEED)]}
    chances = np.full(len(site.chars), 0.9)
    evidence = gather_evidence(site, given, chances, chances)
    assert told(evidence, 0, site) == {"body/p": [1, 1]}


def test_template_prose_does_not_make_own_text_incomplete() -> None:
    line = f"<h4>{prose('line')}</h4><h4>{prose('another line')}</h4>"
    site = site_of([f"<p>{prose('a', n, words=30)}</p>{line}" for n in range(8)])
    given = {0: [OwnText("/", prose("a", 0, words=30), FEED)]}
    chances = np.full(len(site.chars), 0.9)
    evidence = gather_evidence(site, given, chances, chances)
    assert set(evidence.whole) == {0}
    assert told(evidence, 0, site) == {"body/p": [1], "body/h4": [0, 0]}


def test_text_on_more_than_tenth_of_many_pages_is_template() -> None:
    def middle(copies: int, pages: int) -> float:
        bodies = [
            f"<p>{prose('a', n)}</p><p>{prose('line') if n < copies else prose('c', n)}</p>"
            for n in range(pages)
        ]
        site = site_of(bodies)
        text = f"{prose('a', 0)} {prose('line')}"
        given = {0: [OwnText("/", text, FEED)]}
        judged, alone = np.full(2 * pages, 0.9), np.full(2 * pages, 0.4)
        return told(gather_evidence(site, given, judged, alone), 0, site)["body/p"][1]

    assert [middle(3, 30), middle(4, 30), middle(3, 29)] == [1, -1, -1]


def comment(number: int) -> str:
    return f"{prose('comment', number, 0, words=25)}"


def test_source_with_improbable_content_is_ignored() -> None:
    # pages with one comment each
    numbers = [1, 4, 7, 10]
    evidence = gathered([own(number, comment(number), "comments") for number in numbers])
    assert (evidence.pages, evidence.whole, evidence.has_label.any()) == (frozenset(), {}, False)


@pytest.mark.parametrize(("chance", "believed"), [(0.31, True), (0.29, False)])
def test_source_is_believed_by_median_probability_of_its_texts(chance, believed) -> None:
    # of two pages the text is content for sure, on three it is as it may be
    spots = where(SITE, lambda slot: "sidebar" in slot)
    judged = np.where(spots, np.where(SITE.pages < 2, 1.0, chance), 0.1)
    evidence = gathered(feed(0, 1, 2, 3, 4), judged)
    assert len(evidence.whole) == 5 * believed


def test_source_with_several_texts_per_page_is_ignored() -> None:
    parts = [own(2, part(2, name), "comments") for name in ("one", "two")]
    evidence = gathered([*parts, *feed(3)])
    assert set(evidence.whole) == {3}
    assert evidence.pages == {3}


def test_own_text_without_matching_page_is_ignored() -> None:
    foreign = OwnText("https://e.org/99", wanted(1), FEED, title(1))
    assert gathered([foreign]).pages == frozenset()
    assert gathered([OwnText(f"{address(1)}?x", wanted(1), FEED)]).pages == frozenset()
