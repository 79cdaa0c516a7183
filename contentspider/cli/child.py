"""One crawl of ``contentspider run``: ``python -m contentspider.cli.child SITE``, with its options
on standard input, where no other user of the machine sees them.
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
