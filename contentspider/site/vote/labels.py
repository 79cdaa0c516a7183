"""The ways to label blocks, by name; apart from the learner, which takes a second to import.

``votes``, the default: the site's votes over the prior, own texts, relevance and repetition.
``own``: own texts without the prior. ``paper``: Algorithm 1 to the letter; the package of research
has variations of it. A package adds its own with an entry point of the group
``contentspider.labels`` (docs/extending.md).
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
    },
)
