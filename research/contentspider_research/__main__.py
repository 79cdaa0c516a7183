"""``python -m contentspider_research``."""

import sys

from contentspider_research.cli import main

sys.exit(main())
