"""What is kept of one page alone, where the prior is not sure."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider.page.input.page import Page
from contentspider.site.judge.expected_f1 import maximise_expected_f1
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.single_page import extract_page
from tests.site.test_prior import stump, trees


@pytest.mark.parametrize(
    ("probabilities", "chars", "kept"),
    [
        ([], [], []),
        ([0.0, 0.0], [50, 50], [False, False]),  # nothing speaks for any block
        ([0.29, 0.1], [50, 500], [False, False]),  # nor is anything likely: there is no content
        ([0.3], [50], [True]),
        ([0.4, 0.3, 0.01], [100, 100, 100], [True, True, False]),
        ([0.3, 0.3, 0.02], [10, 10, 1_000], [True, True, False]),
        ([0.45, 0.1], [1, 1_000], [True, True]),  # the long text is most of what is expected
        ([0.9, 0.4], [100, 10], [True, False]),  # the page is known: as likely as not decides
        ([1.0, 0.49], [100, 100], [True, False]),
    ],
)
def test_unsure_page_keeps_blocks_with_best_expected_score(probabilities, chars, kept) -> None:
    found = maximise_expected_f1(
        np.array(probabilities, dtype=np.float32), np.array(chars, dtype=float)
    )
    assert found.dtype == np.float32
    assert (found > 0.5).tolist() == kept


def test_single_page_is_not_empty_if_prior_finds_content() -> None:
    cards = "".join(
        f"<div class=card><a href=/{n}>Tea number {n} from the hills</a><div>{n} EUR</div></div>"
        for n in range(30)
    )
    page = Page.from_html(f"<title>Teas</title><nav><a href=/>Home</a></nav><div>{cards}</div>")
    assert SiteLearner("example.org").fit([page]).extract(page).text


@pytest.mark.parametrize(
    ("kind", "sure", "kept"),
    [
        ("Article", 2.0, ["Tea is made of leaves and water.", "More about tea"]),
        ("NewsArticle", 2.0, ["Tea is made of leaves and water."]),
        ("ReportageNewsArticle", 2.0, ["Tea is made of leaves and water."]),
        # No answer is the worst answer.
        ("NewsArticle", 0.2, ["Tea is made of leaves and water.", "More about tea"]),
    ],
)
def test_uncertain_blocks_of_news_articles_are_left_out(kind, sure, kept) -> None:
    prior = Prior(trees(stump("ends_sentence", 0.5, 0.2, sure)), {})  # else 0.55
    page = Page.from_html(
        f'<title>Tea</title><script type="application/ld+json">{{"@type": "{kind}"}}</script>'
        "<p>Tea is made of leaves and water.</p><p>More about tea</p>"
    )
    found = extract_page(page, prior=prior)
    assert [block.text for block in found.blocks] == kept
