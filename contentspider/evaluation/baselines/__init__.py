"""Published methods without a model of ours, behind one protocol, to be compared with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.evaluation.baselines.bte import BTE
from contentspider.evaluation.baselines.domfilters import DOMFilters
from contentspider.evaluation.baselines.infodiscoverer import InfoDiscoverer
from contentspider.evaluation.baselines.lbs import LBS
from contentspider.evaluation.baselines.mwo import MWO
from contentspider.evaluation.baselines.others import Trafilatura
from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.evaluation.baselines.protocol import Baseline

BASELINES: dict[str, Callable[[], Baseline]] = {
    "bte": BTE,
    "bte-2": lambda: BTE(tag_cost=2),
    "bte-plateaus": lambda: BTE(tag_cost=2, share=0.1),
    "dom-filters": DOMFilters,
    "infodiscoverer": InfoDiscoverer,
    "infodiscoverer-0.8": lambda: InfoDiscoverer(threshold=0.8),
    "infodiscoverer-parents": lambda: InfoDiscoverer(threshold=0.8, parents=True),
    "lbs": LBS,
    "mwo": MWO,
    "trafilatura": Trafilatura,
}


def new_baseline(name: str) -> Baseline:
    """Return a method by its name; an unknown one raises `ContentSpiderError`."""
    if name not in BASELINES:
        raise ContentSpiderError(
            f"there is no method {name!r} to compare with; there are {', '.join(BASELINES)}"
        )
    return BASELINES[name]()
