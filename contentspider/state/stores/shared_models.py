"""The store of site models that several machines share: at an fsspec URL, with a local copy."""

from __future__ import annotations

import logging
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.ground.atomic import write_atomically
from contentspider.site.models.folder import GENERATIONS, MANIFEST
from contentspider.state.crawls.folder import state_folder
from contentspider.state.stores.models import ModelStore
from contentspider.state.stores.remote import RemoteError, is_url, open_objects
from contentspider.state.stores.shared import SharedFiles

if TYPE_CHECKING:
    from contentspider.page.input.overrides import Overrides
    from contentspider.site.models.folder import Generations
    from contentspider.site.models.model import SiteModel
    from contentspider.state.stores.remote import Objects

logger = logging.getLogger(__name__)

COPIES = "shared"  # the folder in the state folder that has a copy of each store
POINTER = "model.json"
# The manifest of the present generation is replaced last: readers see the old or the new model.
PATTERNS = (f"{GENERATIONS}/[0-9]*/*.json", MANIFEST)


def open_models(models: str, state_dir: str = "") -> ModelStore:
    """Return the store of models in a folder or at a URL; raises `RemoteError`."""
    if not is_url(models):
        return ModelStore(Path(models))
    copy = sha256(models.encode()).hexdigest()[:12]
    return SharedModels(open_objects(models), state_folder(state_dir) / COPIES / copy)


class SharedModels(ModelStore):
    """Models in a store, copied to *folder* when they are first used; `send` uploads saved ones."""

    def __init__(self, objects: Objects, folder: Path) -> None:
        super().__init__(folder)
        self.objects = objects
        self._local = ModelStore(folder)
        self._pulled: dict[str, RemoteError | None] = {}

    def sites(self) -> list[str]:
        """Return the sites that have a model in the store; raises `RemoteError`."""
        return self.objects.folders_with(POINTER)

    def generations(self, site: str) -> Generations:
        """Return the generations of a site's model; raises `RemoteError`."""
        self._pull(site)
        return self._local.generations(site)

    def load(self, site: str) -> SiteModel | None:
        """Return a site's model or None; if the store fails, from this machine's copy."""
        try:
            self._pull(site)
        except RemoteError as error:
            logger.error("%s; %s is filtered with this machine's copy of its model", error, site)
        return self._local.load(site)

    def overrides(self, site: str) -> Overrides | None:
        """Return people's overrides of a site from the store."""
        self._pull(site)
        return super().overrides(site)

    def save(self, model: SiteModel, reason: str = "") -> Path:
        """Save a model in the local copy; `send` uploads it."""
        with suppress(RemoteError):  # `send` reports it
            self._pull(model.site)
        self._shared(model.site).begin_change()
        return self._local.save(model, reason)

    def rollback(self, site: str, generation: int = 0) -> int:
        """Make an earlier generation the present one in the local copy; `send` uploads it."""
        self._pull(site)
        self._shared(site).begin_change()
        return super().rollback(site, generation)

    def send_all(self) -> list[RemoteError]:
        """Upload the models that another process saved in the local copy, as `send` does."""
        for site in self._local.sites():
            shared = self._shared(site)
            if shared.is_changed(shared.files()):
                shared.begin_change()
            with suppress(RemoteError):  # `send` reports it
                self._pull(site)
        return self.send()

    def send(self) -> list[RemoteError]:
        """Upload the saved models. Return the errors; the next run sends their models again."""
        return [error for site in self._pulled if (error := self._send(site))]

    def _send(self, site: str) -> RemoteError | None:
        try:
            shared = self._shared(site)
            with self._local.generations(site).lock():
                if shared.is_unsent and self._pulled[site]:
                    return self._pulled[site]
                shared.push(shared.files())
        except RemoteError as error:
            return error
        except OSError as error:
            return RemoteError(f"{self.folder / site} cannot be read: {error}")
        return None

    def _shared(self, site: str) -> SharedFiles:
        place = self.place(site)
        return SharedFiles(self.objects, f"{place.name}/{POINTER}", place, PATTERNS)

    def _pull(self, site: str) -> None:
        """Download a site's model once: a crawl ends with the model that it began with."""
        if site not in self._pulled:
            self._pulled[site] = None
            try:
                with self._local.generations(site).lock():
                    shared = self._shared(site)
                    shared.pull()
                    shared.push(shared.files())  # files that an earlier run did not send
                    self._pull_overrides(site)
            except RemoteError as error:
                self._pulled[site] = error
            except OSError as error:
                text = f"{self.folder / site} cannot be written: {error}"
                self._pulled[site] = RemoteError(text)
        if failed_before := self._pulled[site]:
            raise failed_before

    def _pull_overrides(self, site: str) -> None:
        from contentspider.page.input.overrides import OVERRIDES  # loads lxml

        path = self.place(site) / OVERRIDES
        overrides = self.objects.read(f"{path.parent.name}/{OVERRIDES}")
        if overrides is None:
            path.unlink(missing_ok=True)
        else:
            write_atomically(path, overrides[0])
