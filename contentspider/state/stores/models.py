"""The stores of site models: one folder for each site, on this machine or shared at a URL."""

from __future__ import annotations

import logging
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.ground.atomic import write_atomically
from contentspider.ground.errors import ContentSpiderError, StateError
from contentspider.ground.sites import folder_name
from contentspider.site.models.folder import (
    GENERATIONS,
    KEPT_GENERATIONS,
    MANIFEST,
    ROLLBACK,
    Generations,
    read_model,
)
from contentspider.state.crawls.folder import state_folder
from contentspider.state.stores.remote import RemoteError, is_url, open_objects
from contentspider.state.stores.shared import SharedFiles

if TYPE_CHECKING:
    from contentspider.page.input.overrides import Overrides
    from contentspider.site.models.model import SiteModel
    from contentspider.state.stores.remote import Objects

logger = logging.getLogger(__name__)

COPIES = "shared"  # the folder in the state folder that has a copy of each store
POINTER = "model.json"
# The manifest of the present generation is replaced last: readers see the old or the new model.
PATTERNS = (f"{GENERATIONS}/[0-9]*/*.json*", MANIFEST)


class ModelStore:
    """The site models below *folder* (``SITE/manifest.json`` and weights), each with its last
    *keep* generations.

    >>> from pathlib import Path
    >>> ModelStore(Path("nowhere")).load("example.org") is None
    True
    """

    def __init__(self, folder: Path, keep: int = KEPT_GENERATIONS) -> None:
        self.folder = folder
        self.keep = keep

    def sites(self) -> list[str]:
        """Return the sites that have a model."""
        return sorted(path.parent.name for path in self.folder.glob(f"*/{MANIFEST}"))

    def place(self, site: str) -> Path:
        """Return the folder of a site's model."""
        return self.folder / folder_name(site)

    def generations(self, site: str) -> Generations:
        """Return the generations of a site's model."""
        return Generations(self.place(site))

    def save(self, model: SiteModel, reason: str = "") -> Path:
        """Save a model as the present generation, with its *reason*, and return its folder."""
        generations = self.generations(model.site)
        generations.add(model.manifest(), model.dump_weights(), reason, self.keep)
        return generations.folder

    def load(self, site: str) -> SiteModel | None:
        """Return a site's model, or None; a model that cannot be used is renamed."""
        path = self.place(site) / MANIFEST
        try:
            return self.read(site)
        except FileNotFoundError:
            return None
        except StateError as error:
            aside = path.with_name(path.name + ".broken")
            try:
                path.replace(aside)
                done = f"it is renamed to {aside.name}"
            except OSError as refused:
                done = f"it cannot be renamed ({refused.strerror})"
            logger.warning("%s: %s; %s, and the site is learned again", path, error, done)
            return None

    def read(self, site: str, generation: int = 0) -> SiteModel:
        """Return a *generation* (0: the present one); raises FileNotFoundError or `StateError`."""
        from contentspider.site.models.model import SiteModel  # a list of sites needs no numpy

        generations = self.generations(site)
        return SiteModel.load(generations.path(generation) if generation else generations.folder)

    def rollback(self, site: str, generation: int = 0) -> int:
        """Save an earlier *generation* (0: the last but one) as a new one; return its number."""
        from contentspider.site.models.model import SiteModel

        generations = self.generations(site)
        number = generation or generations.before()
        if not number:
            raise ContentSpiderError(self.missing(site, "before its present one"))
        try:
            manifest, weights = read_model(generations.path(number))
            SiteModel.parse(manifest, weights)
        except FileNotFoundError as error:
            raise ContentSpiderError(self.missing(site, number)) from error
        except StateError as error:
            raise StateError(f"generation {number} of {site}: {error}") from error
        origin = manifest.get("rolled_back_to")
        origin = origin if isinstance(origin, int) else number
        return generations.add(manifest, weights, ROLLBACK, self.keep, origin)

    def missing(self, site: str, generation: int | str) -> str:
        """Return the message for a missing generation."""
        numbers = ", ".join(map(str, self.generations(site).numbers())) or "none"
        return f"{site} has no generation {generation}; its generations are: {numbers}"

    def overrides(self, site: str) -> Overrides | None:
        """Return people's overrides of a site, or None; raises `OverridesError`."""
        from contentspider.page.input.overrides import Overrides

        return Overrides.load(self.place(site))


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
