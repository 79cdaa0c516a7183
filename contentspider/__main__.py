"""Runs the command line as ``python -m contentspider``."""

from __future__ import annotations

import sys

from contentspider.cli import main

sys.exit(main())
