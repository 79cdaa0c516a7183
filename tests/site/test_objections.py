"""Each objection of the vote by itself: what it speaks against, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider.page.input.page import Page
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.site.vote import objections
from contentspider.site.vote.blocks import gather
from contentspider.site.vote.objections import OBJECTIONS
from tests.sites import laid_out, marked, prose, site_of, where

NOTICE = "This shop closes at noon on all days of the week, and on holidays it does not open."
OTHER_NOTICE = "All that is written here was written by people who had nothing better to do then."


def even(site) -> np.ndarray:
    return np.full(len(site.chars), 0.5, dtype=np.float32)


def test_objections_are_listed_once_with_their_weights() -> None:
    assert [(objection.name, objection.weight) for objection in OBJECTIONS] == [
        ("template_prose", 6.0),
        ("template_section", 6.0),
        ("in_turn", 6.0),
        ("other_article", 6.0),
        ("teaser", 6.0),
        ("breadcrumb_trail", 6.0),
        ("page_end", 3.0),
        ("dated", 3.0),
        ("post_lines", 3.0),
        ("pointer", 3.0),
        ("comment", 6.0),
    ]
    assert [objection.evidence.__name__ for objection in OBJECTIONS] == [
        objection.name for objection in OBJECTIONS
    ]


@pytest.mark.parametrize("objection", OBJECTIONS, ids=lambda objection: objection.name)
def test_objection_returns_one_boolean_per_block(objection) -> None:
    site = site_of(["<h1>Tea</h1><p>Green</p>", "<p>Milk</p>"])
    found = objection.evidence(site, even(site))
    assert (found.dtype, found.tolist()) == (bool, [False] * 3)


# template prose


def with_notice(pages: int, having: int, notice: str = NOTICE) -> list[str]:
    return [
        f"<p>{prose(number)}</p><div class=note>"
        f"{notice if number < having else prose(number, 'own')}</div>"
        for number in range(pages)
    ]


@pytest.mark.parametrize(
    ("pages", "having", "is_template"),
    [(10, 10, True), (10, 8, True), (10, 7, False), (11, 8, False), (5, 5, True), (5, 4, False)],
)
def test_prose_repeated_in_its_slot_is_template_text(pages, having, is_template) -> None:
    # On 11 pages 7 of 10 others are not more than 70 %; of 5 pages all others must have it.
    others = [f"<section>{prose(number, 'other')}</section>" for number in range(2 * pages)]
    site = site_of([*with_notice(pages, having), *others])
    found = marked(site, objections.template_prose(site, even(site)))
    assert found == ([NOTICE] if is_template else [])


@pytest.mark.parametrize(("having", "is_template"), [(9, True), (6, False)])
def test_prose_of_most_pages_is_template_text_wherever_it_stands(having, is_template) -> None:
    # Each of three layouts has it on a third of its pages; 6 of 12 pages are not most pages.
    slots = ["<div class=a>{}</div>", "<center><p>{}</p></center>", "<td>{}</td>"]
    bodies = [
        f"<p>{prose(number)}</p>" + (slots[number % 3].format(NOTICE) if number < having else "")
        for number in range(12)
    ]
    site = site_of([*bodies, *(f"<p>{prose(number, 'more')}</p>" for number in range(2))])
    found = objections.template_prose(site, even(site))
    assert marked(site, found) == ([NOTICE] if is_template else [])


def test_page_may_have_prose_of_the_template_in_its_own_text() -> None:
    bodies = with_notice(10, 10)
    bodies[0] += f"<main><q>{NOTICE}</q></main>"
    site = site_of(bodies)
    found = objections.template_prose(site, even(site))
    assert found.tolist() == where(site, lambda slot: slot.endswith("div.note")).tolist()


@pytest.mark.parametrize("length", [SENTENCE_CHARS - 1, SENTENCE_CHARS])
def test_short_repeated_texts_are_not_template_prose(length) -> None:
    notice = "x" * length
    site = site_of(with_notice(10, 10, notice))
    found = marked(site, objections.template_prose(site, even(site)))
    assert found == ([notice] if length == SENTENCE_CHARS else [])


@pytest.mark.parametrize(
    ("pages", "adverts", "own", "are_found"),
    [
        (24, 3, 0, True),  # each of them on a third of the pages
        (24, 3, 8, False),  # pages have texts of their own there
        (24, 24, 0, False),  # each page has another
        (10, 2, 0, False),  # too few pages to tell
    ],
)
def test_texts_that_a_place_shows_in_turn_are_no_content(pages, adverts, own, are_found) -> None:
    """The cell of the adverts has the path of the cell of the article."""
    turns = [prose(number % adverts, "advert") for number in range(pages)]
    turns[:own] = [prose(number, "own") for number in range(own)]
    site = site_of(
        f"<table><tr><td>{advert}</td><td>{prose(number)}<br><br>{prose(number, 'more')}</td></tr>"
        for number, advert in enumerate(turns)
    )
    found = marked(site, objections.in_turn(site, even(site)))
    assert sorted(set(found)) == (sorted(set(turns)) if are_found else [])


HELP = "<section><h2>Help</h2>{}</section>".format(
    "<p>Whoever has a question may write to us at any time, and will be answered within a week.</p>"
)


@pytest.mark.parametrize(
    ("pages", "having", "below", "falls"),
    [
        (10, 10, "", True),
        (10, 5, "", False),  # not on most pages of the site
        (10, 10, "<p>Of this page alone: {}</p>", False),  # something below it is the page's own
    ],
)
def test_heading_is_rejected_with_its_template_section(pages, having, below, falls) -> None:
    bodies = [
        f"<h1>Page {number}</h1><p>{prose(number)}</p>"
        + (HELP.replace("</section>", below.format(number) + "</section>") * (number < having))
        for number in range(pages)
    ]
    site = site_of(bodies)
    found = marked(site, objections.template_section(site, even(site)))
    assert found == (["Help"] if falls else [])


def test_long_heading_of_repeated_form_is_not_template_prose() -> None:
    bodies = [
        f"<h2>How this changed the lives of patients and of those beside them</h2>{body}"
        for body in with_notice(10, 10)
    ]
    site = site_of(bodies)
    assert marked(site, objections.template_prose(site, even(site))) == [NOTICE]


def test_copied_pages_do_not_make_prose_template_text() -> None:
    copied = [f"<h1>{number}</h1><p>{prose(number)}</p>" for number in range(3) for _ in range(5)]
    site = site_of(copied)
    assert len(set(site.originals.tolist())) == 3
    assert not objections.template_prose(site, even(site)).any()


@pytest.mark.parametrize(("pages", "is_template"), [(9, True), (11, False)])
def test_prose_in_varying_rows_is_template_if_on_seventy_percent_of_other_pages(
    pages, is_template
) -> None:
    # six of eight others, and six of ten, each time in another row of one list
    rows = [[(f"row {page % 5}", "notice" if page < 7 else f"own {page}")] for page in range(pages)]
    rows += [[("elsewhere", f"other {page}")] for page in range(pages)]
    site = laid_out(rows, clusters={f"row {row}": "rows" for row in range(5)})
    expected = [page < 7 and is_template for page in range(2 * pages)]
    assert objections.template_prose(site, even(site)).tolist() == expected


# other articles' headlines

HEADLINE, OTHER = "The harbour of Trieste", "A quite different matter"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        pytest.param(
            f"<div><h1>{HEADLINE}</h1><p>{NOTICE}</p></div><div><h1>{OTHER}</h1><p>{OTHER_NOTICE}"
            "</p></div>",
            [OTHER, OTHER_NOTICE],
            id="an infinite scroll",
        ),
        pytest.param(
            f"<div><h1>{HEADLINE}</h1><p>{NOTICE}</p><h1>{OTHER}</h1><p>{OTHER_NOTICE}</p></div>",
            [],
            id="sections of one article",
        ),
        pytest.param(
            f"<div><h1>{OTHER}</h1><p>{OTHER_NOTICE}</p></div><div><h1>{HEADLINE}</h1><p>{NOTICE}"
            "</p></div>",
            [],
            id="before the own one",
        ),
        pytest.param(
            f"<div><h1>{HEADLINE}</h1></div><div><h1>{OTHER}</h1><p>{OTHER_NOTICE}</p></div>",
            [],
            id="an own headline without prose",
        ),
        pytest.param(
            f"<div><h1>{HEADLINE}</h1><a href=/><p>{NOTICE}</p></a></div><div><h1>{OTHER}</h1>"
            f"<p>{OTHER_NOTICE}</p></div>",
            [],
            id="an own headline with links only",
        ),
        pytest.param(
            f"<div><h1>{OTHER}</h1><p>{NOTICE}</p></div><div><h1>{OTHER} again</h1><p>"
            f"{OTHER_NOTICE}</p></div>",
            [],
            id="no headline in the title",
        ),
        pytest.param(
            f"<div><h1>{HEADLINE}</h1><p>{NOTICE}</p></div><div><h1>{HEADLINE[4:]}</h1><p>"
            f"{OTHER_NOTICE}</p></div>",
            [],
            id="both in the title",
        ),
        pytest.param(
            f"<div><h1>{HEADLINE}</h1><p>{NOTICE}</p></div><div><h1>{OTHER}</h1><p>{OTHER_NOTICE}"
            f"</p></div><div><h1>{HEADLINE}</h1><p>Again</p></div>",
            [OTHER, OTHER_NOTICE],
            id="up to the next headline",
        ),
        pytest.param(
            f"<div><h1>{OTHER}</h1><p>Before</p></div><div><h1>{HEADLINE}</h1><p>{NOTICE}</p></div>"
            f"<div><h1>{OTHER}</h1><p>{OTHER_NOTICE}</p></div>",
            [OTHER, OTHER_NOTICE],
            id="before and after the own one",
        ),
        pytest.param(f"<h2>{OTHER}</h2><p>{OTHER_NOTICE}</p>", [], id="no headline at all"),
    ],
)
def test_text_below_headline_of_other_article_is_rejected(body, found) -> None:
    # Both articles have pages of their own, too: what is below another's headline is at home there.
    homes = [f"<title>{text}</title><p>{text}</p>" for text in (NOTICE, OTHER_NOTICE)]
    site = site_of([f"<title>{HEADLINE} - The News</title>{body}", *homes])
    assert marked(site, objections.other_article(site, even(site))) == found


@pytest.mark.parametrize(
    ("own", "other", "length", "is_found"),
    [
        pytest.param("abcdefghix", "xxxx", 60, True, id="nine tenths of the own headline"),
        pytest.param("abcdefghxx", "xxxx", 60, False, id="less of it"),
        pytest.param("abcdefghij", "abcdefghxx", 60, True, id="less of the other headline"),
        pytest.param("abcdefghij", "abcdefghix", 60, False, id="nine tenths of it"),
        pytest.param("abcdefghij", "xxxx", 59, False, id="no sentence below the own headline"),
    ],
)
def test_own_headline_must_share_enough_of_title(own, other, length, is_found) -> None:
    stories = (
        f"<div><h1>{own}</h1><p>{'y' * length}</p></div><div><h1>{other}</h1><p>{NOTICE}</p></div>"
    )
    site = site_of([f"<title>abcdefghij</title>{stories}", f"<p>{NOTICE}</p>"])
    assert marked(site, objections.other_article(site, even(site))) == [other, NOTICE] * is_found


def test_page_without_title_has_no_other_article() -> None:
    stories = (
        f"<div><h1>{HEADLINE}</h1><p>{NOTICE}</p></div>"
        f"<div><h1>{OTHER}</h1><p>{OTHER_NOTICE}</p></div>"
    )
    for title, is_other in (("", False), (f"<title>{HEADLINE}</title>", True)):
        site = site_of([title + stories, f"<p>{OTHER_NOTICE}</p>"])
        assert objections.other_article(site, even(site)).any() == is_other


def test_text_found_on_no_other_page_is_not_other_article() -> None:
    body = f"<div><h1>{HEADLINE}</h1><p>{NOTICE}</p></div><div><h1>{OTHER}</h1><p>{{0}}</p></div>"
    title = f"<title>{HEADLINE} - The News</title>"
    homes = [f"<p>{text}</p>" for text in (OTHER_NOTICE, "z" * 60, "z" * 59)]
    cases = [(OTHER_NOTICE, True), (prose(2), False), ("z" * 60, True), ("z" * 59, False)]
    for text, is_other in cases:
        site = site_of([title + body.format(text), *homes])
        assert objections.other_article(site, even(site)).any() == is_other
    # What stands there on every page is the template's: a sidebar with a heading of its own.
    pages = [
        f"<title>Story {n}</title><div><h1>Story {n}</h1><p>{prose(n)}</p></div>"
        f"<div><h1>{OTHER}</h1><p>{NOTICE}</p><p>{prose('own', n)}</p></div>"
        for n in range(6)
    ]
    site = site_of(pages)
    assert not objections.other_article(site, even(site)).any()


def test_hidden_copy_of_headline_does_not_mark_article() -> None:
    # Jupyter Book prints the title above its contents; the sections of a lesson quote others' code.
    lesson = (
        f"<div><h1>{HEADLINE}</h1><p>Contents</p></div><main><section><h1>{HEADLINE}</h1></section>"
        f"<section><h1>{OTHER}</h1><p>{NOTICE}</p></section></main>"
    )
    site = site_of([f"<title>{HEADLINE}</title>{lesson}", f"<p>{NOTICE}</p>"])
    assert not objections.other_article(site, even(site)).any()


def test_headline_followed_by_prose_marks_own_article() -> None:
    header = f"<div><h1>{HEADLINE}</h1><p>{prose('summary')}</p></div>"
    article = f"<h1>{HEADLINE}</h1><p>{prose(1)}</p><p>{prose(2)}</p>"
    other = f"<h1>{OTHER}</h1><p>{NOTICE}</p>"
    for body, is_other in (
        (f"<main>{article}{other}</main>", False),
        (f"<main>{article}</main><main>{other}</main>", True),
        (f"<main>{article}</main><div>{other}</div>", False),  # another place of the template
    ):
        site = site_of([f"<title>{HEADLINE}</title>{header}{body}", f"<p>{NOTICE}</p>"])
        assert objections.other_article(site, even(site)).any() == is_other


# fill-ins


@pytest.mark.parametrize(
    ("item", "pages", "is_pointer"),
    [
        pytest.param("Next message: <a href=/>Re: {title}</a>", 5, True, id="a label and a link"),
        pytest.param("Siguiente: <a href=/>{title}</a>", 5, True, id="Spanish"),
        pytest.param("Next message: <a href=/>Re: {title}</a>", 4, False, id="four pages"),
        pytest.param("Next message: Re: {title}", 5, False, id="no link"),
        pytest.param("Next {title}: <a href=/>Tea</a>", 5, False, id="a label that differs"),
        pytest.param("Composer: <a href=/>{title}</a>", 5, False, id="a fact"),
    ],
)
def test_link_labelled_next_or_previous_is_rejected(item, pages, is_pointer) -> None:
    items = [item.format(title=prose(n, words=4)) for n in range(pages)]
    site = site_of([f"<ul><li>{line}</ul><pre>{prose(n)}</pre>" for n, line in enumerate(items)])
    assert len(marked(site, objections.pointer(site, even(site)))) == pages * is_pointer


# breadcrumb trails


def with_line(line: str, pages: int) -> list[str]:
    """Return pages named "Tea 0", "Tea 1" ... with a *line*, in which {} is the page's name."""
    return [
        f"<title>Tea {number}</title><div>{line.format(f'Tea {number}')}</div>"
        f"<p>{prose(number)}</p>"
        for number in range(pages)
    ]


