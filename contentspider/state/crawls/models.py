"""The models of a machine's crawls: in a folder, or in a store on an fsspec URL."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from contentspider.state.crawls.ledgers import state_folder
from contentspider.state.stores.models import ModelStore
from contentspider.state.stores.remote import is_url, open_objects
from contentspider.state.stores.shared_models import SharedModels

# Copies of what is in stores, a folder a store, in the folder of crawls' state.
COPIES = "shared"


def open_models(models: str, state_dir: str = "", keep: int = 0) -> ModelStore:
    """Return the models in a folder, or in a store on an fsspec URL, which is not asked yet.

    *keep* is how many generations are kept (0: the usual number); raises `RemoteError` if the store
    cannot be opened.
    """
    kept = {"keep": keep} if keep else {}
    if not is_url(models):
        return ModelStore(Path(models), **kept)
    copy = sha256(models.encode()).hexdigest()[:12]
    return SharedModels(open_objects(models), state_folder(state_dir) / COPIES / copy, **kept)
