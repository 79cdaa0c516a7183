"""The settings of contentspider: one table, from which the defaults come and the docs are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from contentspider.site.featuresets import SLOTS
from contentspider.site.labels import LABEL_METHODS
from contentspider.site.options import LearningOptions, OptionError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


class Setting(NamedTuple):
    """A Scrapy setting: its name, its default, and what it does in one line."""

    name: str
    default: Any
    meaning: str


SETTINGS = (
    Setting(
        "CONTENTSPIDER_ENABLED",
        True,
        "False switches contentspider off without taking the add-on out.",
    ),
    Setting(
        "CONTENTSPIDER_MODELS_DIR", "models", "Folder of the sites' models, one folder a site."
    ),
    Setting(
        "CONTENTSPIDER_LEARN_PAGES",
        200,
        "Pages of a site that are held until its model is learned; a smaller site is learned at the"
        " end.",
    ),
    Setting(
        "CONTENTSPIDER_RELEARN",
        False,
        "True learns every site anew, whatever is in the models' folder.",
    ),
    Setting(
        "CONTENTSPIDER_LABELS",
        "votes",
        "How blocks are labelled: 'votes', 'paper' (Algorithm 1 to the letter), 'paper-local' or"
        " 'contrast' (variations of it).",
    ),
    Setting(
        "CONTENTSPIDER_FEATURES",
        ["slots"],
        "Feature sets that the site's SVM decides by (docs/experiments.md measures them).",
    ),
    Setting(
        "CONTENTSPIDER_KEEP_TEASERS",
        False,
        "True keeps the entries of listing pages (titles, teasers) in their content.",
    ),
    Setting(
        "CONTENTSPIDER_PRIOR_FILE",
        "",
        "A prior from 'contentspider train-prior' in place of the shipped one.",
    ),
    Setting(
        "CONTENTSPIDER_SITE_BY",
        "domain",
        "What a site is: 'domain' (the registered domain) or 'host' (each subdomain apart).",
    ),
    Setting(
        "CONTENTSPIDER_ITEM_FIELDS",
        {},
        "Item classes of yours and which of their fields take ours: {'my.Item': {'content':"
        " 'body'}}.",
    ),
    Setting(
        "CONTENTSPIDER_MAX_BLOCKS",
        20_000,
        "Blocks of a page that are read; what follows is left out and logged.",
    ),
    Setting(
        "CONTENTSPIDER_DURABLE",
        False,
        "True keeps every address and item in a ledger, so that a killed crawl can go on"
        " (docs/durability.md).",
    ),
    Setting(
        "CONTENTSPIDER_CRAWL",
        "",
        "Name of the crawl and of its ledger; empty is the spider's name.",
    ),
    Setting(
        "CONTENTSPIDER_RESUME",
        False,
        "True goes on with the crawl of that name if it was not finished.",
    ),
    Setting(
        "CONTENTSPIDER_KEEP_CRAWLS",
        3,
        "Ledgers of earlier crawls that are kept beside the current one.",
    ),
    Setting(
        "CONTENTSPIDER_OUTPUT_FILE",
        "",
        "File that items are written to as JSON lines; whole lines, each item once, whatever ends"
        " the crawl.",
    ),
    Setting(
        "CONTENTSPIDER_PROGRESS_SECS",
        10.0,
        "Seconds between progress lines in a log; a terminal's line is renewed each second. 0 is"
        " none.",
    ),
    Setting(
        "CONTENTSPIDER_MONITOR_MIN_KEPT",
        0.1,
        "Monitors: alarm if a smaller share of the text was kept.",
    ),
    Setting(
        "CONTENTSPIDER_MONITOR_MAX_LOW_CONFIDENCE",
        0.25,
        "Monitors: alarm if a larger share of the pages has low confidence, or was not filtered.",
    ),
    Setting(
        "CONTENTSPIDER_MONITOR_MAX_FAILED",
        0.1,
        "Monitors: alarm if a larger share of the pages could not be read or filtered.",
    ),
)


def learning_options(settings: BaseSettings) -> LearningOptions:
    """Return the settings of learning; raises `OptionError` for the first that cannot work, which
    says what would.
    """
    try:
        return LearningOptions(
            labels=settings.get("CONTENTSPIDER_LABELS", LABEL_METHODS[0]),
            features=settings.getlist("CONTENTSPIDER_FEATURES", [SLOTS]),
            keep_teasers=settings.getbool("CONTENTSPIDER_KEEP_TEASERS"),
            prior_file=settings.get("CONTENTSPIDER_PRIOR_FILE", ""),
        )
    except OptionError as error:
        raise error.renamed(f"CONTENTSPIDER_{error.option.upper()}") from error


DEFAULTS: dict[str, Any] = {setting.name: setting.default for setting in SETTINGS}
