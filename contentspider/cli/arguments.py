"""What the arguments of several commands have in common."""

from __future__ import annotations

import argparse
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from contentspider.crawl.option import Option
from contentspider.ground.errors import ContentSpiderError
from contentspider.run.flags import BY_KEY
from contentspider.state.stores.remote import is_url

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from contentspider.site.learn.options import LearningOptions
    from contentspider.state.crawls.outcome import Outcome

    Group: TypeAlias = argparse._ArgumentGroup
    Parser: TypeAlias = argparse.ArgumentParser | Group
    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]


CRAWL_HELP = "what it crawls (an address), its name (--name), or its ledger's file"


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
share = reading(Option("", 0.95, "", minimum=0, maximum=1))


def add_option(parser: Parser, key: str, **changes: Any) -> None:
    """Add an option of the table (`contentspider.run.flags`), with *changes* to its argument.

    Not given, it is its default.
    """
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


def add_learning_options(parser: argparse.ArgumentParser, features: str = "slots") -> None:
    """Add the options that choose how a site is learned."""
    add_option(parser, "labels")
    add_option(parser, "features", action="store", default=features)
    add_option(parser, "classifier")


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


def folder(text: str) -> Path:
    """Return a folder; a store of models is none."""
    if is_url(text):
        raise argparse.ArgumentTypeError(
            f"{text} is no folder; 'contentspider models --models {text} export' brings a model of"
            " it here"
        )
    return Path(text)


def exit_codes(meanings: Mapping[Outcome, str]) -> str:
    """Return what the exit codes mean, as lines of the help."""
    lines = [
        fill(f"{outcome.value} {meaning}", 79, initial_indent="  ", subsequent_indent="    ")
        for outcome, meaning in meanings.items()
    ]
    return "\n".join(["exit codes:", *lines])
