"""Commands as functions; options of crawls are those of `contentspider.run.flags`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

from contentspider.crawl.base.option import Option
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import printable, say
from contentspider.run.flags import BY_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from contentspider.site.learn.options import LearningOptions
    from contentspider.state.crawls.outcome import Outcome

    Commands: TypeAlias = argparse._SubParsersAction[Any]
    Argument: TypeAlias = Callable[[argparse.ArgumentParser], object]
    # What runs a command, and returns its exit code (None: 0).
    Run: TypeAlias = Callable[[argparse.Namespace], int | None]


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its *text* begins with its help, *run* runs it (None: its action does), and it
    needs an *extra* (empty: none).
    """

    name: str
    text: str
    arguments: tuple[Argument, ...]
    run: Run | None = None
    epilog: str = ""
    extra: str = ""

    def add_to(self, commands: Commands) -> None:
        """Add the command's parser."""
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
    """Return a decorator that makes a command of what runs it, whose docstring is its text."""
    return lambda run: Command(name, run.__doc__ or name, arguments, run, epilog, extra)


def group(
    name: str,
    text: str,
    actions: Sequence[Command],
    *arguments: Argument,
    default: Run | None = None,
) -> Command:
    """Return a command that has *actions*; without one it does what *default* does, if any."""

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
    """Return an argument from what help shows of it, such as "FILE", "[SITE]", "PATH...",
    "-o --output FILE" or "--due"; *kind* reads its text, or is a tuple of choices. With *least* it
    is a whole number from there on.
    """
    *flags, name = shown.split()
    if name.startswith("-"):
        return lambda parser: parser.add_argument(*flags, name, help=text, action="store_true")
    given = {"help": text, "default": default, "metavar": name.strip("[.]")}
    if isinstance(kind, tuple):
        given |= {"choices": kind, "metavar": f"{{{','.join(kind)}}}"}
    else:
        given["type"] = kind if least is None else reading(Option("", least, "", minimum=least))
    for ending, nargs in (("...]", "*"), ("...", "+"), ("]", "?")):
        if name.endswith(ending):
            given.setdefault("nargs", nargs)
    flags = flags or [name.strip("[.]").lower()]
    return lambda parser: parser.add_argument(*flags, **(given | more))


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


def option(key: str, **changes: Any) -> Argument:
    """Return an option of the table, with *changes* to its argument; not given, its default."""
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
    return lambda parser: parser.add_argument(*option.flags.split(), **(given | changes))


CRAWL_HELP = "the address that was crawled, the crawl's name (--name), or its ledger's file"
CRAWL = argument("CRAWL", CRAWL_HELP)
# Without one, a command says which there are.
ANY_CRAWL = argument("[CRAWL]", CRAWL_HELP, default="")
STATE_DIR, MODELS = option("state_dir"), option("models")
# How a site is learned.
FEATURES = option("features", action="store", default="slots")
LEARNING = (option("labels"), FEATURES, option("classifier"))


def learning_of(options: argparse.Namespace) -> LearningOptions:
    """Return how sites are learned, by the command's options."""
    from contentspider.site.learn.options import LearningOptions, OptionError

    names = ("labels", "features", "classifier", "keep_teasers", "obey_directives")
    given = {name: value for name, value in vars(options).items() if name in names}
    try:
        return LearningOptions(**given)
    except OptionError as error:
        raise error.renamed("--" + error.option.replace("_", "-")) from error


def exit_codes(meanings: Mapping[Outcome, str]) -> str:
    """Return what the exit codes mean, as lines of the help."""
    lines = [
        fill(f"{outcome.value} {meaning}", 79, initial_indent="  ", subsequent_indent="    ")
        for outcome, meaning in meanings.items()
    ]
    return "\n".join(["exit codes:", *lines])


def say_crawls(command: str, state_dir: str, advice: str = "") -> None:
    """Say which crawls a command can be used on; *advice* says what else it can be given."""
    from contentspider.state.crawls.export import crawls

    names = crawls(state_dir)
    for name in names:
        print(printable(name))
    if names:
        say(f"these crawls are here; give one: contentspider {command} {names[0]}{advice}")
    else:
        say(f"nothing was crawled here yet: contentspider crawl https://example.org{advice}")
