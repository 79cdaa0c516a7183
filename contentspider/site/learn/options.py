"""The options of learning and filtering a site, for Python, the command line and crawls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider.site.judge.classifier import CLASSIFIERS
from contentspider.site.judge.featuresets import SLOTS, needs_attributes, parse_feature_sets
from contentspider.site.vote.labels import LABELS, VOTES

if TYPE_CHECKING:
    from collections.abc import Sequence


class OptionError(ContentSpiderError, ValueError):
    """An *option* of `LearningOptions` has an invalid value; the message says which are valid."""

    def __init__(self, option: str, value: object, advice: str) -> None:
        super().__init__(f"{option}={value!r} {advice}")
        self.option = option
        self.value = value
        self.advice = advice

    def renamed(self, name: str) -> OptionError:
        """Return the same error with the *name* of the option that the user gave.

        >>> str(OptionError("labels", "x", "is unknown").renamed("--labels"))
        "--labels='x' is unknown"
        """
        return OptionError(name, self.value, self.advice)


@dataclass(frozen=True, slots=True)
class LearningOptions:
    """How a site is learned and its pages are filtered; invalid values raise `OptionError`.

    *labels* is how blocks are labelled (`contentspider.site.vote.labels`). *features* are the sets
    (`contentspider.site.judge.featuresets`) that the *classifier*
    (`contentspider.site.judge.classifier`) decides by, in a list or with commas between them.
    *keep_teasers* keeps the entries of listing pages. *prior_file* is a file from
    ``contentspider-research train-prior`` that judges in place of the shipped prior. If it is to
    *obey_directives*, what a site's owner says is not to be indexed is left out of its pages.

    A record of it (`dataclasses.asdict`) is made of JSON values, and gives the options back:

    >>> from dataclasses import asdict
    >>> options = LearningOptions(labels="paper", features=["slots", "tags"])
    >>> LearningOptions(**asdict(options)) == options
    True
    >>> LearningOptions(labels="best")
    Traceback (most recent call last):
    contentspider.site.learn.options.OptionError: labels='best' is unknown; use one of 'votes', ...
    """

    labels: str = VOTES
    features: Sequence[str] = (SLOTS,)
    classifier: str = "svm"
    keep_teasers: bool = False
    prior_file: str = ""
    obey_directives: bool = True

    def __post_init__(self) -> None:
        for option, known in (("labels", LABELS), ("classifier", CLASSIFIERS)):
            value = getattr(self, option)
            try:
                known.check(value)
            except LookupError as error:
                advice = str(error).removeprefix(f"{value!r} ")
                raise OptionError(option, value, advice) from error
        features = self.features
        wanted = features.split(",") if isinstance(features, str) else features
        try:
            object.__setattr__(self, "features", parse_feature_sets(wanted))
        except ValueError as error:
            raise OptionError("features", ",".join(wanted), f"cannot be used: {error}") from error
        if self.prior_file and not Path(self.prior_file).is_file():
            raise OptionError(
                "prior_file",
                self.prior_file,
                "does not exist; give a file that 'contentspider-research train-prior' wrote",
            )

    @property
    def needs_attributes(self) -> bool:
        """Tell whether pages must be read with their markup's attributes (`Page.from_html`)."""
        return needs_attributes(self.features)
