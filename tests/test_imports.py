"""What commands load."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("command", [["--help"], ["models", "list"], ["search", "tea"]])
def test_commands_that_only_read_load_no_scrapy(command: list[str], tmp_path: Path) -> None:
    code = (
        "import sys\nfrom contentspider.cli import main\n"
        f"try:\n    main({command!r})\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('scrapy', 'twisted', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
