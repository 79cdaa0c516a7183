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


def test_every_rule_is_in_the_vote_once_and_weighs_the_same() -> None:
    assert [(rule.name, rule.weight) for rule in RULES] == [
        ("template_prose", 6.0),
        ("foreign_text", 6.0),
        ("other_article", 6.0),
        ("echo", 6.0),
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
    [(10, 10, True), (10, 6, True), (10, 5, True), (13, 5, False), (5, 5, True), (5, 4, False)],
)
def test_prose_that_many_of_the_others_repeat_is_the_templates(pages, having, is_template) -> None:
    # On 13 pages 4 of 12 others are a third; of 5 pages all others must have it.
    site = site_of(with_notice(pages, having))
    found = marked(site, rules.template_prose(site, even(site)))
    assert found == ([NOTICE] if is_template else [])


@pytest.mark.parametrize("length", [SENTENCE_CHARS - 1, SENTENCE_CHARS])
def test_short_texts_that_repeat_are_labels_not_prose(length) -> None:
    notice = "x" * length
    site = site_of(with_notice(10, 10, notice))
    found = marked(site, rules.template_prose(site, even(site)))
    assert found == ([notice] if length == SENTENCE_CHARS else [])


def test_prose_that_moves_within_its_cluster_is_the_templates_too() -> None:
    bodies = [
        f"<p>{prose(number)}</p><ul class=list>"
        + "".join(
            f"<li class={'odd' if place % 2 else 'even'}>"
            + (NOTICE if place == number % 2 else prose(number, place))
            for place in range(2)
        )
        + "</ul>"
        for number in range(12)
    ]
    site = site_of(bodies)
    assert marked(site, rules.template_prose(site, even(site))) == [NOTICE]


def test_copies_of_a_page_do_not_make_its_prose_the_templates() -> None:
    copied = [f"<h1>{number}</h1><p>{prose(number)}</p>" for number in range(3) for _ in range(5)]
    site = site_of(copied)
    assert len(set(site.originals.tolist())) == 3
    assert not rules.template_prose(site, even(site)).any()


@pytest.mark.parametrize(("pages", "is_template"), [(10, True), (11, False)])
def test_prose_that_moves_must_be_on_more_than_four_tenths_of_the_other_pages(
    pages, is_template
) -> None:
    # four of nine others, and four of ten, each time in another row of one list
    rows = [[(f"row {page % 5}", "notice" if page < 5 else f"own {page}")] for page in range(pages)]
    site = laid_out(rows, clusters={f"row {row}": "rows" for row in range(5)})
    expected = [page < 5 and is_template for page in range(pages)]
    assert rules.template_prose(site, even(site)).tolist() == expected


# texts of other pages


def scroll(following: int, pages: int = 8, own_title: bool = True) -> list[str]:
    articles = [[prose((page, part)) for part in range(3)] for page in range(pages)]
    bodies = []
    for number, own in enumerate(articles):
        others = [articles[(number + step) % pages] for step in range(1, following + 1)]
        stories = ["".join(f"<p>{text}</p>" for text in texts) for texts in [own, *others]]
        bodies.append(
            (f"<title>{own[0][:60]}</title>" if own_title else "")
            + "".join(
                f"<div class='story-{place}'>{story}</div>"
                for place, story in enumerate(stories, 1)
            )
        )
    return bodies


def test_articles_of_other_pages_are_foreign_where_they_are_not_at_home() -> None:
    site = site_of(scroll(2))
    foreign = rules.foreign_text(site, even(site))
    first = where(site, lambda slot: "story-1" in slot)
    assert not foreign[first].any()
    assert foreign[~first].all()


def test_a_page_with_copies_is_at_home_on_each_of_them() -> None:
    bodies = [body for body in scroll(0) for _ in range(2)]
    site = site_of(bodies)
    assert not rules.foreign_text(site, even(site)).any()
    printed = [body.replace("story-1", "print") for body in scroll(0)]
    site = site_of(scroll(0) + printed)
    assert not rules.foreign_text(site, even(site)).any()


def test_what_speaks_of_the_pages_own_hints_is_not_foreign() -> None:
    texts = [prose(((n + 1) % 8, 0)) for n in range(8)]
    bodies = [
        f"<meta name=description content='{text}'>{body}"
        for text, body in zip(texts, scroll(2), strict=True)
    ]
    site = site_of(bodies)
    own = site.contrast >= rules.OWN_CONTRAST
    assert own[where(site, lambda slot: "story-2" in slot)].any()
    assert not rules.foreign_text(site, even(site))[own].any()


