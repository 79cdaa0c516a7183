"""What the settings of a crawl say, in its own types."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from contentspider.crawl.hold.items import FieldMap
from contentspider.crawl.settings.kinds import SettingError
from contentspider.crawl.settings.table import DEFAULTS, PREFIX, SETTINGS
from contentspider.site.learn.options import LearningOptions, OptionError
from contentspider.state.stores.remote import RemoteError, check_url, is_url

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings
    from typing_extensions import Self


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """What the settings of a crawl say, each in its type and checked; docs/settings.md says what
    each means.
    """

    enabled: bool
    models_dir: str
    learn_pages: int
    min_quality: float
    learn_secs: float
    relearn: bool
    keep_models: int
    learning: LearningOptions
    site_by: str
    own_texts: int
    item_fields: FieldMap
    passages: int
    max_blocks: int
    durable: bool
    crawl: str
    resume: bool
    keep_crawls: int
    state_dir: str
    history: bool
    history_url: str
    history_mb: int
    conditional: bool
    only: str
    due: bool
    mean_interval: float
    max_interval: float
    min_interval: float
    missing_crawls: int
    max_error_share: float
    max_gone_share: float
    force: bool
    index: list[str]
    index_secs: float
    output_file: str
    warc_file: str
    outage_secs: float
    progress_secs: float

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """Return the options of a crawl with these *settings*.

        Raises `SettingError`, which names the first setting that cannot work or that contentspider
        does not have.
        """
        values = {
            setting.name.removeprefix(PREFIX).lower(): setting.parse(settings)
            for setting in SETTINGS
        }
        for name in settings:
            if name.startswith(PREFIX) and name not in DEFAULTS:
                near = get_close_matches(name, DEFAULTS, 1, cutoff=0)[0]
                raise SettingError(f"contentspider has no setting {name}; did you mean {near}?")
        if values["min_interval"] > values["max_interval"]:
            raise SettingError(
                f"CONTENTSPIDER_MIN_INTERVAL={values['min_interval']:g} cannot be used: give no"
                f" more than CONTENTSPIDER_MAX_INTERVAL={values['max_interval']:g}"
            )
        if values["due"] and not (values["durable"] and values["history"]):
            raise SettingError(
                "CONTENTSPIDER_DUE=True cannot be used: which pages are due is in the history,"
                " which needs CONTENTSPIDER_DURABLE=True and CONTENTSPIDER_HISTORY=True"
            )
        if values["index"] and not (values["durable"] and values["history"]):
            raise SettingError(
                "CONTENTSPIDER_INDEX cannot be used: what changed comes from the history, which"
                " needs CONTENTSPIDER_DURABLE=True and CONTENTSPIDER_HISTORY=True"
            )
        _check_stores(values)
        wanted = any("spidermon" in str(name) for name in settings.getdict("EXTENSIONS"))
        if wanted and find_spec("spidermon") is None:
            raise SettingError(
                "EXTENSIONS names Spidermon, which is not installed: pip install"
                " 'contentspider[monitors]', or leave it out"
            )
        try:
            learning = LearningOptions(
                labels=values["labels"],
                features=values["features"],
                classifier=values["classifier"],
                keep_teasers=values["keep_teasers"],
                prior_file=values["prior_file"],
            )
            item_fields = FieldMap(values["item_fields"])
        except OptionError as error:
            raise SettingError(str(error.renamed(PREFIX + error.option.upper()))) from error
        except (ValueError, TypeError) as error:
            raise SettingError(str(error)) from error
        own = {name: values[name] for name in cls.__dataclass_fields__ if name in values}
        own |= {"learning": learning, "item_fields": item_fields}
        return cls(**own)


def _check_stores(values: dict[str, Any]) -> None:
    """Raise `SettingError` if what machines share cannot be where the settings say."""
    try:
        for name in ("models_dir", "history_url"):
            if is_url(values[name]):
                check_url(values[name])
    except RemoteError as error:
        raise SettingError(f"{PREFIX}{name.upper()}: {error}") from error
    history = values["history_url"]
    if history and not is_url(history):
        raise SettingError(
            f"CONTENTSPIDER_HISTORY_URL={history!r} cannot be used: give a URL such as"
            " 's3://bucket/histories', or 'file:///folder'"
        )
    if history and not (values["durable"] and values["history"]):
        raise SettingError(
            "CONTENTSPIDER_HISTORY_URL cannot be used: there is a history only with"
            " CONTENTSPIDER_DURABLE=True and CONTENTSPIDER_HISTORY=True"
        )
