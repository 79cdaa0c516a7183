"""Runs one crawl of ``contentspider run`` in a process of its own.

``python -m contentspider.crawl_process SITE`` reads its options as JSON from standard input,
because other users of the machine can see a command line.
"""

from __future__ import annotations

import json
import sys

from contentspider.cli import build_parser, execute


def main() -> int:
    """Run the crawl and return its exit code."""
    options = build_parser().parse_args(["crawl"])
    vars(options).update(json.load(sys.stdin))
    return execute(options)


if __name__ == "__main__":
    sys.exit(main())
