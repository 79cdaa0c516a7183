"""Who may learn a site: the process itself, or one of several that share a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contentspider.site.models.model import SiteModel


class LearningTurns(Protocol):
    """Gives the turn to learn a site to one process of a crawl at a time."""

    async def take(self, site: str) -> bool:
        """Try to get the turn to learn a site. False if another process has it."""

    async def wait(self) -> None:
        """Wait until another process may have ended its turn or shared its model."""

    async def end(self, site: str) -> None:
        """Give up the turn to learn a site."""

    def share(self, site: str, model: SiteModel | None) -> None:
        """Give a learned model to the other processes; None if the site cannot be learned."""


class OnlyProcess:
    """The turns of a crawl with one process, which always has them."""

    async def take(self, site: str) -> bool:
        """Return True, because no other process can have the turn."""
        return True

    async def wait(self) -> None:
        """See `LearningTurns.wait`: there is nothing to wait for."""
        raise AssertionError("no other process has a turn")

    async def end(self, site: str) -> None:
        """Do nothing."""

    def share(self, site: str, model: SiteModel | None) -> None:
        """Do nothing."""