@pytest.mark.parametrize(
    ("line", "is_trail"),
    [
        ("You are here: <a href=/>Home</a> / <a href=/teas>Teas</a> / {}", True),
        ("You are here: Home / Teas / {}", False),
        ("<a href=/>Home</a> / <a href=/teas>Teas</a> / Coffee", False),
        ("{} is at <a href=/>Home</a>", False),
        ("<a href=/>Home</a> " + "/ Teas " * 30 + "{}", False),
    ],
)
def test_link_line_ending_in_page_title_is_breadcrumb_trail(line, is_trail) -> None:
    site = site_of(with_line(line, 6))
    trails = marked(site, objections.breadcrumb_trail(site, even(site)))
    assert [text.endswith(f"Tea {number}") for number, text in enumerate(trails)] == (
        [True] * 6 if is_trail else []
    )


def test_place_with_mostly_other_lines_has_no_breadcrumb_trail() -> None:
    trail = "<a href=/>Home</a> / {}"
    site = site_of([*with_line(trail, 6), *with_line("<a href=/>Home</a>, sweet home", 8)])
    assert not objections.breadcrumb_trail(site, even(site)).any()


# ends of pages

ADDRESS = ["Tea House, 7 Leaf Street, Harbour Town, near the old silver bridge", "Tel. 555 0101"]


