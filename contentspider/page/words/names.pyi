from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from contentspider.page.tree._block import Block

ANCESTOR_TAGS: list[str]
HEADINGS: dict[str, int]
LEAF_TAGS: list[str]
NAME_GROUPS: list[str]
NEARNESS: tuple[str, ...]
PATH_FEATURES: list[str]

def name_groups(step: str) -> set[int]: ...
def step_tag(step: str) -> str: ...

class NameRows:
    def __init__(self, max_kept: int = 20_000) -> None: ...
    def __len__(self) -> int: ...
    def fill(self, into: NDArray[np.float32], blocks: Sequence[Block]) -> None: ...
