import re

import numpy as np
from numpy.typing import NDArray

from contentspider.page.features.facts._facts import PageFacts

DATE: re.Pattern[str]
PRICE: re.Pattern[str]
TEXT: list[str]

def fill_texts(page: PageFacts, rows: NDArray[np.float32], column: int) -> None: ...
