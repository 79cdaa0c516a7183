"""Defines commands as functions. Their options of crawls come from `contentspider.run.flags`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

from contentspider.crawl.base.option import HIDDEN, Option
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import printable, say
from contentspider.run.flags import BY_KEY
from contentspider.state.files.formats import PAGE_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from contentspider.site.learn.options import LearningOptions
    from contentspider.state.outcome import Outcome

    Commands: TypeAlias = argparse._SubParsersAction[Any]
    Argument: TypeAlias = Callable[[argparse.ArgumentParser], object]
    # Runs a command, and returns its exit code (None: 0).
    Run: TypeAlias = Callable[[argparse.Namespace], int | None]


@dataclass(frozen=True, slots=True)
class Command:
    """A command. *text* begins with the short help. *run* is None if each action has its own, and
    *extra* names the extra that the command needs, if any.
    """

    name: str
    text: str
    arguments: tuple[Argument, ...]
    run: Run | None = None
    epilog: str = ""
    extra: str = ""

    def add_to(self, commands: Commands) -> None:
        """Add the parser of the command."""
        text = " ".join(self.text.split())
        parser = commands.add_parser(
            self.name,
            help=text[0].lower() + text[1:].partition(". ")[0].rstrip("."),
            description=fill(text, 79),
            epilog=self.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        for add in self.arguments:
            add(parser)
        parser.set_defaults(run=self.run, extra=self.extra)


def command(
    name: str, *arguments: Argument, epilog: str = "", extra: str = ""
) -> Callable[[Run], Command]:
    """Return a decorator that makes a command from a function; the docstring is the help."""
    return lambda run: Command(name, run.__doc__ or name, arguments, run, epilog, extra)


def group(
    name: str,
    text: str,
    actions: Sequence[Command],
    *arguments: Argument,
    default: Run | None = None,
) -> Command:
    """Return a command with *actions*; without an action it calls *default*, if any."""

    def add(parser: argparse.ArgumentParser) -> None:
        is_required = default is None
        added = parser.add_subparsers(dest="action", required=is_required, metavar="ACTION")
        for action in actions:
            action.add_to(added)

    return Command(name, text, (*arguments, add), default)


def argument(
    shown: str,
    text: str,
    kind: Any = str,
    default: Any = None,
    *,
    least: int | None = None,
    **more: Any,
) -> Argument:
    """Return an argument from the form that help shows, such as "FILE", "[SITE]", "PATH...",
    "-o --output FILE" or "--due". *kind* converts its text, or is a tuple of choices. With *least*
    the argument is a whole number, of *least* or more.
    """
    *flags, name = shown.split()
    if name.startswith("-"):
        return lambda parser: parser.add_argument(*flags, name, help=text, action="store_true")
    settings = {"help": text, "default": default, "metavar": name.strip("[.]")}
    if isinstance(kind, tuple):
        settings |= {"choices": kind, "metavar": f"{{{','.join(kind)}}}"}
    elif least is None:
        settings["type"] = kind
    else:
        settings["type"] = converter(Option("", least, "", minimum=least))
    for ending, nargs in (("...]", "*"), ("...", "+"), ("]", "?")):
        if name.endswith(ending):
            settings.setdefault("nargs", nargs)
    flags = flags or [name.strip("[.]").lower()]
    return lambda parser: parser.add_argument(*flags, **(settings | more))


def listed(text: str) -> list[str]:
    """Return the parts of a text with commas, as ``--only`` takes them."""
    return [part for part in map(str.strip, text.split(",")) if part]


def converter(option: Option) -> Callable[[str], Any]:
    """Return a function that converts an argument's text; its errors say what to give instead."""

    def read(text: str) -> Any:
        try:
            if isinstance(option.default, (list, dict)):
                return option.convert(text) if option.convert else text
            return option.read(text)
        except ContentSpiderError as error:
            shown = HIDDEN if option.is_secret else repr(text)
            raise argparse.ArgumentTypeError(f"{shown} cannot be used: {error}") from None

    return read


def option(key: str, **changes: Any) -> Argument:
    """Return the argument for an option of a crawl, with *changes* to argparse's arguments."""
    option = BY_KEY[key]
    default = option.default
    settings: dict[str, Any] = {"dest": key, "default": default, "help": option.flag_help}
    if isinstance(default, bool):
        settings["action"] = "store_false" if option.flag.startswith("--no-") else "store_true"
    else:
        settings |= {"type": converter(option), "metavar": option.metavar or None}
        if option.choices and not option.metavar:
            settings["metavar"] = f"{{{','.join(filter(None, option.choices))}}}"
        if isinstance(default, (list, dict)):
            settings |= {"action": "append", "default": []}
        if option.const:
            settings |= {"nargs": "?", "const": option.const}
    return lambda parser: parser.add_argument(*option.flags.split(), **(settings | changes))


CRAWL_HELP = "the address that was crawled, the crawl's name (--name), or the file of its book"
CRAWL = argument("CRAWL", CRAWL_HELP)
# A command without this argument lists the crawls.
ANY_CRAWL = argument("[CRAWL]", CRAWL_HELP, default="")
STATE_DIR, MODELS = option("state_dir"), option("models")
PAGE_FORMAT = argument(
    "--format KIND",
    "the format of a page in an output folder (default: md), or on standard output (default: json,"
    " a line a page)",
    PAGE_KINDS,
)
# The options that decide how a site is learned.
FEATURES = option("features", action="store", default="slots")
LEARNING = (option("labels"), FEATURES, option("classifier"))


def learning_options(options: argparse.Namespace) -> LearningOptions:
    """Return how sites are learned, from the command's options."""
    from contentspider.site.learn.options import LearningOptions, OptionError

    names = ("labels", "features", "classifier", "keep_teasers", "obey_directives", "fields")
    chosen = {name: value for name, value in vars(options).items() if name in names}
    try:
        learning = LearningOptions(**chosen)
        _ = learning.own_fields  # reads their file, so that an error comes before any page
        return learning
    except OptionError as error:
        raise error.renamed("--" + error.option.replace("_", "-")) from error


def exit_codes(meanings: Mapping[Outcome, str]) -> str:
    """Return the meanings of the exit codes as lines of the help."""
    lines = [
        fill(f"{outcome.value} {meaning}", 79, initial_indent="  ", subsequent_indent="    ")
        for outcome, meaning in meanings.items()
    ]
    return "\n".join(["exit codes:", *lines])


def only_crawl(state_dir: str) -> str:
    """Return the name of the crawl that a command means if none is given: of the only one."""
    from contentspider.state.crawls.export import crawls

    names = crawls(state_dir)
    return names[0] if len(names) == 1 else ""


def print_crawls(command: str, state_dir: str, advice: str = "") -> None:
    """Print the crawls that a command can be used on; *advice* names other arguments."""
    from contentspider.state.crawls.export import crawls
    from contentspider.state.crawls.folder import state_folder

    names = crawls(state_dir)
    for name in names:
        print(printable(name))
    if names:
        say(f"the crawls are listed above; give one: contentspider {command} {names[0]}{advice}")
    else:
        say(
            f"no crawl has a book in {state_folder(state_dir)}. 'contentspider crawl' writes one,"
            " and so does 'scrapy crawl' with CONTENTSPIDER_DURABLE = True"
        )
