from collections.abc import Callable

from lxml.etree import _Element

from contentspider.page.blocks import PageBlocks

class Block:
    @property
    def text(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def tag(self) -> str: ...
    @property
    def container(self) -> int: ...
    @property
    def link_chars(self) -> int: ...
    @property
    def links(self) -> int: ...
    @property
    def bold_chars(self) -> int: ...
    @property
    def row(self) -> int: ...
    @property
    def item(self) -> int: ...
    @property
    def spans(self) -> tuple[tuple[int, int, str], ...]: ...
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
    def walk(self, page: PageBlocks, start: _Element, head: _Element | None, max_blocks: int, attributes: bool) -> None: ...

def hint_elements(root: _Element) -> list[tuple[str, str, str]]: ...
