"""Rows of results as tables of other libraries, which are imported only for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from contentspider.ground.extras import MissingExtraError, require

if TYPE_CHECKING:
    from collections.abc import Sequence


def to_pandas(rows: Sequence[dict[str, Any]]) -> Any:
    """Return rows as a pandas DataFrame. Raises `MissingExtraError` without pandas."""
    try:
        from pandas import DataFrame
    except ModuleNotFoundError as error:  # no extra of ours has it, as users choose its version
        raise MissingExtraError("to_pandas() needs: pip install pandas") from error
    return DataFrame(rows)


def to_arrow(rows: Sequence[dict[str, Any]]) -> Any:
    """Return rows as a pyarrow Table. Raises `MissingExtraError` without pyarrow."""
    require("parquet", "to_arrow()")
    from pyarrow import Table

    return Table.from_pylist(list(rows))
