"""The registry of the ways to label blocks. It is apart from the learner, whose import takes 1 s.

- ``votes``, the default: the site's vote over the prior, own texts, relevance and repetition.
- ``own``: own texts without the prior.
- ``paper``: exactly Algorithm 1 of the paper, over all pages of a site. The package
  ``contentspider-research`` has variants.

Other packages add their own with an entry point of the group ``contentspider.labels``
(docs/extending.md).
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

# A function of the pages of a sample and their `SiteBlocks`. It returns for each block the
# probability that it is content, from 0 to 1.
Labels: TypeAlias = "Callable[[list[Page], SiteBlocks], NDArray[np.float32]]"

VOTES, OWN, PAPER = "votes", "own", "paper"
LABELS: PlugIns[Labels] = PlugIns(
    "contentspider.labels",
    {
        VOTES: "contentspider.site.learn.learner:label_by_votes",
        OWN: "contentspider.site.learn.learner:label_by_own_texts",
        PAPER: "contentspider.site.vote.paper:label_like_the_paper",
    },
)
