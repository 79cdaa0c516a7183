"""What a worker and the crawl in PostgreSQL tell each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from contentspider.cluster.tables import Row

    # A site's model: the site, its manifest and weights (None: it cannot be learned).
    Model = tuple[str, str | None, bytes | None]


class Leaving(Enum):
    """How a worker leaves a crawl: to others, who go on or end it; to end it itself; or with
    something left to do, and nobody there.
    """

    TO_OTHERS = 0
    TO_END = 1
    UNFINISHED = 2


class Joined(NamedTuple):
    """A worker's number, the crawl's key (for its history), and whether others had begun it."""

    worker: int
    crawl: str
    is_resumed: bool


@dataclass(slots=True)
class Ask:
    """What a worker tells and asks at a time: the *rows* that it changed, by table (their keys are
    *changed*), the numbers of held items that are *gone*, *models* (site, manifest, weights; None:
    it cannot be learned); for how many addresses it has *room*, not of the hosts that are *closed*.
    Addresses that are to be fetched *again* are so whoever knows them.
    Hosts that are *lost* are not waited for. Up to *horizon* it knows what others wrote. One that
    *is_idle* has nothing in hand; one that *is_leaving* takes nothing over.
    """

    rows: dict[str, list[Row]] = field(default_factory=dict)
    changed: list[Row] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    models: list[Model] = field(default_factory=list)
    again: list[int] = field(default_factory=list)
    room: int = 0
    suspects: int = 0
    deadly: int = 0
    closed: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    horizon: int = 0
    is_idle: bool = False
    is_leaving: bool = False


@dataclass(slots=True)
class Answer:
    """What a worker is told: the addresses that are its own now (*taken*; *held* with items that a
    lost one held, and the *answers* that gave their pages), other's own texts and models, addresses
    that were *copied* (they are the pages of others); whether the crawl *is_open* (some addresses
    wait, or are in hand), and whether another worker *is_busy*: if that is lost, there will be
    something to do.
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
