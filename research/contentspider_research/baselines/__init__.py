"""Published methods without a model of ours, behind one protocol, to be compared with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider_research.baselines.bte import BTE
from contentspider_research.baselines.domfilters import DOMFilters
from contentspider_research.baselines.infodiscoverer import InfoDiscoverer
from contentspider_research.baselines.lbs import LBS
from contentspider_research.baselines.mwo import MWO
from contentspider_research.baselines.others import ChromeRAG, Trafilatura

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider_research.baselines.protocol import Baseline

BASELINES: dict[str, Callable[[], Baseline]] = {
    "bte": BTE,
    "bte-2": lambda: BTE(tag_cost=2),
    "bte-plateaus": lambda: BTE(tag_cost=2, share=0.1),
    "chromerag": ChromeRAG,
    "dom-filters": DOMFilters,
    "infodiscoverer": InfoDiscoverer,
    "infodiscoverer-0.8": lambda: InfoDiscoverer(threshold=0.8),
    "infodiscoverer-parents": lambda: InfoDiscoverer(threshold=0.8, parents=True),
    "lbs": LBS,
    "mwo": MWO,
    "trafilatura": Trafilatura,
}
# Other software, which may be missing; its methods are named as its packages.
SOFTWARE = frozenset(["chromerag", "trafilatura"])


def new_baseline(name: str) -> Baseline:
    """Return a method by its name; an unknown one raises `ContentSpiderError`."""
    if name not in BASELINES:
        raise ContentSpiderError(
            f"there is no method {name!r} to compare with; there are {', '.join(BASELINES)}"
        )
    return BASELINES[name]()
