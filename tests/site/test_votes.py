"""The vote: its voters one by one, how they are summed, and what comes after."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider.site.vote import votes
from contentspider.site.vote.blocks import gather
from contentspider.site.vote.objections import Objection
from contentspider.site.vote.votes import VOTERS, Voter, log_odds, vote
from tests.sites import laid_out, prose, site_of, texts_of, where


def array(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def two_pages():
    """Return a site of two pages with three texts each, of 16, 4 and 16 characters."""
    body = "<div class=text><p>{0}</p><p>{1}</p></div><ul class=menu><li>{2}</ul>"
    return site_of(
        [body.format(letter * 16, letter * 4, letter.upper() * 16) for letter in ("a", "b")]
    )


def lenient(pages: int) -> float:
    """Return what is added to the odds of a site of so many pages."""
    return 0.3 * pages / (pages + 8)


PRIOR = array(0.9, 0.6, 0.2, 0.5, 0.6, 0.1)


def test_voters_have_fixed_weights() -> None:
    assert [(voter.name, voter.weight, voter.probability) for voter in VOTERS] == [
        ("slot", 2.0, votes.by_slot),
        ("articles", 3.0, votes.by_articles),
        ("beside", 1.0, votes.by_neighbours),
    ]


def test_cluster_vote_is_length_weighted_mean_over_site() -> None:
    text = (4 * 0.9 + 2 * 0.6 + 4 * 0.5 + 2 * 0.6) / 12
    expected = [text, text, 0.15] * 2
    assert votes.by_cluster(two_pages(), PRIOR) == pytest.approx(expected)


def test_spot_vote_weighs_by_number_of_blocks() -> None:
    # the two rows are one cluster and two spots of 8 blocks each: half of each counts
    bodies = ["<ul class=list><li class=odd>aaaa<li class=even>bbbb</ul>" for _ in range(8)]
    site = site_of(bodies)
    site.clusters = np.zeros(16, dtype=np.int64)
    odd = where(site, lambda slot: "odd" in slot)
    prior = np.where(odd, 0.9, 0.1).astype(np.float32)
    assert votes.by_slot(site, prior) == pytest.approx(np.where(odd, 0.7, 0.3))


def test_articles_outvote_listings() -> None:
    # a page's rank is the share of text that the prior keeps, by that of the best pages; squared
    site = site_of(["<h2>aaaa</h2><p>bbbbbbbbbbbb</p>", "<h2>cccc</h2><ul><li>dddddddddddd</ul>"])
    prior = array(0.9, 0.9, 0.1, 0.1)
    ranks = votes.article_ranks(site, prior)
    best = 0.1 + 0.9 * 0.8
    assert ranks == pytest.approx([1, 0.1 / best])
    low = (0.1 / best) ** 2
    heading = (0.9 + low * 0.1) / (1 + low)
    assert votes.by_articles(site, prior)[[0, 2]] == pytest.approx([heading] * 2, abs=1e-5)


def test_page_without_probable_content_is_not_article() -> None:
    ranks = votes.article_ranks(two_pages(), array(*[0.01] * 6))
    assert ranks == pytest.approx([0.2, 0.2])


def test_neighbour_vote_covers_three_blocks_on_each_side() -> None:
    items = "".join(f"<p class=p{n}>{'x' * 9}</p>" for n in range(9))
    site = site_of([items, items])
    site.clusters = np.arange(18) % 9
    prior = np.zeros(18, dtype=np.float32)
    prior[[0, 9]] = 1.0
    expected = [1 / 4, 1 / 5, 1 / 6, 1 / 7, 0, 0, 0, 0, 0]
    assert votes.by_neighbours(site, prior) == pytest.approx(expected * 2)


def test_log_odds_are_bounded() -> None:
    assert log_odds(array(0.5, 0.9, 0, 1)) == pytest.approx(
        [0, np.log(9), -np.log(99), np.log(99)], abs=1e-5
    )
    assert log_odds(np.array([0.5])).dtype == np.float32


def test_votes_are_averaged_by_weight_with_leniency() -> None:
    site = two_pages()
    voters = [
        Voter("sure", 3.0, lambda site, prior: np.full(6, 0.9, dtype=np.float32)),
        Voter("even", 1.0, lambda site, prior: np.full(6, 0.5, dtype=np.float32)),
    ]
    expected = 0.75 * np.log(9) + lenient(2)
    assert votes.mean_odds(site, PRIOR, voters) == pytest.approx([expected] * 6, abs=1e-5)


@pytest.mark.parametrize(
    ("contrast", "odds", "expected"),
    [(0.4, 0.0, 0.2), (0.9, 0.0, 0.25), (-0.9, 0.0, -0.1), (0.4, np.log(9), 0.2 * 0.36)],
)
def test_relevance_counts_only_near_even_odds(contrast, odds, expected) -> None:
    site = site_of([f"<p>{prose(number)}</p>" for number in range(6)])
    site.contrast = np.full(6, contrast, dtype=np.float32)
    added = votes.relevance_odds(site, np.full(6, odds))
    assert added == pytest.approx([expected] * 6, abs=1e-5)


@pytest.mark.parametrize("trail", ["Tea > {}", "<a href=/{0}>{0} " + "and so on " * 9 + "</a>"])
def test_relevance_ignores_titles_in_breadcrumbs_and_link_lists(trail) -> None:
    site = site_of([f"<p class=trail>{trail.format(number)}</p>" for number in range(3)])
    site.contrast = np.full(3, 0.4, dtype=np.float32)
    assert votes.relevance_odds(site, np.zeros(3)) == pytest.approx([0] * 3)


@pytest.mark.parametrize(
    ("row", "chars", "odds", "allowed", "expected"),
    [
        pytest.param("row {}", 300, 0, True, 3, id="most is undecided"),
        pytest.param("row {}", 100, 0, True, 3, id="half"),
        pytest.param("row {}", 60, 0, True, 1.5, id="three of eight"),
        pytest.param("row {}", 33, 0, True, 0, id="a quarter"),
        pytest.param("row {}", 300, -1.9, True, 1.36, id="rather not"),
        pytest.param("row {}", 300, -2, True, 0, id="not"),
        pytest.param("row {}", 300, 0, False, 0, id="there is evidence against it"),
        pytest.param("row", 300, 0, True, 0, id="all pages have it"),
    ],
)
def test_undecided_text_gets_bonus_on_site_with_little_other_text(
    row, chars, odds, allowed, expected
) -> None:
    # Each page has a text of 100 characters that is surely content, and a row of a table.
    pages = [[("text", f"text {n}"), ("row", row.format(n))] for n in range(10)]
    site = laid_out(pages, chars={row.format(n): chars for n in range(10)})
    found = votes.needed_odds(site, np.tile(array(8, odds), 10), np.tile([True, allowed], 10))
    assert found == pytest.approx(np.tile([0, expected], 10), abs=0.01)


def test_text_repeated_on_most_pages_gets_no_bonus() -> None:
    pages = [[("row", f"row {n}"), ("review", "Good service")] for n in range(10)]
    found = votes.needed_odds(laid_out(pages), np.zeros(20), np.full(20, True))
    assert found == pytest.approx(np.tile([3, 0], 10))


def test_strongest_objection_counts() -> None:
    rules = [
        Objection("some", 2.0, lambda site, prior: array(1, 0.5, 0, 0, 0, 0)),
        Objection("other", 1.5, lambda site, prior: np.array([True, True] + [False] * 4)),
    ]
    against = votes.strongest_evidence(two_pages(), PRIOR, rules)
    assert against.tolist() == [2, 1.5, 0, 0, 0, 0]


def test_custom_objections_and_voters_take_part_in_vote() -> None:
    site = two_pages()
    menu = where(site, lambda slot: "menu" in slot)
    for share, shift in ((1.0, 6.0), (0.5, 3.0)):
        rule = Objection("menus", 6.0, lambda site, prior, share=share: menu * share)
        free = vote(site, PRIOR, PRIOR, objections=())
        ruled = vote(site, PRIOR, PRIOR, objections=(rule,))
        odds = np.log(free / (1 - free)) - np.log(ruled / (1 - ruled))
        votes_share = 1 - votes.page_share(site, PRIOR)
        assert odds == pytest.approx(np.where(menu, shift * votes_share, 0), abs=1e-3)
    loud = Voter("loud", 1e9, lambda site, prior: menu * 0.98 + 0.01)
    even = np.full_like(PRIOR, 0.5)
    heard = vote(site, even, even, voters=(*VOTERS, loud), objections=())
    assert ((heard > 0.5) == menu).all()


def test_discussion_posts_are_judged_without_comment_names() -> None:
    bodies = [
        f"<h1>{n}</h1><ul class=comments>"
        + "".join(f"<li><p>{prose(n, part)}</p></li>" for part in range(3))
        + "</ul>"
        for n in range(6)
    ]
    site = site_of(bodies)
    posts = where(site, lambda slot: "comments" in slot)
    named = np.full(len(posts), 0.1, dtype=np.float32)
    unnamed = np.full(len(posts), 0.9, dtype=np.float32)
    kept = vote(site, named, unnamed) > 0.5
    assert kept[posts].all()
    assert not kept[~posts].any()


# folders


def page_prior(site) -> np.ndarray:
    """Return what a sound prior would say: paragraphs are content, list items are not."""
    return np.where(where(site, lambda slot: slot.endswith("/p")), 0.9, 0.1).astype(np.float32)


def article(number: int) -> str:
    return (
        f"<title>Story {number}</title><ul><li><a href=/>Home</a><li><a href=/b>News</a></ul>"
        f"<div class=text><h1>Story {number}</h1>"
        + "".join(f"<p>{prose(number, part)}</p>" for part in range(4))
        + "</div>"
    )


@pytest.mark.parametrize(("pages", "copies"), [(2, 2), (5, 2), (10, 2), (3, 4), (1, 6)])
def test_duplicated_articles_are_kept(pages, copies) -> None:
    site = site_of([article(number) for number in range(pages) for _ in range(copies)])
    prior = page_prior(site)
    kept = vote(site, prior, prior) > 0.5
    assert kept[prior > 0.5].all()
    assert "Home" not in {text for text, keeps in zip(texts_of(site), kept, strict=True) if keeps}


def test_site_of_page_without_blocks_has_empty_arrays() -> None:
    from contentspider.page.input.page import Page

    empty = Page.from_html("")
    site = gather([empty])
    assert site.distinct_pages == len(site.chars) == 0


def test_learner_accepts_custom_voters_and_objections() -> None:
    from contentspider.page.input.page import Page
    from contentspider.site.learn.learner import SiteLearner
    from contentspider.site.vote.objections import OBJECTIONS

    pages = [Page.from_html(article(number), f"/{number}") for number in range(6)]
    headings = Objection("no_headings", 20.0, lambda site, prior: site.headings)
    texts = [
        SiteLearner(objections=rules).fit(pages).extract(pages[0]).text
        for rules in (OBJECTIONS, (*OBJECTIONS, headings))
    ]
    assert ["Story 0" in text for text in texts] == [True, False]
    everything = Voter("all", 1.0, lambda site, prior: np.full(len(prior), 0.99, dtype=np.float32))
    kept = SiteLearner(voters=(everything,), objections=()).fit(pages).extract(pages[0]).kept
    assert kept.tolist() == [False] * 2 + [True] * 5  # the first are the same on all pages


def test_vote_sums_voters_relevance_and_objections() -> None:
    site = two_pages()
    site.chars = np.full_like(site.chars, 100)
    site.contrast = array(0.4, 0.4, -0.1, 0.1, 0, 0)
    odds = votes.mean_odds(site, PRIOR, VOTERS)
    odds = odds + votes.relevance_odds(site, odds)
    odds = odds + votes.needed_odds(site, odds, np.full(6, True))
    odds = votes.beside_prior(site, odds, PRIOR)
    expected = 1 / (1 + np.exp(-odds))
    assert vote(site, PRIOR, PRIOR, objections=()) == pytest.approx(expected, abs=1e-5)
    assert vote(site, PRIOR, PRIOR).dtype == np.float32