def test_two_recurring_texts_are_too_few_to_condemn_a_slot() -> None:
    bodies = scroll(0, pages=12)
    for number in (1, 2):
        bodies[number] += f"<div class=quote><p>{prose((0, number))}</p></div>"
    for number in range(3, 12):
        bodies[number] += f"<div class=quote><p>{prose('own', number)}</p></div>"
    site = site_of(bodies)
    foreign = rules.foreign_text(site, even(site))
    own = [prose("own", number) for number in range(3, 12)]
    assert not set(marked(site, foreign)) & set(own)


def ring(*layout: str, pages: int = 8) -> list[list[tuple[str, str]]]:
    """Return pages with the spots of *layout*: each page's own text is at home, the next page's
    own one beside, and what is elsewhere is nowhere else.
    """
    return [
        [
            (
                spot,
                {"home": f"text {page}", "beside": f"text {(page + 1) % pages}"}.get(
                    spot, f"{spot} {page} {place}"
                ),
            )
            for place, spot in enumerate(layout)
        ]
        for page in range(pages)
    ]


def shares(site, spot: str) -> set[float]:
    """Return the shares of foreign texts that the blocks of a spot are given."""
    found = rules.foreign_share(site, site.pages)
    return set(np.round(found[where(site, lambda slot: slot == spot)].astype(float), 3).tolist())


@pytest.mark.parametrize(
    ("layout", "is_foreign"),
    [
        pytest.param(["home", "beside"], True, id="half of the page later"),
        pytest.param(["home", "beside", "more"], False, id="a third of the page later"),
        pytest.param(["home", "more", "beside"], True, id="two thirds of the page later"),
        pytest.param(["more", "home", "beside", "more"], False, id="a quarter of the page later"),
    ],
)
def test_a_text_is_at_home_where_it_stands_first(layout, is_foreign) -> None:
    site = laid_out(ring(*layout))
    assert shares(site, "beside") == {float(is_foreign)}
    assert shares(site, "home") == {0.0}


def test_where_a_text_stands_is_told_from_the_start_of_its_page() -> None:
    # the spot is on the first page only, and that page is first among all
    pages = [[("home", f"text {page}"), ("more", f"more {page}")] for page in range(8)]
    pages[0][1] = ("beside", "text 7")
    assert shares(laid_out(pages), "beside") == {1.0}


@pytest.mark.parametrize(("length", "is_foreign"), [(60, True), (59, False)])
def test_only_sentences_are_foreign(length, is_foreign) -> None:
    site = laid_out(ring("home", "beside"), chars={f"text {page}": length for page in range(8)})
    assert shares(site, "beside") == {float(is_foreign)}


@pytest.mark.parametrize(("contrast", "is_foreign"), [(0.19, True), (0.2, False)])
def test_what_is_in_the_pages_hints_is_its_own(contrast, is_foreign) -> None:
    site = laid_out(ring("home", "more", "beside"), contrast={"beside": contrast, "home": 0.19})
    assert shares(site, "beside") == {float(is_foreign)}


def test_a_text_is_at_home_beside_what_speaks_of_the_hints() -> None:
    parents = {"headline": "article", "home": "article"}
    layout = ring("beside", "headline", "home")
    assert shares(laid_out(layout, parents=parents), "home") == {1.0}
    site = laid_out(layout, parents=parents, contrast={"headline": 0.9})
    assert (shares(site, "home"), shares(site, "beside")) == ({0.0}, {1.0})


@pytest.mark.parametrize(("pages", "is_foreign"), [(8, False), (40, True)])
def test_a_spot_of_few_pages_is_taken_for_what_its_cluster_is(pages, is_foreign) -> None:
    # 0.2 worse, of which 8 / 16 and 40 / 48 count
    site = laid_out(ring("home", "beside", pages=pages), clusters={"beside": "home"})
    assert shares(site, "beside") == {float(is_foreign)}


def test_no_text_is_at_home_where_texts_recur() -> None:
    # the box comes first, but its texts stand in it on two pages each
    pages = [
        [("box", f"text {(page // 2 * 2 + 2) % 8}"), ("home", f"text {page}")] for page in range(8)
    ]
    site = laid_out(pages)
    assert (shares(site, "box"), shares(site, "home")) == ({1.0}, {0.0})


