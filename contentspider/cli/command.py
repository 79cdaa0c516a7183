"""Commands as functions with their arguments, of which argparse's parsers are made."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

from contentspider.cli.arguments import CRAWL_HELP, add_option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from contentspider.cli.arguments import Commands
    from contentspider.state.crawls.outcome import Outcome

    Argument: TypeAlias = Callable[[argparse.ArgumentParser], object]
    # What runs a command, and returns its exit code (None: 0).
    Run: TypeAlias = Callable[[argparse.Namespace], int | None]


@dataclass(frozen=True, slots=True)
class Command:
    """A command with its *help* in a line; the docstring of *run* describes it at length."""

    name: str
    help: str
    arguments: tuple[Argument, ...]
    run: Run
    epilog: str = ""

    def add_to(self, commands: Commands) -> None:
        """Add the command's parser."""
        parser = commands.add_parser(
            self.name,
            help=self.help,
            description=fill(" ".join((self.run.__doc__ or self.help).split()), 79),
            epilog=self.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        for add in self.arguments:
            add(parser)
        parser.set_defaults(run=self.run)


def command(
    name: str, text: str, *arguments: Argument, epilog: str = ""
) -> Callable[[Run], Command]:
    """Return a decorator that makes a command of the function that runs it."""
    return lambda run: Command(name, text, arguments, run, epilog)


def add_group(
    commands: Commands, name: str, text: str, actions: Sequence[Command], *arguments: Argument
) -> None:
    """Add a command that has *actions*."""
    parser = commands.add_parser(name, help=text, description=f"{text.capitalize()}.")
    for add in arguments:
        add(parser)
    added = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for action in actions:
        action.add_to(added)


def argument(shown: str, text: str, kind: Any = str, default: Any = None, **more: Any) -> Argument:
    """Return an argument from what help shows of it, such as "FILE", "[SITE]", "PATH...",
    "-o --output FILE" or "--due"; *kind* reads its text, or is a tuple of choices.
    """
    *flags, name = shown.split()
    if name.startswith("-"):
        return lambda parser: parser.add_argument(*flags, name, help=text, action="store_true")
    given = {"help": text, "default": default, "metavar": name.strip("[.]")}
    if isinstance(kind, tuple):
        given |= {"choices": kind, "metavar": f"{{{','.join(kind)}}}"}
    else:
        given["type"] = kind
    for ending, nargs in (("...]", "*"), ("...", "+"), ("]", "?")):
        if name.endswith(ending):
            given.setdefault("nargs", nargs)
    flags = flags or [name.strip("[.]").lower()]
    return lambda parser: parser.add_argument(*flags, **(given | more))


def option(key: str, **changes: Any) -> Argument:
    """Return an option of a crawl's table, with *changes* to its argument."""
    return lambda parser: add_option(parser, key, **changes)


CRAWL = argument("CRAWL", CRAWL_HELP)
STATE_DIR, MODELS = option("state_dir"), option("models")


def learning_options(features: str = "slots") -> tuple[Argument, ...]:
    """Return the options that choose how a site is learned."""
    sets = option("features", action="store", default=features)
    return option("labels"), sets, option("classifier")


def exit_codes(meanings: Mapping[Outcome, str]) -> str:
    """Return what the exit codes mean, as lines of the help."""
    lines = [
        fill(f"{outcome.value} {meaning}", 79, initial_indent="  ", subsequent_indent="    ")
        for outcome, meaning in meanings.items()
    ]
    return "\n".join(["exit codes:", *lines])
