import re
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet

class Phrases:
    kinds: int
    def __init__(
        self,
        kinds: Iterable[tuple[Callable[[str], re.Match[str] | None], AbstractSet[str], bool, bool]],
    ) -> None: ...
    def said(self, text: str) -> int: ...