@pytest.mark.parametrize(("having", "is_end"), [(5, True), (4, False)])
def test_address_ending_many_pages_is_rejected(having: int, is_end: bool) -> None:
    address = "".join(f"<p>{line}</p>" for line in ADDRESS)
    site = site_of(
        [f"<p>{prose(number)}</p>{address if number < having else ''}" for number in range(12)]
    )
    ends = marked(site, objections.page_end(site, even(site)))
    assert ends == (ADDRESS if is_end else [])


def test_repeated_text_above_own_text_is_not_page_end() -> None:
    site = site_of([f"<p>{ADDRESS[0]}</p><p>{prose(number)}</p>" for number in range(9)])
    assert not objections.page_end(site, even(site)).any()


def test_heading_at_end_of_pages_is_kept() -> None:
    end = f"<h2>{ADDRESS[0]}</h2><p>{ADDRESS[1]}</p>"
    site = site_of([f"<p>{prose(number)}</p>{end}" for number in range(9)])
    assert marked(site, objections.page_end(site, even(site))) == [ADDRESS[1]]


def test_single_short_line_is_not_page_end() -> None:
    site = site_of([f"<p>{prose(number)}</p><p>{ADDRESS[1]}</p>" for number in range(9)])
    assert not objections.page_end(site, even(site)).any()


