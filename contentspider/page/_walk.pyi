from collections.abc import Callable

from lxml.etree import _Element

from contentspider.page.blocks import Block, PageBlocks

class Walker:
    def __init__(
        self,
        block: type[Block],
        tags: dict[str, str],
        marks: dict[str, str],
        *,
        code: str,
        bold: str,
        element_key: Callable[[str, str, str, str, str], str],
        hides: Callable[[str], bool],
        clean_preformatted: Callable[[str], str],
        max_value_chars: int,
        max_path_chars: int,
        max_path_depth: int,
    ) -> None: ...
    def walk(self, page: PageBlocks, start: _Element, head: _Element | None, max_blocks: int, attributes: bool) -> None: ...

def hint_elements(root: _Element) -> list[tuple[str, str, str]]: ...
