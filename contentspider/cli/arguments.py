"""Values of arguments, and options of the table of a crawl (`contentspider.run.flags`)."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contentspider.crawl.option import Option
from contentspider.ground.errors import ContentSpiderError
from contentspider.run.flags import BY_KEY
from contentspider.state.stores.remote import is_url

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from contentspider.site.learn.options import LearningOptions

    Group: TypeAlias = argparse._ArgumentGroup
    Parser: TypeAlias = argparse.ArgumentParser | Group
    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]

CRAWL_HELP = "the address that was crawled, the crawl's name (--name), or its ledger's file"


def reading(option: Option) -> Callable[[str], Any]:
    """Return what reads the text of an argument; its errors say what to give."""

    def read(text: str) -> Any:
        try:
            if isinstance(option.default, (list, dict)):
                return option.convert(text) if option.convert else text
            return option.read(text)
        except ContentSpiderError as error:
            raise argparse.ArgumentTypeError(f"{text!r} cannot be used: {error}") from None

    return read


def number(minimum: int) -> Callable[[str], Any]:
    """Return what reads a whole number from *minimum* on."""
    return reading(Option("", minimum, "", minimum=minimum))


not_negative, positive, folds = number(0), number(1), number(2)


def folder(text: str) -> Path:
    """Return a folder; a store of models is none."""
    if is_url(text):
        raise argparse.ArgumentTypeError(
            f"{text} is not a folder; 'contentspider models --models {text} export' copies a model"
            " from it"
        )
    return Path(text)


def add_option(parser: Parser, key: str, **changes: Any) -> None:
    """Add an option of the table, with *changes* to its argument. Not given, it is its default."""
    option = BY_KEY[key]
    default = option.default
    given: dict[str, Any] = {"dest": key, "default": default, "help": option.help}
    if isinstance(default, bool):
        given["action"] = "store_false" if option.flag.startswith("--no-") else "store_true"
    else:
        given |= {"type": reading(option), "metavar": option.metavar or None}
        if option.choices and not option.metavar:
            given["metavar"] = f"{{{','.join(filter(None, option.choices))}}}"
        if isinstance(default, (list, dict)):
            given |= {"action": "append", "default": []}
        if option.const:
            given |= {"nargs": "?", "const": option.const}
    parser.add_argument(*option.flags.split(), **(given | changes))


def add_state_dir(parser: Parser) -> None:
    """Add the option that says where crawls' ledgers are."""
    add_option(parser, "state_dir")


def chosen_learning(options: argparse.Namespace) -> LearningOptions:
    """Return how sites are learned, by the command's options."""
    from contentspider.site.learn.options import LearningOptions, OptionError

    keep_teasers = getattr(options, "keep_teasers", False)
    try:
        return LearningOptions(options.labels, options.features, options.classifier, keep_teasers)
    except OptionError as error:
        raise error.renamed("--" + error.option.replace("_", "-")) from error
