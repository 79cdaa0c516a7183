"""The command line, ``contentspider COMMAND``, with commands of this package and of others."""

from __future__ import annotations

import io
import logging
import os
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import contentspider
from contentspider.cli import (
    archive,
    crawl,
    evaluate,
    extract,
    fields,
    index,
    models,
    render,
    rules,
    web,
)
from contentspider.cli.parser import Parser
from contentspider.ground.errors import ContentSpiderError, UsageError
from contentspider.ground.extras import require
from contentspider.ground.terminal import SafeFormatter, printable
from contentspider.state.outcome import Outcome

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

EXIT_FAILED = 1
EXIT_USAGE = 2  # the code of argparse
COMMANDS = (
    *(crawl.crawl, crawl.run, crawl.pull, crawl.status, crawl.replay, crawl.changes, crawl.diff),
    *(
        index.index,
        index.search,
        extract.extract,
        extract.schema,
        extract.summarise,
        archive.archive,
    ),
    *(models.models, fields.fields, rules.rules, evaluate.evaluate, render.render),
    *(web.serve, web.mcp, web.annotate, web.report),
)
# The entry point group for the commands of other packages.
COMMANDS_GROUP = "contentspider.commands"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = Parser(
        prog="contentspider",
        description=(
            "Learn websites' main content from their own pages, and crawl them into clean items."
        ),
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
    """Run the command line and return its exit code."""
    return execute(build_parser().parse_args(arguments))


def execute(options: argparse.Namespace) -> int:
    """Run the command of the parsed options, and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # print any script on any terminal
            stream.reconfigure(encoding="utf-8", errors="replace")
    if options.command != "crawl":
        handler = logging.StreamHandler()
        handler.setFormatter(SafeFormatter("%(levelname)s: %(message)s"))
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
        print(printable(f"contentspider: {_message(error)}"), file=sys.stderr)
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
