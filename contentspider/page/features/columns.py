"""Groups of features: names, and how each is worked out of what is known of a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Facts = TypeVar("Facts")
Floats: TypeAlias = "NDArray[np.float32]"
# A value for each block of a page (each element, for a group of these), or one for all of them.
Column: TypeAlias = "NDArray[Any] | Sequence[float] | float"
Group: TypeAlias = Mapping[str, Callable[[Facts], Column]]


def fill(rows: Floats, group: Group[Facts], facts: Facts) -> None:
    """Write the features of a *group* into *rows*, which have one column a feature."""
    for column, value in enumerate(group.values()):
        rows[:, column] = value(facts)
