"""The store of models: a folder a site."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from contentspider.errors import StateError
from contentspider.page.overrides import Overrides
from contentspider.site.folder import MANIFEST
from contentspider.site.model import SiteModel

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)


class ModelStore:
    """Models below *folder*: ``SITE/manifest.json`` and what it names
    (`contentspider.site.folder`).

    >>> from pathlib import Path
    >>> ModelStore(Path("nowhere")).load("example.org") is None
    True
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def sites(self) -> list[str]:
        """Return the sites that have a model."""
        return sorted(path.parent.name for path in self.folder.glob(f"*/{MANIFEST}"))

    def save(self, model: SiteModel) -> Path:
        """Save the model of its site in place of the one before, and return its folder."""
        return model.save(self.folder / model.site)

    def load(self, site: str) -> SiteModel | None:
        """Return the model of a site, None if there is none.

        One that cannot be used is set aside (its manifest renamed to ``manifest.json.broken``, if
        the folder can be written) with one warning, and None is returned: the site will be learned
        anew.
        """
        path = self.folder / site / MANIFEST
        try:
            return self.read(site)
        except FileNotFoundError:
            return None
        except StateError as error:
            aside = path.with_name(path.name + ".broken")
            try:
                path.replace(aside)
                done = f"it is set aside as {aside.name}"
            except OSError as refused:
                done = f"it cannot be set aside ({refused.strerror})"
            logger.warning("%s: %s; %s and the site is learned anew", path, error, done)
            return None

    def read(self, site: str) -> SiteModel:
        """Return the model of a site; raises FileNotFoundError if it has none, `StateError` if it
        cannot be read or is damaged.
        """
        return SiteModel.load(self.folder / site)

    def overrides(self, site: str) -> Overrides | None:
        """Return people's corrections of a site, None if there are none; raises `OverridesError`
        if they cannot be used.
        """
        return Overrides.load(self.folder / site)