@pytest.mark.parametrize(
    ("length", "box", "home"),
    [
        pytest.param(60, {1.0, 0.625}, {0.0}, id="a sentence"),
        pytest.param(59, {0.0}, {1.0}, id="a label"),
    ],
)
def test_labels_that_recur_do_not_make_a_slot_one_of_recurring_texts(length, box, home) -> None:
    pages = [
        [("box", f"text {(page + 1) % 8}"), ("box", "every page's"), ("home", f"text {page}")]
        for page in range(8)
    ]
    site = laid_out(pages, chars={"every page's": length})
    assert (shares(site, "box"), shares(site, "home")) == (box, home)


@pytest.mark.parametrize(("cited", "is_foreign"), [(1, True), (2, False)])
def test_a_text_that_is_cited_on_several_pages_is_at_home_on_none(cited, is_foreign) -> None:
    pages = [[("law", "cited" if page < cited else f"law {page}")] for page in range(20)]
    pages[2] += [("more", "one"), ("more", "another"), ("beside", "cited")]
    assert shares(laid_out(pages), "beside") == {float(is_foreign)}


def boxes(foreign: int, recurring: int, unique: int) -> list[list[tuple[str, str]]]:
    """Return pages with an own text each, and with a box: of texts of the page before, of one text
    that recurs in boxes, or of a text that is nowhere else.
    """
    box = [
        *((f"text {page - 1}") for page in range(1, foreign + 1)),
        *["cited"] * recurring,
        *(f"own {page}" for page in range(unique)),
    ]
    return [[("home", "text 0")]] + [
        [("home", f"text {page}"), ("box", text)] for page, text in enumerate(box, 1)
    ]


@pytest.mark.parametrize(
    ("foreign", "cited", "unique", "length", "expected"),
    [
        pytest.param(3, 0, 4, 100, 1.0, id="all that recur are foreign"),
        pytest.param(2, 0, 4, 100, 0.0, id="two are too few to tell"),
        pytest.param(3, 0, 26, 100, 1.0, id="more than a tenth recurs"),
        pytest.param(3, 0, 27, 100, 0.0, id="a tenth recurs"),
        pytest.param(3, 3, 4, 100, 0.5, id="half of what recurs is foreign"),
        pytest.param(3, 2, 4, 300, 0.333, id="by their length"),
    ],
)
def test_a_slot_is_as_foreign_as_the_texts_in_it_that_recur(
    foreign, cited, unique, length, expected
) -> None:
    site = laid_out(boxes(foreign, cited, unique), chars={"cited": length})
    found = rules.foreign_share(site, site.pages)
    own = np.round(found[len(found) - 2 * unique + 1 :: 2].astype(float), 3)
    assert set(own.tolist()) == {expected}


@pytest.mark.parametrize(("foreign", "is_foreign"), [(3, False), (4, True)])
def test_more_than_half_of_a_slot_must_be_foreign(foreign, is_foreign) -> None:
    site = laid_out(boxes(foreign, 3, 4))
    assert rules.foreign_text(site, even(site))[-1] == is_foreign


def test_slots_of_one_parent_are_judged_together() -> None:
    pages = boxes(3, 0, 4)
    pages = [[pages[0][0]]] + [
        [home, (f"box {page % 3}", box[1])] for page, (home, box) in enumerate(pages[1:])
    ]
    alone = laid_out(pages)
    together = laid_out(pages, parents={f"box {box}": "boxes" for box in range(3)})
    assert rules.foreign_share(alone, alone.pages)[-1] == 0
    assert rules.foreign_share(together, together.pages)[-1] == 1


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
    site = site_of([f"<title>{HEADLINE} - The News</title>{body}"])
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
        f"<div><h1>{own}</h1><p>{'y' * length}</p></div><div><h1>{other}</h1><p>more</p></div>"
    )
    site = site_of([f"<title>abcdefghij</title>{stories}"])
    assert marked(site, rules.other_article(site, even(site))) == [other, "more"] * is_found


def test_without_a_title_no_headline_is_another_articles() -> None:
    site = site_of([f"<h1>{text}</h1><p>{NOTICE}</p>" for text in (HEADLINE, OTHER)])
    assert not rules.other_article(site, even(site)).any()
    pages = [f"<div><h1>{HEADLINE}</h1><p>{NOTICE}</p></div><div><h1>{OTHER}</h1></div>"]
    assert not rules.other_article(site_of(pages), even(site_of(pages))).any()


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
