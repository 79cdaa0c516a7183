"""Each rule of the vote by itself: what it speaks against, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider.site import rules
from contentspider.site.blocks import SENTENCE_CHARS
from contentspider.site.rules import RULES, split_comments
from tests.sites import laid_out, marked, prose, site_of, where

NOTICE = "This shop closes at noon on all days of the week, and on holidays it does not open."
OTHER_NOTICE = "All that is written here was written by people who had nothing better to do then."


def even(site) -> np.ndarray:
    return np.full(len(site.chars), 0.5, dtype=np.float32)


def test_every_rule_is_in_the_vote_once_with_its_weight() -> None:
    assert [(rule.name, rule.weight) for rule in RULES] == [
        ("template_prose", 6.0),
        ("other_article", 6.0),
        ("fill_in", 3.0),
        ("echo", 3.0),
        ("comment", 6.0),
    ]
    assert [rule.evidence.__name__ for rule in RULES] == [rule.name for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_says_of_each_block_whether_it_speaks_against_it(rule) -> None:
    site = site_of(["<h1>Tea</h1><p>Green</p>", "<p>Milk</p>"])
    found = rule.evidence(site, even(site))
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
def test_prose_that_many_of_the_others_repeat_is_the_templates(pages, having, is_template) -> None:
    # On 11 pages 7 of 10 others are not more than 70 %; of 5 pages all others must have it.
    site = site_of(with_notice(pages, having))
    found = marked(site, rules.template_prose(site, even(site)))
    assert found == ([NOTICE] if is_template else [])


@pytest.mark.parametrize("length", [SENTENCE_CHARS - 1, SENTENCE_CHARS])
def test_short_texts_that_repeat_are_labels_not_prose(length) -> None:
    notice = "x" * length
    site = site_of(with_notice(10, 10, notice))
    found = marked(site, rules.template_prose(site, even(site)))
    assert found == ([notice] if length == SENTENCE_CHARS else [])


def test_copies_of_a_page_do_not_make_its_prose_the_templates() -> None:
    copied = [f"<h1>{number}</h1><p>{prose(number)}</p>" for number in range(3) for _ in range(5)]
    site = site_of(copied)
    assert len(set(site.originals.tolist())) == 3
    assert not rules.template_prose(site, even(site)).any()


@pytest.mark.parametrize(("pages", "is_template"), [(9, True), (11, False)])
def test_prose_that_moves_must_be_on_more_than_seven_tenths_of_the_other_pages(
    pages, is_template
) -> None:
    # six of eight others, and six of ten, each time in another row of one list
    rows = [[(f"row {page % 5}", "notice" if page < 7 else f"own {page}")] for page in range(pages)]
    site = laid_out(rows, clusters={f"row {row}": "rows" for row in range(5)})
    expected = [page < 7 and is_template for page in range(pages)]
    assert rules.template_prose(site, even(site)).tolist() == expected


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
def test_what_stands_below_another_articles_headline(body, found) -> None:
    # Both articles have pages of their own, too: what is below another's headline is at home there.
    homes = [f"<title>{text}</title><p>{text}</p>" for text in (NOTICE, OTHER_NOTICE)]
    site = site_of([f"<title>{HEADLINE} - The News</title>{body}", *homes])
    assert marked(site, rules.other_article(site, even(site))) == found


@pytest.mark.parametrize(
    ("own", "other", "length", "is_found"),
    [
        pytest.param("abcdefghix", "xxxx", 60, True, id="nine tenths of the own headline"),
        pytest.param("abcdefghxx", "xxxx", 60, False, id="less of it"),
        pytest.param("abcdefghij", "abxx", 60, True, id="half of the other headline"),
        pytest.param("abcdefghij", "abcx", 60, False, id="three quarters of it"),
        pytest.param("abcdefghij", "xxxx", 59, False, id="no sentence below the own headline"),
    ],
)
def test_how_much_of_a_headline_the_title_must_have(own, other, length, is_found) -> None:
    stories = (
        f"<div><h1>{own}</h1><p>{'y' * length}</p></div><div><h1>{other}</h1><p>{NOTICE}</p></div>"
    )
    site = site_of([f"<title>abcdefghij</title>{stories}", f"<p>{NOTICE}</p>"])
    assert marked(site, rules.other_article(site, even(site))) == [other, NOTICE] * is_found


def test_without_a_title_no_headline_is_another_articles() -> None:
    stories = (
        f"<div><h1>{HEADLINE}</h1><p>{NOTICE}</p></div>"
        f"<div><h1>{OTHER}</h1><p>{OTHER_NOTICE}</p></div>"
    )
    for title, is_other in (("", False), (f"<title>{HEADLINE}</title>", True)):
        site = site_of([title + stories, f"<p>{OTHER_NOTICE}</p>"])
        assert rules.other_article(site, even(site)).any() == is_other


def test_what_no_other_page_has_is_no_other_article() -> None:
    body = f"<div><h1>{HEADLINE}</h1><p>{NOTICE}</p></div><div><h1>{OTHER}</h1><p>{{0}}</p></div>"
    title = f"<title>{HEADLINE} - The News</title>"
    homes = [f"<p>{text}</p>" for text in (OTHER_NOTICE, "z" * 60, "z" * 59)]
    cases = [(OTHER_NOTICE, True), (prose(2), False), ("z" * 60, True), ("z" * 59, False)]
    for text, is_other in cases:
        site = site_of([title + body.format(text), *homes])
        assert rules.other_article(site, even(site)).any() == is_other
    # What stands there on every page is the template's: a sidebar with a heading of its own.
    pages = [
        f"<title>Story {n}</title><div><h1>Story {n}</h1><p>{prose(n)}</p></div>"
        f"<div><h1>{OTHER}</h1><p>{NOTICE}</p><p>{prose('own', n)}</p></div>"
        for n in range(6)
    ]
    site = site_of(pages)
    assert not rules.other_article(site, even(site)).any()


# fill-ins


def posted(pages: int, text: str, having: int | None = None) -> list[str]:
    """Return pages of which *having* have the *text*, filled in by {0}, in a place of its own."""
    having = pages if having is None else having
    return [
        f"<p>{prose(n)}</p>"
        f"<div class=note>{text.format(n) if n < having else prose('own', n)}</div>"
        for n in range(pages)
    ]


NAMES = "Ada Ben Cleo Dan Eva Finn Gus Hal Ida Jon".split()


@pytest.mark.parametrize(
    ("pages", "text", "having", "is_fill_in"),
    [
        pytest.param(8, "Posted on {0} May 2024 at {0}:15 in Tea", None, True, id="numbers"),
        pytest.param(5, "Posted on {0} May 2024 at {0}:15 in Tea", None, True, id="five pages"),
        pytest.param(4, "Posted on {0} May 2024 at {0}:15 in Tea", None, False, id="four pages"),
        pytest.param(9, "Posted on {0} May 2024 at {0}:15 in Tea", 6, True, id="five of eight"),
        pytest.param(11, "Posted on {0} May 2024 at {0}:15 in Tea", 6, False, id="five of ten"),
        pytest.param(8, "Posted on {0} May in Tea", None, False, id="short"),
        pytest.param(8, "Posted on {0} May 2024" + " in Tea" * 30, None, False, id="long"),
    ],
)
def test_a_sentence_that_each_page_fills_in_is_the_templates(
    pages, text, having, is_fill_in
) -> None:
    site = site_of(posted(pages, text, having))
    expected = [text.format(n) for n in range(having or pages)] * is_fill_in
    assert marked(site, rules.fill_in(site, even(site))) == expected


def test_names_may_differ_but_most_words_must_not() -> None:
    for text, is_fill_in in (
        ("Written by {0} for the paper", True),
        ("{0} {0}a and {0}b {0}c in", False),
    ):
        filled = [text.format(name * 2) for name in NAMES]
        site = site_of([f"<p>{prose(n)}</p><div>{line}</div>" for n, line in enumerate(filled)])
        assert marked(site, rules.fill_in(site, even(site))) == filled * is_fill_in


def test_words_that_many_texts_of_a_page_have_are_the_languages() -> None:
    # Each text says what some text of every other page says; at a place of its own it is filled in.
    line = "The {0} of the {1} and the other {0}"
    for texts, is_fill_in in ((1, True), (4, False)):
        bodies = [
            "".join(
                f"<p>{line.format(NAMES[(n + part) % 10], NAMES[(n * 3 + part) % 10])}</p>"
                for part in range(texts)
            )
            for n in range(10)
        ]
        site = site_of([f"<div>{prose(n)}</div>{body}" for n, body in enumerate(bodies)])
        found = rules.fill_in(site, even(site))[where(site, lambda slot: slot.endswith("/p"))]
        assert found.all() == is_fill_in
        assert found.any() == is_fill_in


def test_a_page_whose_text_is_filled_in_is_a_record() -> None:
    line = "Posted on {0} May 2024 at {0}:15 in Tea"
    for text, is_fill_in in (("", False), (line + " and Water", False), ("{1}", True)):
        bodies = [f"<div>{line}</div><p>{text}</p>".format(n, prose(n)) for n in range(8)]
        site = site_of(bodies)
        assert rules.fill_in(site, even(site)).any() == is_fill_in


def test_headings_are_not_filled_in() -> None:
    site = site_of([f"<h2>Questions and answers of week {n}</h2><p>{prose(n)}" for n in range(8)])
    assert not rules.fill_in(site, even(site)).any()


# echoes


def test_what_repeats_a_heading_is_an_echo_but_the_heading_is_not() -> None:
    site = site_of(
        ["<ol><li>Home<li>Tea</ol><h1>Tea</h1><p>Green</p><h2>Water</h2>", "<p>Tea</p><p>Milk</p>"]
    )
    assert rules.echo(site, even(site)).tolist() == [False, True, False, False, False, False, False]


# comments


def commented(pages: int, article: int, comments: int = 3, name: str = "comments") -> list[str]:
    """Return pages with *article* paragraphs of 270 characters and as many comments."""
    return [
        f"<h1>{number}</h1><div class=text>"
        + "".join(f"<p>{prose('a', number, part)}</p>" for part in range(article))
        + f"</div><ul class={name}>"
        + "".join(f"<li><p>{prose('c', number, part)}</p></li>" for part in range(comments))
        + "</ul>"
        for number in range(pages)
    ]


def judged(site, name: str = "comments") -> np.ndarray:
    return np.where(where(site, lambda slot: name in slot), 0.2, 0.9).astype(np.float32)


@pytest.mark.parametrize(
    ("paragraphs", "is_comment"), [(4, True), (2, True), (1, False), (0, False)]
)
def test_comments_are_comments_below_a_text_of_500_characters(paragraphs, is_comment) -> None:
    site = site_of(commented(6, paragraphs))
    comments, discussion = split_comments(site, judged(site))
    below = where(site, lambda slot: "comments" in slot)
    assert comments.tolist() == (below & is_comment).tolist()
    assert discussion.tolist() == (below & (not is_comment)).tolist()
    np.testing.assert_array_equal(rules.comment(site, judged(site)), comments)


def test_in_a_forum_those_pages_that_have_a_text_have_comments() -> None:
    site = site_of(commented(6, 0) + commented(2, 4))
    comments, discussion = split_comments(site, judged(site))
    assert set(site.pages[comments].tolist()) == {6, 7}
    assert set(site.pages[discussion].tolist()) == {0, 1, 2, 3, 4, 5}


def page_with_comments(text: list[int], comments: list[int], number: int = 0) -> str:
    """Return a page with paragraphs and comments of these lengths, told apart by their *number*."""

    def paragraphs(lengths: list[int], letter: str) -> str:
        return "".join(
            f"<p>{f'{letter} {number} {place} '.ljust(length, 'x')}</p>"
            for place, length in enumerate(lengths)
        )

    return (
        f"<h1>{number}</h1>{paragraphs(text, 'a')}<div class=comments>{paragraphs(comments, 'c')}"
    )


@pytest.mark.parametrize(
    ("text", "comments", "is_comment"),
    [
        pytest.param([250, 250], [125], True, id="a text of 500 characters"),
        pytest.param([250, 249], [125], False, id="a text of less"),
        pytest.param([60] * 9, [125], True, id="sentences of 60 characters"),
        pytest.param([59] * 9, [125], False, id="no sentences"),
        pytest.param([], [125], False, id="comments of 125 characters"),
        pytest.param([], [124], True, id="too little to discuss"),
    ],
)
def test_how_much_text_makes_what_is_called_comments_comments(text, comments, is_comment) -> None:
    site = site_of([page_with_comments(text, comments, number) for number in range(4)])
    below = where(site, lambda slot: "comments" in slot)
    found = rules.comment(site, np.full(len(site.chars), 0.5, dtype=np.float32))
    assert found.tolist() == (below & is_comment).tolist()


@pytest.mark.parametrize(("paragraphs", "is_comment"), [(4, True), (3, False)])
def test_of_a_text_above_comments_only_what_is_not_linked_counts(paragraphs, is_comment) -> None:
    # half of 1080 characters, and of 810
    site = site_of(commented(6, paragraphs))
    site.link_share[:] = 0.5
    below = where(site, lambda slot: "comments" in slot)
    site.link_share[below] = 0
    assert rules.comment(site, judged(site)).any() == is_comment


def test_a_page_of_a_forum_with_a_text_of_500_characters_has_comments() -> None:
    texts = [[], [], [], [250, 250], [250, 249]]
    site = site_of([page_with_comments(text, [125], page) for page, text in enumerate(texts)])
    comments, discussion = split_comments(site, judged(site))
    assert set(site.pages[comments].tolist()) == {3}
    assert set(site.pages[discussion].tolist()) == {0, 1, 2, 4}


def test_text_that_the_prior_does_not_take_for_content_is_no_article() -> None:
    site = site_of(commented(6, 4))
    comments, discussion = split_comments(site, np.full(len(site.chars), 0.2, dtype=np.float32))
    assert discussion.any()
    assert not comments.any()


def test_a_notice_on_every_page_is_no_article_above_the_comments() -> None:
    notice = "".join(f"<p>{prose('notice', part)}</p>" for part in range(3))
    site = site_of([f"<div>{notice}</div>{body}" for body in commented(6, 0)])
    assert split_comments(site, judged(site))[1].any()


def test_short_comments_are_comments_whatever_stands_above() -> None:
    bodies = [f"<h1>{n}</h1><ul class=comments><li>Nice, {n}</ul>" for n in range(6)]
    site = site_of(bodies)
    comments, discussion = split_comments(site, judged(site))
    assert comments.tolist() == where(site, lambda slot: "comments" in slot).tolist()
    assert not discussion.any()


def test_without_the_name_there_are_no_comments() -> None:
    site = site_of(commented(6, 4, name="remarks"))
    assert not np.any(split_comments(site, judged(site, "remarks")))
    # body is called after the page, not after its parts
    site = site_of([f"<body class=comments>{body}" for body in commented(6, 4, name="remarks")])
    assert not rules.comment_like(site).any()
