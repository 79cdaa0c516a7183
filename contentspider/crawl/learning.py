"""Learning in a process of its own, so that it takes neither the crawl's time nor its memory, nor
can end it.

The child reads the site's held pages from the ledger, and leaves the model in a folder; the parent
waits in a thread.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from contentspider.errors import ContentSpiderError, NotEnoughTextError
from contentspider.site.options import LearningOptions
from contentspider.storage.ledger import Ledger
from contentspider.storage.models import ModelStore

if TYPE_CHECKING:
    from contentspider.site.model import SiteModel

NOT_ENOUGH_TEXT = 3
# A site takes 2 to 3 seconds; a learner that hangs must not keep the crawl open for ever.
MAX_SECONDS = 900
ERROR_CHARS = 2_000


class LearningError(ContentSpiderError):
    """The learning process failed; the pipeline lets the site's items pass unfiltered."""


def learn_apart(ledger: Path, site: str, options: LearningOptions) -> SiteModel:
    """Return the model of a site whose pages *ledger* holds, learned by another process.

    Raises `NotEnoughTextError` or `LearningError`.
    """
    task = {"ledger": str(ledger), "site": site, "options": asdict(options)}
    package = str(Path(__file__).resolve().parent.parent.parent)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    }
    with TemporaryDirectory(prefix="contentspider-") as folder:
        done = subprocess.run(  # noqa: S603 - our own module
            [sys.executable, "-m", "contentspider.crawl.learning", folder],
            input=json.dumps(task).encode(),
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # Ctrl-C in the terminal is for the crawl, which ends in order
            check=False,
            timeout=MAX_SECONDS,
        )
        said = done.stderr.decode(errors="replace").strip()[-ERROR_CHARS:]
        if done.returncode == NOT_ENOUGH_TEXT:
            raise NotEnoughTextError(said)
        if done.returncode:
            # Of a traceback, the last line says what happened.
            raise LearningError(
                said.splitlines()[-1]
                if said
                else f"the learning process ended with {done.returncode}"
            )
        return ModelStore(Path(folder)).read(site)


def _end_with_parent(parent: int) -> None:
    """End this process when the crawl has been killed: nobody waits for the model, and the ledger
    is wanted.
    """
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main() -> int:
    """Learn the task on standard input and save the model in the folder that is the argument."""
    from contentspider.site.learner import SiteLearner

    logging.basicConfig(level=logging.WARNING)
    threading.Thread(target=_end_with_parent, args=[os.getppid()], daemon=True).start()
    task = json.load(sys.stdin)
    try:
        options = LearningOptions(**task["options"])
        ledger = Ledger(Path(task["ledger"]), read_only=True)
        model = SiteLearner(task["site"], options).fit(ledger.pages(task["site"]))
        ledger.close()
    except NotEnoughTextError as error:
        sys.stderr.write(str(error))
        return NOT_ENOUGH_TEXT
    except ContentSpiderError as error:
        sys.stderr.write(str(error))
        return 1
    ModelStore(Path(sys.argv[1])).save(model)
    return 0


if __name__ == "__main__":
    sys.exit(main())
