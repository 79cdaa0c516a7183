from collections.abc import Callable

class Paths:
    def __init__(
        self,
        *,
        element_key: Callable[[str, str, str, str, str], str],
        max_chars: int,
        max_depth: int,
    ) -> None: ...
