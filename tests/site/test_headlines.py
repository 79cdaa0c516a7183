"""A page's headline is content, by its title and by what the site repeats."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider.site.vote.votes import vote
from tests.sites import prose, site_of, texts_of


@pytest.mark.parametrize(
    ("head", "body", "is_kept"),
    [
        ("{0} | Tea", "<h1>{0}</h1>", True),
        ("{0} - Green | Tea", "<h1>Green</h1><h1>{0}</h1>", True),
        ("{0} | Tea", "<h2>{0}</h2>", False),
        ("Tea", "<h1>{0}</h1>", False),
        ("{0} | Tea", "<h1>Tea</h1>", False),
        ("{0} | Tea", "<h1>{0}</h1><p>{0}!</p>", False),
    ],
    ids=["named", "named first", "lower", "unnamed", "the site", "said below"],
)
def test_headline_matching_title_is_kept_with_its_text(head, body, is_kept) -> None:
    html = f"<head><title>{head}</title></head><nav>{body}</nav><p>{{1}}</p>"
    names = ["Oolong", "Sencha", "Assam", "Darjeeling", "Mate"]
    named = "Tea" if "{0}" not in body else names
    pages = [html.format(name, prose("tea", name, words=40)) for name in names]
    site = site_of(pages)
    texts = np.array(texts_of(site))
    prior = np.where(np.char.str_len(texts) > 100, 0.9, 0.05).astype(np.float32)
    prior[[text.endswith("!") for text in texts]] = 0.9
    found = vote(site, prior, prior, objections=())
    assert (found[np.isin(texts, named)] > 0.9).all() == is_kept
    assert (found[np.isin(texts, ["Tea", "Green"])] < 0.5).all()
    emptied = vote(site, 0.05 * np.ones_like(prior), 0.05 * np.ones_like(prior), objections=())
    assert (emptied < 0.5).all(), "a headline alone is no content"