# teasers


def teased(entry: str, own: str, *, continues: bool = True) -> list[str]:
    """Return pages with *own* text and a box with *entry* for each of the two next pages, which
    begins their text.
    """
    bodies = []
    for number in range(6):
        boxes = [
            entry.format(
                number=other,
                begins=prose(other if continues else f"{other} {number}", words=12)[:-1],
            )
            for other in ((number + 1) % 6, (number + 2) % 6)
        ]
        text = f"{prose(number, words=12)[:-1]} and {prose(number, 'goes on')}"
        bodies.append(f"<main>{own.format(text)}<h3>See also</h3><ul>{''.join(boxes)}</ul></main>")
    return bodies


ENTRY = (
    "<li class=rel><h4>Kind {number}</h4><p>{begins} ... <a href=/{number}>read more</a></p></li>"
)
TEASERS = {"li", "h3"}


@pytest.mark.parametrize(
    ("entry", "own", "continues", "falls"),
    [
        (ENTRY, "<div class=text>{}</div>", True, True),
        # a text of its own that only begins like no other page's
        (ENTRY, "<div class=text>{}</div>", False, False),
        # a listing, whose entries are all that it has
        (ENTRY, "", True, False),
        # the link stands in another element
        (
            "<li class=rel><p>{begins} [\u2026]</p><h4><a href=/{number}>more</a></h4></li>",
            "<div class=text>{}</div>",
            True,
            True,
        ),
    ],
    ids=["box", "own words", "listing", "link apart"],
)
def test_teasers_of_other_pages_fall_with_their_entries_and_heading(
    entry, own, continues, falls
) -> None:
    bodies = teased(entry, own, continues=continues)
    if not own:  # the pages that the listings lead to
        bodies += [
            f"<article>{prose(n, words=12)[:-1]} and more {prose(n)}</article>" for n in range(6)
        ]
    site = site_of(bodies)
    likely = np.full(len(site.chars), 0.9, dtype=np.float32)
    found = objections.teaser(site, likely)
    in_box = where(site, lambda slot: "li.rel" in slot or slot.endswith("/h3"))
    assert found.tolist() == (in_box & falls).tolist()


