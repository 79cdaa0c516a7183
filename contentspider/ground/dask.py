"""Connects to a Dask cluster (the extra ``dask``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.extras import require

if TYPE_CHECKING:
    from distributed import Client

SCHEME = "dask://"


def connect(engine: str, seconds: float = 10) -> Client:
    """Return a client of the scheduler that *engine* names, ``dask://HOST:PORT``. Raises
    `ContentSpiderError` if the scheduler does not answer within *seconds*.
    """
    require("dask", f"--engine {engine}")
    from distributed import Client

    new_client: Any = Client
    try:
        client: Client = new_client(engine.replace(SCHEME, "tcp://"), timeout=seconds)
    except OSError as error:
        raise ContentSpiderError(f"{engine}: no Dask scheduler answers ({error})") from error
    return client
