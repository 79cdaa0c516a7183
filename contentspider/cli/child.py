"""One crawl of ``contentspider run``: ``python -m contentspider.cli.child SITE``, with its options
and settings on standard input, where no other user of the machine sees them.
"""

from __future__ import annotations

import json
import sys

from contentspider.cli import build_parser, execute


def main() -> int:
    """Run the crawl and return its exit code."""
    told = json.load(sys.stdin)
    options = build_parser().parse_args(told["arguments"])
    options.set = list(told["settings"].items())
    return execute(options)


if __name__ == "__main__":
    sys.exit(main())
