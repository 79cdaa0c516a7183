"""A million broken and hostile inputs to all readers: each ends soon, with what it says or with an
error of ours. `make nightly` gives them all, CI the first of each kind.
"""

from __future__ import annotations

import logging
import random
import signal
import traceback
from collections import Counter
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, NoReturn

import pytest

from contentspider.ground.errors import ContentSpiderError
from tests.fuzzed import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

# Inputs of a test; CI gives each kind so many of its first.
PART, FIRST = 2_500, 60
SLOW_SECS, HANG_SECS = 5.0, 60
MAX_GROWTH = 200_000_000
MAX_SHOWN = 10


def hang(*_: object) -> NoReturn:
    raise AssertionError(f"it takes longer than {HANG_SECS} s")


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def give(name: str, folder: Path, first: int, count: int) -> Counter[str]:
    """Give a reader its inputs with these numbers, and return how many ended how."""
    one = KINDS[name][0](folder)
    ends: Counter[str] = Counter()
    faults: dict[str, str] = {}
    before = resident()
    for number in range(first, first + count):
        started = process_time()
        signal.alarm(HANG_SECS)
        try:
            one(random.Random(f"{name} {number}"))
            end = "read"
        except ContentSpiderError as error:
            end = type(error).__name__
        except (Exception, RuntimeWarning) as error:  # noqa: BLE001 - that is what is looked for
            end = f"{type(error).__name__} at {traceback.extract_tb(error.__traceback__)[-1][:2]}"
            faults.setdefault(end, f"{name} {number}: {traceback.format_exc()[-1500:]}")
        finally:
            signal.alarm(0)
        if process_time() - started > SLOW_SECS:
            faults.setdefault("slow", f"{name} {number}: {process_time() - started:.1f} s")
        ends[end] += 1
    if resident() - before > MAX_GROWTH:
        faults["memory"] = f"{name} {first}: {resident() - before:,} bytes more than before"
    assert not faults, "\n\n".join(list(faults.values())[:MAX_SHOWN]) + f"\n{ends}"
    return ends


# Patterns of users may look like sets of a future Python.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.root, "disabled", True)
    signal.signal(signal.SIGALRM, hang)


@pytest.mark.parametrize("name", KINDS)
def test_first_fuzz_inputs_are_read_or_rejected(name: str, tmp_path: Path) -> None:
    give(name, tmp_path, 0, FIRST)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "first"),
    [(name, first) for name, (_, count) in KINDS.items() for first in range(0, count, PART)],
)
def test_all_fuzz_inputs_are_read_or_rejected(
    name: str, first: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("fuzzed", [name, dict(give(name, tmp_path, first, PART))])
