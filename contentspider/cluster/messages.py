"""The messages between a worker and the crawl in PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from contentspider.cluster.tables import Row

    # The site, manifest and weights of a model; None if the site cannot be learned.
    Model = tuple[str, str | None, bytes | None]


class LeaveResult(Enum):
    """What happens to a crawl that a worker leaves.

    ``CONTINUED``: other workers continue or end it; ``ENDS_CRAWL``: this worker must end it;
    ``UNFINISHED``: addresses are left, and no other worker is active.
    """

    CONTINUED = 0
    ENDS_CRAWL = 1
    UNFINISHED = 2


class Joined(NamedTuple):
    """The answer to a worker that joins a crawl: the number of the *worker*, the key of the *crawl*
    in its history, and whether an earlier run began the crawl.
    """

    worker: int
    crawl: str
    is_resumed: bool


@dataclass(slots=True)
class Report:
    """The message of a worker to the crawl in an exchange.

    - *rows* are the changed rows of each table. *changed* has the table and the key of each change.
      *gone* are the numbers of held items that were released. *models* are new models.
    - *unfiltered* are the numbers of addresses to fetch even if they are known.
    - *room* is the number of addresses that the worker can take. *suspects* counts its addresses
      that one other worker was fetching when it was lost, and *deadly* its addresses that several
      other workers were fetching.
    - The worker takes no addresses of *closed* hosts, and does not wait for *lost* hosts.
    - The worker has read the rows of transactions before *horizon*.
    - A worker that *is_idle* has nothing to do. A worker that *is_leaving* takes over nothing from
      lost workers.
    """

    rows: dict[str, list[Row]] = field(default_factory=dict)
    changed: list[Row] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    models: list[Model] = field(default_factory=list)
    unfiltered: list[int] = field(default_factory=list)
    room: int = 0
    suspects: int = 0
    deadly: int = 0
    closed: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    horizon: int = 0
    is_idle: bool = False
    is_leaving: bool = False


@dataclass(slots=True)
class Reply:
    """The message of the crawl to a worker in an exchange.

    - *taken* are addresses to fetch. *held* are addresses of a lost worker, *items* the held items
      of their pages, and *answers* the answers of their hosts.
    - *own_texts* and *models* are new own texts and models of other workers.
    - *copied* maps numbers of the worker's addresses to the address of another worker that has the
      same page.
    - The crawl *is_open* while addresses wait or are being fetched. It *is_busy* if another worker
      has work that this worker must take over if the other is lost.
    - The reply has the rows of transactions before *horizon*.
    """

    taken: list[Row] = field(default_factory=list)
    held: list[Row] = field(default_factory=list)
    items: list[Row] = field(default_factory=list)
    answers: list[Row] = field(default_factory=list)
    own_texts: list[Row] = field(default_factory=list)
    models: list[Model] = field(default_factory=list)
    copied: dict[int, str] = field(default_factory=dict)
    is_open: bool = True
    is_busy: bool = True
    horizon: int = 0
