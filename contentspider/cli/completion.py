"""The command ``contentspider completion``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.cli.command import argument, command

if TYPE_CHECKING:
    import argparse


@command(
    "completion",
    argument("SHELL", "whose script", ("bash", "zsh", "tcsh")),
    extra="completion",
)
def completion(options: argparse.Namespace) -> None:
    """Print a script that completes commands and options in a shell. Bash reads it from
    ~/.local/share/bash-completion/completions/contentspider.
    """
    import shtab

    from contentspider.cli import build_parser

    print(shtab.complete(build_parser(), options.shell))
