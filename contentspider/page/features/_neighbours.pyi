from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from contentspider.page.features.facts._facts import PageFacts

OFFSETS: tuple[int, ...]
OFFSET: list[str]
WINDOW: list[str]
HINT: list[str]

def fill_offsets(page: PageFacts, rows: NDArray[np.float32], column: int) -> None: ...
def fill_windows(page: PageFacts, rows: NDArray[np.float32], column: int) -> None: ...
def fill_hints(
    page: PageFacts,
    titles: Sequence[str],
    descriptions: Sequence[str],
    rows: NDArray[np.float32],
    column: int,
) -> None: ...
