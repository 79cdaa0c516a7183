"""Serve the example site on loopback and crawl it: what ``make crawl`` does without a URL."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from example_site import ExampleSite

from contentspider.evaluation.serve import SiteServer

with tempfile.TemporaryDirectory() as folder:
    site = ExampleSite().write(Path(folder) / "example")
    with SiteServer(site / "html") as server:
        command = [
            sys.executable,
            "-m",
            "contentspider",
            "crawl",
            server.url,
            "--own-site",
            *sys.argv[1:],
        ]
        sys.exit(subprocess.run(command, check=False).returncode)
