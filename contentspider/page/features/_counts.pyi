from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from contentspider.page._block import Block

COUNTS: list[str]
HEAD_CHARS: int

def count_blocks(blocks: list[Block]) -> NDArray[np.float64]: ...
def hint_shares(
    blocks: list[Block], titles: Sequence[str], descriptions: Sequence[str]
) -> NDArray[np.float64]: ...
def inside(parents: list[int], element: int) -> NDArray[np.bool_]: ...
def sum_elements(
    parents: list[int], holders: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.float64]: ...
