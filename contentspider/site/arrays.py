"""Type aliases of NumPy arrays; most of these arrays have one entry per block."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.floating[Any]]
Ints: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.number[Any]]
