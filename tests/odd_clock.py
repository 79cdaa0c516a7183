"""contentspider's command line by a clock that is wrong, by as many seconds as the file ``clock``
in the current folder says at that time.
"""

from __future__ import annotations

import datetime
import runpy
import sys
import time
from pathlib import Path

TRUE_TIME, TRUE_DATETIME = time.time, datetime.datetime
CLOCK = Path("clock").absolute()


def odd_time() -> float:
    return TRUE_TIME() + float(CLOCK.read_text())


class OddDatetime(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
        return TRUE_DATETIME.fromtimestamp(odd_time(), tz)


if __name__ == "__main__":
    time.time, datetime.datetime = odd_time, OddDatetime
    for name, module in list(sys.modules.items()):  # what has been loaded has its own names
        if name.startswith(("contentspider", "scrapy")):
            for own, value in list(vars(module).items()):
                if value is TRUE_TIME or value is TRUE_DATETIME:
                    setattr(module, own, odd_time if value is TRUE_TIME else OddDatetime)
    runpy.run_module("contentspider", run_name="__main__", alter_sys=True)
