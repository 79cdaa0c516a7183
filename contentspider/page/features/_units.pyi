import numpy as np
from numpy.typing import NDArray

from contentspider.page.features.facts._facts import PageFacts

UNIT: list[str]

def fill_units(page: PageFacts, rows: NDArray[np.float32], column: int) -> None: ...
