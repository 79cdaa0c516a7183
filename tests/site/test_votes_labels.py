"""Short texts that a site repeats: labels, which go with what is beside them."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider.site.vote import votes
from contentspider.site.vote.objections import Objection
from contentspider.site.vote.votes import VOTERS, vote
from tests.site.test_votes import lenient
from tests.sites import prose, site_of, where


def labelled(label: str, pages: int = 10, having: int | None = None, tag: str = "p") -> list[str]:
    having = pages if having is None else having
    return [
        f"<div class=text><p>{prose(n)}</p>"
        f"<{tag} class=label>{label if n < having else f'Own {n}'}</{tag}></div>"
        f"<div class=menu><p>{prose('menu', n)}</p></div>"
        for n in range(pages)
    ]


def settled(bodies: list[str], label_odds: float = 0.0, beside: float = 3.0, overruled=False):
    """Return the odds of the label on the first page, by the odds of all else."""
    site = site_of(bodies)
    label = where(site, lambda slot: "label" in slot)
    odds = np.where(label, label_odds, beside)
    return votes.adjust_short_texts(site, odds, label & overruled)[label][0]


def following(pages: int, beside: float, own: float = 0.0) -> float:
    """Return the odds of a label on sites of so many pages, by its *own* and those beside it."""
    plain = own - lenient(pages)
    chance = 1 / (1 + np.exp(-plain))
    return plain + 1.5 * np.tanh(beside / 2) * 4 * chance * (1 - chance)


@pytest.mark.parametrize("own", [0.0, 2.0, -4.0])
@pytest.mark.parametrize("beside", [3.0, -3.0])
def test_repeated_label_follows_its_neighbours(beside, own) -> None:
    # on half of the pages, so that it is no constant: 4 of 9 others
    found = settled(labelled("Ingredients", having=5), own, beside)
    assert found == pytest.approx(following(10, beside, own), abs=1e-3)


@pytest.mark.parametrize(("below", "is_kept"), [(3.0, True), (-3.0, False)])
def test_repeated_heading_follows_section_below_it(below, is_kept) -> None:
    site = site_of(
        [
            f"<div class=text><p>{prose(n)}</p><h3 class=label>Read next</h3></div>"
            f"<ul class=next><li>{prose('next', n, words=9)}</li></ul>"
            if n < 5
            else f"<p>{prose(n)}</p>"
            for n in range(10)
        ]
    )
    label = where(site, lambda slot: "label" in slot)
    section = where(site, lambda slot: "next" in slot)
    odds = np.select([label, section], [0.0, below], 3.0)
    adjusted = votes.adjust_short_texts(site, odds, np.zeros_like(label))
    assert (adjusted[label] > 0).tolist() == [is_kept] * 5


def test_certain_noise_label_stays_noise_beside_content() -> None:
    assert settled(labelled("Metadata", having=5), -3.0, 4.6) < -2.5


def test_label_has_same_odds_on_all_pages() -> None:
    site = site_of(labelled("Metadata", having=5))
    label = where(site, lambda slot: "label" in slot)
    shared = label & (np.arange(10).repeat(3) < 5)
    odds = np.where(label, np.linspace(-1, 1, len(label)), np.linspace(3, -3, len(label)))
    found = votes.adjust_short_texts(site, odds, np.zeros_like(label))
    assert np.ptp(odds[shared]) > 0.3
    assert np.ptp(found[shared]) == 0
    assert np.ptp(found[label & ~shared]) > 0.3


@pytest.mark.parametrize(
    ("having", "label", "overruled"),
    [(4, "Ingredients", False), (5, "x" * 60, False), (5, "Ingredients", True)],
)
def test_rare_long_or_overruled_texts_are_not_labels(having, label, overruled) -> None:
    assert settled(labelled(label, having=having), 1.0, overruled=overruled) == 1.0


def test_labels_do_not_support_each_other() -> None:
    bodies = [
        f"<div class=text><p class=label>Tags</p><p class=label>Date</p></div><p>{prose(n)}</p>"
        for n in range(4)
    ]
    assert settled(bodies, 5.0, beside=0.0) == pytest.approx(5.0 - lenient(4))


@pytest.mark.parametrize(
    ("pages", "having", "tag", "is_constant"),
    [
        (10, 10, "p", True),
        (10, 8, "p", True),  # 7 of 9 others
        (11, 8, "p", False),  # 7 of 10
        (10, 10, "h2", False),
        (10, 10, "dt", False),  # a fact's name
        (10, 10, "th", False),
        (5, 5, "p", True),
        (4, 4, "p", False),  # four pages are too few to tell
    ],
)
def test_constant_non_heading_label_belongs_to_template(pages, having, tag, is_constant) -> None:
    found = settled(labelled("Read more", pages=pages, having=having, tag=tag))
    expected = following(pages, 3.0) - 6 * is_constant
    assert found == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("tag", "title", "pages", "other", "is_name"),
    [
        ("h2", "Number {} | Tea House", 10, 20, True),
        ("h2", "Tea House", 10, 0, False),  # what the page itself is called
        ("h2", "Number {}", 10, 0, False),
        ("h2", "Number {} | Tea House", 4, 4, False),
        ("h1", "Number {}", 10, 0, False),  # "SYNOPSIS", "TL;DR"
    ],
)
def test_constant_heading_naming_site_belongs_to_template(
    tag, title, pages, other, is_name
) -> None:
    bodies = labelled("Tea house", pages=pages, tag=tag)
    bodies = [f"<title>{title.format(n)}</title>{body}" for n, body in enumerate(bodies)]
    bodies += [f"<title>x</title><p>{prose('other', n)}</p>" for n in range(other)]
    found = settled(bodies)
    expected = following(pages + other, 3.0) - 6 * is_name
    assert found == pytest.approx(expected, abs=1e-3)


def test_label_on_half_of_pages_is_not_constant() -> None:
    bodies = labelled("Read more", pages=5) + [f"<p>{prose('other', n)}</p>" for n in range(5)]
    assert settled(bodies) == pytest.approx(following(10, 3.0), abs=1e-3)


def test_objection_stops_label_from_following_neighbours() -> None:
    site = site_of(labelled("Ingredients", having=5))
    label = where(site, lambda slot: "label" in slot)
    prior = np.where(label, 0.5, 0.9).astype(np.float32)
    weak = Objection("weak", 0.5, lambda site, prior: label)
    odds = votes.mean_odds(site, prior, VOTERS)
    odds = odds + votes.relevance_odds(site, odds) - 0.5 * label
    odds = votes.beside_prior(site, odds, prior)
    found = vote(site, prior, prior, objections=(weak,))
    assert found[label] == pytest.approx(1 / (1 + np.exp(-odds[label])), abs=1e-5)
    free = vote(site, prior, prior, objections=())[label][0]
    weakened = 0.5 * (1 - votes.page_share(site, prior)[label][0])
    assert np.log(free / (1 - free)) - (odds[label][0] + weakened) == pytest.approx(
        -lenient(10) + 1.5 * np.tanh(odds[~label][0] / 2), abs=0.1
    )