@pytest.mark.parametrize(
    "cut",
    [
        "{begins} wor\u2026",
        "{begins} wor...",
        "{begins} (\u2026)",
        "{begins} [...] Read more",
        "{begins} \u2026 <b>Read more \u00bb</b>",
        "{begins} \u2026 <a href=/{number}>read more</a> (3 min)",
        "{begins} ... <a href=/{number}>continue {number}: {begins}</a>",
        "<a href=/{number}>{begins} wor \u2026</a>",
        "<a href=/{number}>{begins} wor</a>",
    ],
)
@pytest.mark.parametrize("linked", [False, True])
def test_text_that_is_cut_begins_a_longer_text(cut: str, linked: bool) -> None:
    """It ends within a word, in signs, or in words that lead to the text, which may have links."""
    entry = f"<li class=rel><h4>Kind {{number}}</h4><p>{cut}</p></li>"
    bodies = teased(entry, "<div class=text>{}</div>")
    word = "<a href=/w>words</a>" if linked else "words"
    bodies = [body.replace(" and ", f" {word} and ", 1) for body in bodies]
    site = site_of(bodies)
    found = objections.teaser(site, np.full(len(site.chars), 0.9, dtype=np.float32))
    in_box = where(site, lambda slot: "li.rel" in slot or slot.endswith("/h3"))
    assert found.tolist() == in_box.tolist()


