from lxml.etree import _Element

from contentspider.page.blocks import HintElement, PageBlocks

class Walker:
    def walk(
        self,
        page: PageBlocks,
        root: _Element,
        max_blocks: int,
        attributes: bool,
        reveal: bool = False,
        kept: list[_Element] | None = None,
    ) -> tuple[list[HintElement], bool]: ...
