"""Tells errors of the machine (no memory, no room on a disk, no more files) from other errors."""

from __future__ import annotations

import errno
import math

from contentspider.ground.process_memory import MB, memory_limit
from contentspider.state.book.database import BookFullError, MemoryShortError

# Errors that another page would meet as well: no room, no memory, no more files or processes.
NUMBERS = frozenset(
    [
        *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO),
        *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN),
    ]
)
NO_THREAD = "can't start new thread"


class MachineError(BookFullError):
    """The machine has failed while a page was read; earlier commits of the book are intact."""

    code = "machine"
    ending = "machine_failed"


def shortage() -> MemoryShortError:
    """Return the error that names the memory limit, and says what to do."""
    limit = memory_limit()
    limit_text = f" (its limit, ulimit -v, is {limit / MB:,.0f} MB)" if limit < math.inf else ""
    return MemoryShortError(f"the process is out of memory{limit_text}: give it more")


def is_memory_error(error: object) -> bool:
    """Tell whether too little memory causes an error."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and str(error) == NO_THREAD


def machine_error(error: BaseException | None, url: str) -> BookFullError | None:
    """Return the error that stops a crawl if the machine has caused an *error* while the page at an
    address was read; None if the page, or our code, has caused it.
    """
    if isinstance(error, BookFullError):
        return error
    if is_memory_error(error):
        return shortage()
    if isinstance(error, OSError) and error.errno in NUMBERS:
        return MachineError(f"{url}: the machine failed while the page was read ({error})")
    return None
