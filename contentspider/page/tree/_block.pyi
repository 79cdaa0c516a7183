from typing import Final

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
    cell: Final[int]
    images: Final[tuple[tuple[int, str, str, int, int], ...]]
    language: Final[str]
    anchor: Final[str]
    note: Final[str]
    number: Final[int]
    within: Final[tuple[tuple[str, int], ...]]
    colspan: Final[int]
    rowspan: Final[int]
    films: Final[tuple[tuple[int, str, str], ...]]
    table: Final[int]
    outer: Final[tuple[tuple[int, int, int, int, int], ...]]
    numbering: Final[str]
    begins_list: Final[bool]
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
        cell: int = 0,
        images: tuple[tuple[int, str, str, int, int], ...] = (),
        language: str = "",
        anchor: str = "",
        note: str = "",
        number: int = -1_000_000_000,
        within: tuple[tuple[str, int], ...] = (),
        colspan: int = 1,
        rowspan: int = 1,
        films: tuple[tuple[int, str, str], ...] = (),
        table: int = 0,
        outer: tuple[tuple[int, int, int, int, int], ...] = (),
        numbering: str = "",
        begins_list: bool = False,
    ) -> None: ...
