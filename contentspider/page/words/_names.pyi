from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from contentspider.page.block._block import Block

class NameRows:
    width: int
    def __init__(
        self,
        leaves: Collection[str],
        ancestors: Collection[str],
        groups: int,
        groups_of: dict[str, list[int]],
        max_kept: int,
    ) -> None: ...
    def __len__(self) -> int: ...
    def fill(self, into: NDArray[np.float32], blocks: Sequence[Block]) -> None: ...

def name_groups(step: str, groups_of: dict[str, list[int]]) -> set[int]: ...
def step_tag(step: str) -> str: ...
