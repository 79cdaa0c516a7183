"""How much the vote counts beside the prior of each block: by what evidence the site has."""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest

from contentspider.site.vote.votes import page_share, vote, with_answers
from tests.sites import prose, site_of


@pytest.mark.parametrize(("pages", "is_kept"), [(2, False), (60, True)])
def test_prior_counts_beside_the_vote_of_few_pages(pages, is_kept) -> None:
    # The prior drops one page's block, and keeps the others in its slot.
    site = site_of([f"<p>{prose(number)}</p>" for number in range(pages)])
    prior = np.full(pages, 0.65, dtype=np.float32)
    prior[0] = 0.03
    assert (vote(site, prior, prior, objections=())[0] > 0.5) == is_kept


@pytest.mark.parametrize(
    ("rows", "least", "most"),
    [
        ([0.6, 0.7, 0.8, 0.7], 0.0, 0.1),  # they agree, and another page's row is a mistake
        ([0.99, 0.02, 0.98, 0.01], 0.4, 0.6),  # a slot of content and of boilerplate
    ],
    ids=["agree", "disagree"],
)
def test_prior_counts_more_where_the_blocks_of_a_slot_disagree(rows, least, most) -> None:
    cells = range(len(rows))
    site = site_of(
        [
            f"<table>{''.join(f'<tr><td>{prose(page, row)}</td></tr>' for row in cells)}</table>"
            for page in range(60)
        ]
    )
    share = page_share(site, np.tile(np.array(rows, dtype=np.float32), 60))
    assert least < share.min()
    assert share.max() < most


def test_share_of_the_prior_is_between_none_and_all() -> None:
    site = site_of([f"<p>{prose(page)}</p><p>{prose(page, 'b')}</p>" for page in range(5)])
    for prior in (np.full(10, 0.7), np.tile([0.0, 1.0], 5), np.zeros(10), np.ones(10)):
        share = page_share(site, prior.astype(np.float32))
        assert share.shape == (10,)
        assert ((share > 0) & (share <= 1)).all()


@pytest.mark.parametrize(
    ("sure_pages", "pages", "is_kept"),
    [(6, 20, True), (2, 20, False), (3, 6, False)],
    ids=["often", "seldom", "few pages"],
)
def test_spot_of_which_the_prior_is_sure_on_other_pages_is_content(
    sure_pages, pages, is_kept
) -> None:
    body = "<main><p>{0}</p><p>{0}</p></main><ul class=answers><li>{1}</li></ul>"
    site = site_of([body.format(prose(page), prose(page, "m")[:160]) for page in range(pages)])
    prior = np.tile([0.95, 0.95, 0.1], pages).astype(np.float32)
    prior[2 : 3 * sure_pages : 3] = 0.95
    assert (vote(site, prior, prior)[-1] > 0.5) == is_kept


def test_text_that_pages_repeat_is_no_content_since_some_pages_are_sure_of_it() -> None:
    site = site_of([f"<p>{prose(page)}</p><p>{prose(0, 'same')}</p>" for page in range(20)])
    prior = np.tile([0.95, 0.1], 20).astype(np.float32)
    prior[1:16:2] = 0.95
    assert (vote(site, prior, prior)[1::2] < 0.5).all()


@pytest.mark.parametrize(
    ("tag", "question", "is_kept"),
    [
        ("button", "How long does it keep?", True),
        ("button", "How long does it keep? +", True),
        ("summary", "どのくらい持ちますか？", True),
        ("button", "Add to cart", False),
        ("p", "How long does it keep?", False),
    ],
)
def test_question_on_a_control_follows_its_answer(tag, question, is_kept) -> None:
    body = "<div><{0}>{1} {2}</{0}><div class=answer><p>{3}</p></div></div>"
    pages = [body.format(tag, number, question, prose(number)) for number in range(12)]
    prior = np.tile([0.03, 0.95], 12).astype(np.float32)
    assert ((vote(site_of(pages), prior, prior)[::2] > 0.5) == is_kept).all()


def test_signs_on_a_control_take_linear_time() -> None:
    signs = "?" * 40_000
    site = site_of([f"<button>{signs}a</button><p>{prose(page)}</p>" for page in range(3)])
    begun = process_time()
    with_answers(site, np.tile([0.0, 1.0], 3).astype(np.float32))
    assert process_time() - begun < 2
