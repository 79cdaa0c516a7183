"""The options for learning and filtering a site, shared by Python, the command line and crawls."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.fields_file import FieldsFile
from contentspider.site.judge.classifier import CLASSIFIERS
from contentspider.site.judge.featuresets import SLOTS, needs_attributes, parse_feature_sets
from contentspider.site.vote.labels import LABELS, VOTES

if TYPE_CHECKING:
    from collections.abc import Sequence


class OptionError(ContentSpiderError, ValueError):
    """An *option* of `LearningOptions` has an invalid *value*; *advice* says how to correct it."""

    code = "option"

    def __init__(self, option: str, value: object, advice: str, *, code: str = "") -> None:
        super().__init__(f"{option}={value!r} {advice}", code=code)
        self.option = option
        self.value = value
        self.advice = advice

    def renamed(self, name: str) -> OptionError:
        """Return this error for the same option under another *name*, such as a command-line flag.

        >>> str(OptionError("labels", "x", "is unknown").renamed("--labels"))
        "--labels='x' is unknown"
        """
        return OptionError(name, self.value, self.advice, code=self.code)


@dataclass(frozen=True)
class LearningOptions:
    """Options for learning a site and filtering its pages. An invalid value raises `OptionError`.

    *labels* names the way of labelling blocks (`contentspider.site.vote.labels`). *features* names
    the feature sets (`contentspider.site.judge.featuresets`) of the *classifier*
    (`contentspider.site.judge.classifier`), as a list or as a text with commas. *keep_teasers*
    keeps the entries of listing pages. *prior_file* is a file from
    ``contentspider-research train-prior``, whose prior replaces the one that ships.
    *obey_directives* leaves out the parts of a page that its site forbids to index. *fields* is the
    path of a file of own fields (docs/items.md); `own_fields` reads it.

    `dataclasses.asdict` makes a record of JSON values. The record gives the same options:

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
    fields: str = ""

    def __post_init__(self) -> None:
        for option, registry in (("labels", LABELS), ("classifier", CLASSIFIERS)):
            value = getattr(self, option)
            try:
                registry.check(value)
            except LookupError as error:
                advice = str(error).removeprefix(f"{value!r} ")
                raise OptionError(option, value, advice, code="unknown-plugin") from error
        features = self.features
        names = features.split(",") if isinstance(features, str) else features
        try:
            object.__setattr__(self, "features", parse_feature_sets(names))
        except ValueError as error:
            raise OptionError("features", ",".join(names), f"cannot be used: {error}") from error
        if self.prior_file and not Path(self.prior_file).is_file():
            raise OptionError(
                "prior_file",
                self.prior_file,
                "does not exist; give a file that 'contentspider-research train-prior' wrote",
            )

    @cached_property
    def own_fields(self) -> FieldsFile:
        """The user's own fields. The first access reads their file, and raises `FieldsError` if it
        cannot be used.
        """
        return FieldsFile.load(self.fields) if self.fields else FieldsFile()

    @property
    def min_pages(self) -> int:
        """The pages that a site needs to be learned: the prior judges a single one, which does not
        show its template, unless other labels than votes replace the prior.
        """
        return 2 if self.labels == VOTES else 1

    @property
    def needs_attributes(self) -> bool:
        """Tell whether pages must be read with their markup's attributes (`Page.from_html`)."""
        return needs_attributes(self.features)
