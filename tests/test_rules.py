"""Each rule of the vote by itself: what it speaks against, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider.site import rules
from contentspider.site.blocks import SENTENCE_CHARS
from contentspider.site.rules import RULES, split_comments
from tests.sites import marked, prose, site_of, where

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
        pytest.param(f"<h2>{OTHER}</h2><p>{OTHER_NOTICE}</p>", [], id="no headline at all"),
    ],
)
def test_what_stands_below_another_articles_headline(body, found) -> None:
    site = site_of([f"<title>{HEADLINE} - The News</title>{body}"])
    assert marked(site, rules.other_article(site, even(site))) == found


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