def test_heading_that_another_page_repeats_is_no_teaser() -> None:
    long = "What is worth knowing of the many kinds of tea in the world"
    site = site_of(
        [f"<h3>{long}{' and of milk' if n % 2 else '!'}</h3><p>{prose(n)}</p>" for n in range(8)]
    )
    assert not objections.teaser(site, even(site)).any()


@pytest.mark.parametrize("base", ["", "<base href=/>"])
@pytest.mark.parametrize("continues", [True, False])
def test_teasers_that_mostly_lead_out_of_the_sample_are_known_by_the_others(
    continues, base
) -> None:
    pages = []
    for number in range(6):
        others = [(number + 1) % 6, *(100 + 4 * number + other for other in range(4))]
        begins = {
            other: prose(other if continues else f"{other} of another text", words=12)[:-1]
            for other in others
        }
        boxes = "".join(ENTRY.format(number=other, begins=begins[other]) for other in others)
        text = f"{prose(number, words=12)[:-1]} and {prose(number, 'goes on')}"
        html = f"{base}<main><p class=text>{text}</p><ul>{boxes}</ul></main>"
        pages.append(Page.from_html(html, f"https://e.org/{number}/index.html"))
    site = gather(pages)
    in_box = where(site, lambda slot: "li.rel" in slot)
    found = objections.teaser(site, np.full(len(in_box), 0.9, dtype=np.float32))
    assert found.tolist() == (in_box & continues).tolist()
