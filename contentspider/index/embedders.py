"""Embedders turn texts into vectors. Texts with similar meanings get similar vectors.

The user names an embedder in the environment. An index records the name of its embedder only to
compare it: no index can choose the module that is loaded, or the server that gets queries.
"""

from __future__ import annotations

import os
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from contentspider.ground.addresses import is_web_address
from contentspider.index.errors import EmbedderError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

EMBEDDER = "CONTENTSPIDER_EMBEDDER"


class Embedder(Protocol):
    """Turns texts into vectors."""

    def embed(self, texts: list[str]) -> ArrayLike:
        """Return an array of float32 with a row for each text. All rows have one length."""
        ...


@dataclass(frozen=True, slots=True)
class NamedEmbedder:
    """An *embedder*, and the *name* that an index records of it."""

    name: str
    embedder: Embedder


def chosen_embedder() -> NamedEmbedder | None:
    """Return the embedder that the environment names, or None if it names none.

    ``CONTENTSPIDER_EMBEDDER`` is ``MODULE:OBJECT``, or the address of an endpoint. Raises
    `EmbedderError` if it cannot be used.
    """
    place = os.environ.get(EMBEDDER, "").strip()
    if not place:
        return None
    if is_web_address(place):
        from contentspider.index.embedding_endpoint import Endpoint  # most searches need no HTTP

        endpoint = Endpoint.from_environment(place)
        return NamedEmbedder(endpoint.model, endpoint)
    if "://" in place:  # not shown, since it may have a password in it
        raise EmbedderError(f"{EMBEDDER} is not a valid address: write https://HOST/PATH")
    if not all(place.partition(":")):
        raise EmbedderError(f"{EMBEDDER}={place!r}: write MODULE:OBJECT, or an address (https://…)")
    try:
        embedder = pkgutil.resolve_name(place)
    except Exception as error:  # the module is the user's, and may fail in any way
        raise EmbedderError(
            f"{EMBEDDER}={place!r} cannot be loaded ({type(error).__name__}: {error}). Python looks"
            " for modules in the folders of PYTHONPATH"
        ) from error
    if isinstance(embedder, type) or not callable(getattr(embedder, "embed", None)):
        raise EmbedderError(f"{EMBEDDER}={place!r} is not an object with a method embed(texts)")
    return NamedEmbedder(place, embedder)
