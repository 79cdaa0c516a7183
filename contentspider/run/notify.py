"""Tells people what a run of many sites has found: by mail, chat or push, by Apprise (the extra
``notify``).
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.extras import require
from contentspider.run.report import to_look_at
from contentspider.run.results import outcome_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.run.results import SiteResult

logger = logging.getLogger(__name__)

ADVICE = (
    'give addresses of Apprise, such as "mailto://me@example.org", "ntfys://ntfy.sh/topic", or the'
    ' name of an environment variable with one: { env = "SLACK_URL" }'
)


class Notifier:
    """Sends a message to each of the destinations *urls*: texts, or ``{"env": NAME}`` for one that
    is in the environment. Raises `ContentSpiderError` for one that cannot be used.
    """

    def __init__(self, urls: Any) -> None:
        if not isinstance(urls, list):
            raise ContentSpiderError(f"it is not a list: {ADVICE}")
        if urls:
            require("notify", "notify = [...] in the file of sites")
        self._services = [_service(url) for url in urls]

    def send(self, results: Sequence[SiteResult]) -> bool:
        """Send a message about the sites to look at, if there are any. Return whether it reached
        all destinations; the errors are logged.
        """
        shown = to_look_at(results)
        if not shown:
            return True
        title = f"contentspider: {len(shown)} of {len(results)} sites to look at"
        body = "\n".join(
            f"{result.site}: {outcome_words(result)}"
            + "".join(f"; {text}" for text in (*result.reasons, *result.warnings))
            for result in shown
        )
        is_sent = True
        for service in self._services:
            if not service.notify(body=body, title=title):
                logger.error("no message could be sent to %s", service.url(privacy=True))
                is_sent = False
        return is_sent


def _service(url: Any) -> Any:
    """Return the service of Apprise for a destination."""
    import apprise

    if isinstance(url, dict) and list(url) == ["env"]:
        name, url = url["env"], os.environ.get(str(url["env"]))
        if url is None:
            raise ContentSpiderError(f"the environment has no variable {name}")
    service = apprise.Apprise.instantiate(url) if isinstance(url, str) else None
    if service is None:  # the address itself may be a secret
        raise ContentSpiderError(f"one of them is unknown: {ADVICE}")
    if service.overflow_mode == apprise.OverflowMode.UPSTREAM:
        service.overflow_mode = apprise.OverflowMode.SPLIT  # services refuse messages of many sites
    return service
