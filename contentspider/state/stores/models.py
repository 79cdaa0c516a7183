"""The store of site models on this machine: one folder for each site."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError, StateError
from contentspider.ground.sites import folder_name
from contentspider.site.models.folder import (
    KEPT_GENERATIONS,
    MANIFEST,
    ROLLBACK,
    Generations,
    read_model,
)

if TYPE_CHECKING:
    from pathlib import Path

    from contentspider.page.input.overrides import Overrides
    from contentspider.site.models.model import SiteModel

logger = logging.getLogger(__name__)


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
