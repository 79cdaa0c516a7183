"""Publishes the results of a site: its models, outputs and search indexes.

The state is in the store before, and the results follow from it. So each holder of the site's lease
can publish them, also after the machine that crawled the site was lost, and publishing twice does
no harm.
"""

from __future__ import annotations

import logging
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.sites import SiteKeys
from contentspider.index.errors import EngineError, redacted_url
from contentspider.index.operations import sync
from contentspider.state.crawls.export import export_items
from contentspider.state.files.formats import Output
from contentspider.state.outcome import Outcome
from contentspider.state.stores.lease import LeaseLostError
from contentspider.state.stores.models import ModelStore, SharedModels
from contentspider.state.stores.remote import RemoteError, is_url, open_objects

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from contentspider.run.results import SiteResult
    from contentspider.state.outcome import Ending
    from contentspider.state.stores.site_state import SiteState

logger = logging.getLogger(__name__)

ATTEMPTS = 3  # at a step that fails although the store answers


class Publisher:
    """Publishes the *state* of a site whose crawl has *options*, in the store at *url*. *check* is
    called before each step, and raises an error if the lease of the site is lost.
    """

    def __init__(
        self, url: str, state: SiteState, options: Mapping[str, Any], check: Callable[[], None]
    ) -> None:
        self._url, self._state, self._options, self._check = url, state, options, check

    def pull_models(self) -> None:
        """Download the models of the start sites, and of the sites that earlier crawls read."""
        by = dict(self._options["set"]).get("CONTENTSPIDER_SITE_BY", "domain")
        starts = map(SiteKeys(by).key, self._options["url"])
        models = self._models()
        for site in {*starts, *ModelStore(self._state.models).sites()}:
            models.generations(site)

    def publish(self, result: SiteResult, ending: Ending | None) -> SiteResult:
        """Publish the changes of the crawl with this *result* and *ending*. Return the result, with
        all failures. Raises `LeaseLostError`, and `RemoteError` if the store does not answer.
        """
        result = self._attempt(result, Outcome.INCOMPLETE, self._send_models)
        if ending is None or not self._state.book.is_file():
            return result
        for output in self._options["output"]:
            result = self._attempt(result, Outcome.OUTPUT_FAILED, self._write, output, ending)
        if ending.is_end and self._state.book.is_file():
            for url in self._options.get("index") or ():
                result = self._attempt(result, Outcome.INDEX_BEHIND, self._index, url)
        return result

    def _attempt(
        self, result: SiteResult, problem: Outcome, step: Callable[..., None], *arguments: Any
    ) -> SiteResult:
        self._check()
        for attempt in range(ATTEMPTS):
            try:
                step(*arguments)
                break
            except LeaseLostError:
                raise
            except ContentSpiderError as error:
                self._check()  # raises the error of a store that does not answer at all
                if attempt == ATTEMPTS - 1 or not isinstance(error, RemoteError):
                    logger.error("%s: %s", result.site, error)
                    return _with_problem(result, problem, str(error))
        return result

    def _models(self) -> SharedModels:
        return SharedModels(open_objects(f"{self._url}/models"), self._state.models)

    def _send_models(self) -> None:
        for error in self._models().send_all():
            raise error

    def _write(self, output: str, ending: Ending) -> None:
        """Write the items to an output, if the crawl may replace it."""
        page_kind = self._options.get("format") or "md"
        if not is_url(output):
            file = Output.parse(output, page_kind)
            if self._may_replace(output, file.path.exists(), ending):
                export_items(self._state.book, [file])
            return
        url, _, name = output.rpartition("/")
        objects = open_objects(url)
        mark = objects.mark(name)
        if not self._may_replace(output, bool(mark), ending):
            return
        with tempfile.TemporaryDirectory(dir=self._state.book.parent, prefix=".out-") as folder:
            file = Output.parse(str(Path(folder, name)), page_kind)
            export_items(self._state.book, [file])
            if file.path.exists():  # a crawl without items writes none
                self._check()
                objects.replace(name, file.path, mark)

    @staticmethod
    def _may_replace(output: str, is_there: bool, ending: Ending) -> bool:
        may = ending.may_replace(is_there)
        if is_there and not may:
            logger.warning("%s is left unchanged: the crawl ended (%s)", output, ending.word)
        return may

    def _index(self, url: str) -> None:
        def check(_done: int, _total: int) -> None:
            self._check()

        force, take_over = (bool(self._options.get(name)) for name in ("force", "take_over"))
        report = sync(self._state.book, url, force, take_over, check)
        logger.info("%s: %s", redacted_url(url), report)
        if report.refused:
            raise EngineError(
                f"{redacted_url(url)} refused {counted(len(report.refused), 'documents')}"
            )


def _with_problem(result: SiteResult, problem: Outcome, reason: str) -> SiteResult:
    """Return a result with a problem that came after a complete crawl."""
    if result.outcome == Outcome.COMPLETE.name.lower():
        result = replace(result, outcome=problem.name.lower(), exit_code=int(problem))
    return replace(result, reasons=(*result.reasons, reason))
