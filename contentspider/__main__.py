"""``python -m contentspider``."""

import sys

from contentspider.cli import main

sys.exit(main())
