from collections.abc import Callable

from lxml.etree import _Element

from contentspider.page.block._paths import Paths
from contentspider.page.blocks import HintElement, PageBlocks

class Walker:
    def __init__(
        self,
        tags: dict[str, str],
        marks: dict[str, str],
        *,
        paths: Paths,
        code: str,
        bold: str,
        hides: Callable[[str], bool],
        clean_text: Callable[[str], str],
        clean_preformatted: Callable[[str], str],
        is_expression: Callable[[str], bool],
        max_value_chars: int,
        max_images: int,
    ) -> None: ...
    def walk(
        self,
        page: PageBlocks,
        root: _Element,
        max_blocks: int,
        attributes: bool,
        reveal: bool = False,
        kept: list[_Element] | None = None,
    ) -> tuple[list[HintElement], bool]: ...
