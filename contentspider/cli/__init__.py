"""The command line, ``contentspider COMMAND``: our commands, and those of other packages."""

from __future__ import annotations

import argparse
import io
import logging
import os
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import contentspider
from contentspider.cli import crawl, evaluate, extract, index, models
from contentspider.ground.errors import ContentSpiderError, UsageError
from contentspider.ground.terminal import SafeFormatter, printable
from contentspider.state.crawls.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_FAILED = 1
EXIT_USAGE = 2  # argparse's
COMMANDS = "contentspider.commands"
OTHERS = {
    "rules": "contentspider-rules",
    "serve": "contentspider-web",
    "summarise": "contentspider-web",
}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="contentspider",
        description=(
            "Learn websites' main content from their own pages, and crawl them into clean items."
        ),
    )
    parser.add_argument(
        "--version", action="version", version=f"contentspider {contentspider.__version__}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for one in (
        *(crawl.crawl, crawl.run, crawl.status, crawl.replay, crawl.changes, crawl.diff),
        *(index.index, index.search, extract.extract),
        *(models.models, evaluate.evaluate),
    ):
        one.add_to(commands)
    for entry in entry_points(group=COMMANDS):
        entry.load()(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = build_parser()
    for name, package in OTHERS.items():
        if name in arguments[:1] and not entry_points(group=COMMANDS, name=name):
            parser.error(f"the command {name} needs {package}: pip install {package}")
    return execute(parser.parse_args(arguments))


def execute(options: argparse.Namespace) -> int:
    """Run the command that the options are of, and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # any script, whatever the terminal's encoding
            stream.reconfigure(encoding="utf-8", errors="replace")
    if options.command != "crawl":
        handler = logging.StreamHandler()
        handler.setFormatter(SafeFormatter("%(levelname)s: %(message)s"))
        logging.basicConfig(level=logging.INFO, handlers=[handler])
    try:
        return options.run(options) or 0
    except ContentSpiderError as error:
        print(printable(f"contentspider: {error}"), file=sys.stderr)
        return EXIT_USAGE if isinstance(error, UsageError) else EXIT_FAILED
    except BrokenPipeError:
        # Its reader is gone: nothing to flush at exit.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(printable(f"contentspider: {where}{error.strerror or error}"), file=sys.stderr)
    except MemoryError:
        os.write(2, b"contentspider: the process is out of memory: give it more\n")
        return Outcome.OUT_OF_MEMORY
    except KeyboardInterrupt:
        print("contentspider: stopped", file=sys.stderr)
    return EXIT_FAILED
