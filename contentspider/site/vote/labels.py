"""The ways to label blocks, by name; apart from the learner, which takes a second to import.

``votes``: the site's votes over the prior, own texts, relevance and repetition, the default.
``own``: own texts without the prior. ``paper``:
Algorithm 1 to the letter. ``paper-local``: the same with the best cluster chosen a page at a time;
``paper-top2``: with the two best clusters; ``tfidf`` and ``tfidf-top2``: with terms in common,
``tfidf-slots`` and ``tfidf-slots-top2``: of them and the learner's clusters of slots.
``paper-again``: Algorithm 1 by tag paths, and again on pages of which it chose nothing.
``contrast``: Algorithm 1 with the relevance to the page's own hints less that to other pages'. A
package adds its own with an entry point of the group ``contentspider.labels`` (docs/extending.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from contentspider.ground.plugins import PlugIns

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from contentspider.page.input.page import Page
    from contentspider.site.vote.blocks import SiteBlocks

# Of the pages of a site, and their blocks side by side: how probably each block is content.
Labels: TypeAlias = "Callable[[list[Page], SiteBlocks], NDArray[np.float32]]"

VOTES, OWN = "votes", "own"
LABELS: PlugIns[Labels] = PlugIns(
    "contentspider.labels",
    {
        VOTES: "contentspider.site.learn.learner:label_by_votes",
        OWN: "contentspider.site.learn.learner:label_by_own_texts",
        "paper": "contentspider.site.vote.paper:label_like_the_paper",
        "paper-local": "contentspider.site.vote.paper:label_page_by_page",
        "paper-top2": "contentspider.site.vote.paper:label_with_two_clusters",
        "tfidf": "contentspider.site.vote.paper:label_by_terms",
        "tfidf-top2": "contentspider.site.vote.paper:label_by_terms_with_two_clusters",
        "tfidf-slots": "contentspider.site.vote.paper:label_slots_by_terms",
        "tfidf-slots-top2": "contentspider.site.vote.paper:label_slots_by_terms_with_two_clusters",
        "paper-again": "contentspider.site.vote.paper:label_template_by_template",
        "contrast": "contentspider.site.vote.paper:label_by_contrast",
    },
)
