"""A page's headline is content, by its title and by what the site repeats."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider.site.vote.blocks import all_blocks
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


@pytest.mark.parametrize(
    ("above", "chance", "is_kept"),
    [
        ("<div>{}</div>", 0.3, True),
        ("<h2>{}</h2>", 0.3, True),
        ("<div>{}</div>", 0.02, False),  # the prior is sure that it is the theme's
        ("<div><a href=/{}>{}</a></div>", 0.3, False),
        ("<div>{}</div><h1>{}</h1>", 0.3, False),  # the heading is the headline
    ],
    ids=["line", "heading", "sure", "link", "h1"],
)
def test_title_above_the_text_is_the_headline_of_a_page_without_h1(above, chance, is_kept) -> None:
    names = ["Oolong", "Sencha", "Assam", "Darjeeling", "Mate"]
    pages = [
        f"<head><title>{name} | Tea</title></head><main>{above.replace('{}', name)}"
        f"<p>{prose(name)}</p><b>{name}</b></main>"
        for name in names
    ]
    site = site_of(pages)
    texts = np.array(texts_of(site))
    first = np.array([block.tag in ("div", "h2") for block in all_blocks(site)])
    prior = np.where(np.char.str_len(texts) > 100, 0.9, 0.02).astype(np.float32)
    prior[first] = chance
    found = vote(site, prior, prior, objections=())
    assert (found[first] > 0.9).tolist() == [is_kept] * len(names)
    others = np.isin(texts, names) & ~first & np.array([b.tag != "h1" for b in all_blocks(site)])
    assert (found[others] < 0.5).all(), "what stands below the text is no headline"
