from collections.abc import Callable
from typing import Final

from lxml.etree import _Element

from contentspider.page.blocks import PageBlocks

class Block:
    text: Final[str]
    path: Final[str]
    tag: Final[str]
    container: Final[int]
    link_chars: Final[int]
    links: Final[int]
    bold_chars: Final[int]
    row: Final[int]
    item: Final[int]
    spans: Final[tuple[tuple[int, int, str], ...]]
    def __init__(
        self,
        text: str,
        path: str,
        tag: str,
        container: int,
        link_chars: int = 0,
        links: int = 0,
        bold_chars: int = 0,
        row: int = 0,
        item: int = 0,
        spans: tuple[tuple[int, int, str], ...] = (),
    ) -> None: ...

class Walker:
    def __init__(
        self,
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
    def walk(
        self,
        page: PageBlocks,
        start: _Element,
        head: _Element | None,
        max_blocks: int,
        attributes: bool,
    ) -> None: ...
