"""The tagged page of a response, for spiders: its text blocks, and how the site's model judges
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from contentspider.crawl.base.alone import model_alone, page_alone
from contentspider.crawl.base.meta import BINDINGS_META_KEY, PAGE_META_KEY
from contentspider.page.words.names import step_tag
from contentspider.site.models.selectors import css_step, cut_names

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scrapy.http import Response

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.reasons import Explanation


@dataclass(frozen=True)
class TaggedBlock:
    """A text block of a page: the nearest block-level element around a run of text."""

    page: TaggedPage = field(repr=False)
    index: int
    text: str

    @property
    def tag(self) -> str:
        """The tag of the block's element."""
        return self._block.tag

    @property
    def tag_path(self) -> str:
        """The tags from the body to the element: ``body/div/p``."""
        return "/".join(map(step_tag, self._steps))

    @property
    def selector(self) -> str:
        """A CSS selector of the path to the element: ``body > div#main > p.lead``. Blocks in the
        same slot of a template share their selector.
        """
        cut = cut_names(self._block.path)
        return " > ".join(css_step(step, cut) for step in self._steps)

    @property
    def link_density(self) -> float:
        """The share of the text's characters that are in links, from 0 to 1."""
        return self._block.link_chars / max(len(self.text), 1)

    @property
    def css(self) -> Mapping[str, str]:
        """The computed CSS properties and the box of the block. They are empty unless the page was
        rendered (``CONTENTSPIDER_RENDER``).
        """
        visuals = self.page.page.content.visuals
        return visuals[self.index] if visuals else {}

    @property
    def features(self) -> dict[str, float]:
        """The values, by name, of the features that the prior uses to judge the block."""
        from contentspider.page.features.extractor import FEATURE_NAMES

        row = self.page.features[self.index].tolist()
        return dict(zip(FEATURE_NAMES, row, strict=True))

    @property
    def probability(self) -> float | None:
        """The probability that the block is content, from 0 to 1, by the site's model. It is None
        until the site has a model.
        """
        probabilities = self.page.probabilities
        return None if probabilities is None else float(probabilities[self.index])

    @property
    def is_content(self) -> bool | None:
        """Whether the site's model keeps the block. It is None until the site has a model."""
        return None if self.probability is None else self.probability > 0.5

    def explain(self) -> Explanation | None:
        """Return why the block is kept or dropped; ``str`` gives it in lines. It is None until the
        site has a model.
        """
        from contentspider.site.models.reasons import Reasons

        model, page = self.page.model, self.page.page
        return Reasons(model).explain(model.extract(page), self.index) if model else None

    @property
    def _block(self) -> Block:
        return self.page.page.content.blocks[self.index]

    @property
    def _steps(self) -> list[str]:
        return self._block.path.split("/")


class TaggedPage:
    """The page of a response: its *blocks* in reading order, and the *model* of its site. The model
    is None until the site has been learned.
    """

    def __init__(self, page: Page, model: SiteModel | None) -> None:
        self.page, self.model = page, model
        self.url = page.url
        self.blocks = [
            TaggedBlock(self, index, block.text) for index, block in enumerate(page.content.blocks)
        ]

    def __repr__(self) -> str:
        return f"<TaggedPage {self.url!r}: {len(self.blocks)} blocks>"

    @cached_property
    def features(self) -> NDArray[np.float32]:
        """The features of the blocks, as an array of float32: one row for each block, one column
        for each name in `contentspider.page.features.extractor.FEATURE_NAMES`.
        """
        from contentspider.page.features.extractor import FeatureExtractor

        return FeatureExtractor().features(self.page.content, self.page.hints)

    @cached_property
    def probabilities(self) -> NDArray[np.float32] | None:
        """The probability that each block is content, as an array of float32 of the shape (n,) for
        n blocks. It is None until the site has a model.
        """
        return None if self.model is None else self.model.probabilities(self.page)


def page_of(response: Response) -> TaggedPage | None:
    """Return the page that contentspider's downloader middleware stored in a *response*'s meta.
    It is None if the response is not an HTML page. The page of a response that has passed no
    middleware, as in a unit test, is read here, and the prior judges its blocks.

    A first crawl learns a site of up to 500 pages at its end. Until then ``probability`` and
    ``is_content`` of the blocks are None.
    """
    meta: dict[str, Any] = response.meta if response.request is not None else {}
    page: Page | None = meta.get(PAGE_META_KEY)
    if page is not None:
        bindings = meta.get(BINDINGS_META_KEY)
        return TaggedPage(page, bindings.model_of(page.url) if bindings else None)
    page = page_alone(response)
    return None if page is None else TaggedPage(page, model_alone(page.url))
