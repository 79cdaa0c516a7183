"""What the options of several commands have in common."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.site.vote.labels import LABELS
from contentspider.state.files.formats import PAGE_KINDS
from contentspider.state.stores.remote import is_url

if TYPE_CHECKING:
    from typing import TypeAlias

    from contentspider.site.learn.options import LearningOptions

    Group: TypeAlias = argparse._ArgumentGroup
    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]


OUTPUT_HELP = (
    "write items to FILE, in the format of its ending (jsonl, json, csv, xml, md, txt, parquet), or"
    " one file a page to FOLDER/; what was there is replaced when there are items"
)
CRAWL_HELP = "what it crawls (an address), its name (--name), or its ledger's file"


def assignment(text: str) -> tuple[str, str]:
    """Return the name and the value of NAME=VALUE."""
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def not_negative(text: str) -> int:
    """Return a number of 0 or more."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 0 or more")
    return number


def positive(text: str) -> int:
    """Return a number of 1 or more."""
    number = not_negative(text)
    if not number:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return number


def seconds(text: str) -> float:
    """Return a number of seconds, 0 or more."""
    try:
        number = float(text)
    except ValueError:
        number = -1
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return number


def share(text: str) -> float:
    """Return a number from 0 to 1."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return number


def header(text: str) -> tuple[str, str]:
    """Return the name and the value of a header, NAME:VALUE."""
    name, separator, value = text.partition(":")
    if not separator or not re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name.strip(), re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME:VALUE")
    if re.search(r"[\0\r\n]", value):
        raise argparse.ArgumentTypeError(f"the value of {name!r} is more than a line")
    return name.strip(), value.strip()


def folder(text: str) -> Path:
    """Return a folder; a store of models is none."""
    if is_url(text):
        raise argparse.ArgumentTypeError(
            f"{text} is no folder; 'contentspider models --models {text} export' brings a model of"
            " it here"
        )
    return Path(text)


def folds(text: str) -> int:
    """Return a number of folds, 2 or more."""
    number = not_negative(text)
    if number < 2:
        raise argparse.ArgumentTypeError("a cross-validation needs 2 folds or more")
    return number


def add_format(parser: argparse.ArgumentParser | Group) -> None:
    """Add the option that says what the files of an output folder are."""
    parser.add_argument(
        "--format",
        default="md",
        choices=PAGE_KINDS,
        help="what a page's own file in an output folder is (default: md)",
    )


def add_state_dir(parser: argparse.ArgumentParser | Group) -> None:
    """Add the option that says where crawls' ledgers are."""
    parser.add_argument(
        "--state-dir",
        metavar="DIR",
        help="the folder of crawls' ledgers (default: .scrapy/contentspider)",
    )


def add_learning_options(parser: argparse.ArgumentParser, features: str = "slots") -> None:
    """Add the options that choose how a site is learned."""
    parser.add_argument(
        "--labels",
        default="votes",
        metavar="METHOD",
        help=f"how blocks are labelled: {', '.join(LABELS.shipped)} (default: votes)",
    )
    parser.add_argument(
        "--features",
        default=features,
        metavar="SET[,SET]",
        help=(
            f"feature sets that the site's classifier decides by (default: {features};"
            " contentspider-research adds more)"
        ),
    )
    parser.add_argument(
        "--classifier",
        default="svm",
        metavar="NAME",
        help="the site's classifier: svm, or one that another package adds (default: svm)",
    )


def chosen_learning(options: argparse.Namespace) -> LearningOptions:
    """Return how sites are learned, by the command's options."""
    from contentspider.site.learn.options import LearningOptions, OptionError

    try:
        return LearningOptions(
            labels=options.labels,
            features=options.features,
            classifier=options.classifier,
            keep_teasers=getattr(options, "keep_teasers", False),
        )
    except OptionError as error:
        raise error.renamed("--" + error.option.replace("_", "-")) from error
