"""How much the vote counts beside the prior of each block: by what evidence the site has."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider.site.vote.votes import page_share, vote
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
