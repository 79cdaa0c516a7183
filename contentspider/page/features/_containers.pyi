import numpy as np
from numpy.typing import NDArray

from contentspider.page.features.facts._facts import PageFacts

LEVELS: tuple[int, ...]
LANDMARKS: tuple[str, ...]
ELEMENT: list[str]
TRUNK: list[str]
LANDMARK: list[str]

def fill_levels(page: PageFacts, rows: NDArray[np.float32], column: int) -> None: ...
def fill_trunk(page: PageFacts, rows: NDArray[np.float32], column: int) -> None: ...
def fill_landmarks(page: PageFacts, rows: NDArray[np.float32], column: int, tag: str) -> None: ...
