"""The parser of the command line. Its errors suggest the nearest option or command."""

from __future__ import annotations

import argparse
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence


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

    def _nearest(self, unknown: Sequence[str]) -> str:
        flags = [argument.partition("=")[0] for argument in unknown if argument.startswith("-")]
        return _did_you_mean(flags[0], list(self._option_string_actions)) if flags else ""


def _did_you_mean(word: str, choices: Sequence[str]) -> str:
    nearest = get_close_matches(word, choices, 1)
    return f"; did you mean {nearest[0]}?" if nearest else ""
