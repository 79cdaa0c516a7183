"""The command line, ``contentspider COMMAND``, with commands of this package and of others."""

from __future__ import annotations

import argparse
import io
import logging
import os
import re
import sys
import sysconfig
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import contentspider
from contentspider.cli import (
    archive,
    completion,
    crawl,
    evaluate,
    explain,
    extract,
    fields,
    index,
    models,
    render,
    rules,
    web,
)
from contentspider.ground.errors import ContentSpiderError, UsageError
from contentspider.ground.extras import require
from contentspider.ground.terminal import SafeFormatter, say
from contentspider.state.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_FAILED = 1
EXIT_USAGE = 2  # the code of argparse
COMMANDS = (
    *(
        crawl.crawl,
        crawl.run,
        crawl.status,
        crawl.remove,
        crawl.pull,
        crawl.replay,
        crawl.changes,
        crawl.diff,
    ),
    *(
        index.index,
        index.search,
        extract.extract,
        extract.schema,
        extract.summarise,
        archive.archive,
    ),
    *(explain.explain, models.models, fields.fields, rules.rules, evaluate.evaluate, render.render),
    *(web.serve, web.mcp, web.annotate, web.report),
    completion.completion,
)
# The entry point group for the commands of other packages.
COMMANDS_GROUP = "contentspider.commands"


class Parser(argparse.ArgumentParser):
    """The parser of a command, or of the whole command line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # argparse keeps the value of the innermost command: its parser reports unknown options.
        self.set_defaults(parser=self)

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Return the parsed options; an unknown one is reported by the parser of its command."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser: Parser = options.parser
            parser.error(f"unrecognized arguments: {' '.join(unknown)}{parser._nearest(unknown)}")
        return options

    def error(self, message: str) -> NoReturn:
        """Print the message with the nearest choice, and exit."""
        if match := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)$", message):
            message += _did_you_mean(match[1], re.findall(r"[\w.-]+", match[2]))
        super().error(message)

    def format_help(self) -> str:
        """Return the help, with the place of the documentation that it names."""
        text, folder = super().format_help(), _docs_folder()
        return f"{text}\ndocs/ is {folder}\n" if folder and "docs/" in text else text

    def _nearest(self, unknown: Sequence[str]) -> str:
        flags = [argument.partition("=")[0] for argument in unknown if argument.startswith("-")]
        return _did_you_mean(flags[0], list(self._option_string_actions)) if flags else ""


def _docs_folder() -> Path | None:
    """Return the folder of the documentation: of a checkout, or as pip has installed it."""
    checkout = Path(contentspider.__file__).resolve().parents[1]
    installed = Path(sysconfig.get_path("data"), "share", "doc", "contentspider")
    folders = (place / "docs" for place in (checkout, installed))
    return next((folder for folder in folders if (folder / "commands.md").is_file()), None)


def _did_you_mean(word: str, choices: Sequence[str]) -> str:
    nearest = get_close_matches(word, choices, 1)
    return f"; did you mean {nearest[0]}?" if nearest else ""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = Parser(
        prog="contentspider",
        description=(
            "Learn websites' main content from their own pages, and crawl them into clean items."
        ),
        epilog="The documentation begins at docs/index.md.",
    )
    parser.add_argument(
        "--version", action="version", version=f"contentspider {contentspider.__version__}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(commands)
    for entry in entry_points(group=COMMANDS_GROUP):
        entry.load()(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. Without arguments, print the help."""
    given, parser = sys.argv[1:] if arguments is None else arguments, build_parser()
    if not given:
        parser.print_help(sys.stderr)
        return EXIT_USAGE
    return execute(parser.parse_args(given))


def execute(options: argparse.Namespace) -> int:
    """Run the command of the parsed options, and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # print any script on any terminal
            stream.reconfigure(encoding="utf-8", errors="replace")
    if options.command != "crawl":
        handler = logging.StreamHandler()
        time = "%(asctime)s " if options.command == "run" else ""  # its log is read later
        handler.setFormatter(
            SafeFormatter(f"{time}%(levelname)s: %(message)s", "%Y-%m-%d %H:%M:%S")
        )
        logging.basicConfig(level=logging.INFO, handlers=[handler])
    try:
        # Commands of other packages have no such attribute.
        if extra := getattr(options, "extra", ""):
            require(extra, f"contentspider {options.command}")
        code = options.run(options) or 0
        sys.stdout.flush()  # an error is reported here, and not when Python exits
        return code
    except BrokenPipeError:
        _discard_output()
    except MemoryError:
        os.write(2, b"contentspider: the process is out of memory: give it more\n")
        return Outcome.OUT_OF_MEMORY
    except (ContentSpiderError, OSError, KeyboardInterrupt) as error:
        say(f"contentspider: {_message(error)}")
        try:
            sys.stdout.flush()
        except OSError:
            _discard_output()
        if isinstance(error, UsageError):
            return EXIT_USAGE
    return EXIT_FAILED


def _discard_output() -> None:
    """Keep Python from flushing standard output, which cannot be written, when it exits."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123


def _message(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "stopped"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    return str(error)
