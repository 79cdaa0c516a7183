import numpy as np
from numpy.typing import NDArray

class Forest:
    def __init__(
        self,
        roots: NDArray[np.int32],
        feature: NDArray[np.int16],
        threshold: NDArray[np.float32],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        value: NDArray[np.float32],
    ) -> None: ...
    def add_values(self, rows: NDArray[np.float32], sums: NDArray[np.float64]) -> None: ...
