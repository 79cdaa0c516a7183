"""Tells people what a run of many sites has found: by mail, chat or push, by Apprise (the extra
``notify``).
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.extras import require
from contentspider.run.report import due_words, to_look_at
from contentspider.run.results import outcome_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.run.mistakes import Mistakes
    from contentspider.run.results import SiteResult

logger = logging.getLogger(__name__)

ADVICE = (
    'give addresses of Apprise, such as "mailto://me@example.org", "ntfys://ntfy.sh/topic", or the'
    ' name of an environment variable with one: { env = "SLACK_URL" }'
)


class Notifier:
    """Sends messages to destinations. Each entry of *urls* is the URL of a destination, or
    ``{"env": NAME}``: the environment variable NAME has the URL. A URL that Apprise does not know
    is added to *mistakes*. Raises `ContentSpiderError` if *urls* is not a list, or if the extra is
    missing.
    """

    def __init__(self, urls: Any, mistakes: Mistakes) -> None:
        if not isinstance(urls, list):
            raise ContentSpiderError(f"it is not a list: {ADVICE}")
        if urls:
            require("notify", "notify = [...] in the file of sites")
        # Without its destination a message fails, and not the run.
        self._missing = [str(url["env"]) for url in urls if _is_missing(url)]
        self._services = []
        for number, url in enumerate(urls, 1):
            with mistakes.noted(f"notify, destination {number} ({_shown(url)}): "):
                if not _is_missing(url):
                    self._services.append(_service(url))

    def send(self, results: Sequence[SiteResult]) -> bool:
        """Send a message about the sites to look at and the sites that were redesigned, if there
        are any. Return whether it reached all destinations; the errors are logged.
        """
        bad = to_look_at(results)
        redesigned = [result for result in results if result.relearned and result not in bad]
        titles = [f"{len(bad)} of {counted(len(results), 'sites')} to look at"] if bad else []
        titles += [f"{len(redesigned)} redesigned"] if redesigned else []
        kind = "failure" if any(result.is_failed for result in bad) else "warning"
        lines = list(map(_line, [*bad, *redesigned]))
        return self._send(kind if bad else "info", ", ".join(titles), lines)

    def send_error(self, reason: str) -> None:
        """Send a message that no site was crawled for a *reason*."""
        self._send("failure", "no site was crawled", [reason])

    def _send(self, kind: str, title: str, lines: Sequence[str]) -> bool:
        is_sent = not self._missing
        for name in self._missing:
            logger.error("no message can be sent: the environment has no variable %s", name)
        for service in self._services if lines else ():
            message = {"body": "\n".join(lines), "title": f"contentspider: {title}"}
            # Without its format, mail would take the text for HTML, and join its lines.
            if not service.notify(**message, notify_type=kind, body_format="text"):
                logger.error("no message could be sent to %s", service[0].url(privacy=True))
                is_sent = False
        return is_sent


def _line(result: SiteResult) -> str:
    """Return a line of a message about a site."""
    texts = [outcome_words(result), *result.reasons, *result.warnings]
    if result.is_failed and (time := due_words(result.due)):
        texts.append(f"crawled again: {time}")
    if result.log:
        texts.append(f"log: {result.log}")
    return f"{result.site}: {'; '.join(texts)}"


def _is_missing(url: Any) -> bool:
    """Tell whether the environment lacks the variable of a destination."""
    return isinstance(url, dict) and list(url) == ["env"] and str(url["env"]) not in os.environ


def _shown(url: Any) -> str:
    """Return the name of a destination's variable, or its scheme: the rest may be a secret."""
    if isinstance(url, dict) and list(url) == ["env"]:
        return f'env = "{url["env"]}"'
    scheme, mark, _ = str(url).partition("://")
    return f"{scheme}://..." if mark and isinstance(url, str) else "..."


def _service(url: Any) -> Any:
    """Return the service of Apprise for a destination."""
    import apprise

    if isinstance(url, dict) and list(url) == ["env"]:
        url = os.environ[str(url["env"])]
    service = apprise.Apprise.instantiate(url) if isinstance(url, str) else None
    if service is None:
        raise ContentSpiderError(f"it is unknown: {ADVICE}")
    if service.overflow_mode == apprise.OverflowMode.UPSTREAM:
        service.overflow_mode = apprise.OverflowMode.SPLIT  # services refuse messages of many sites
    services = apprise.Apprise()
    services.add(service)
    return services
