import numpy as np
from numpy.typing import NDArray

from contentspider.page.features.facts._facts import PageFacts

POSITION: list[str]
PAGE: list[str]

def fill_positions(page: PageFacts, rows: NDArray[np.float32], column: int) -> None: ...
def fill_page(page: PageFacts, rows: NDArray[np.float32], column: int) -> None: ...
