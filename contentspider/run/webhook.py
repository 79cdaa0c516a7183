"""Delivers the change log of a crawl to a webhook: in order, each change at least once.

Requests follow the Standard Webhooks specification, version 1.0.0
(https://www.standardwebhooks.com).
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import logging
import time
from contextlib import closing
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from filelock import FileLock, Timeout
from w3lib.url import safe_url_string

from contentspider.ground.addresses import is_web_address
from contentspider.ground.atomic import write_json
from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError, UsageError
from contentspider.ground.fetch import FAILURES, FetchError, exchange
from contentspider.ground.useragent import user_agent
from contentspider.state.crawls.books import read_book
from contentspider.state.crawls.feed import change_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from contentspider.state.book.changes import Changes

logger = logging.getLogger(__name__)

SECRET_VARIABLE = "CONTENTSPIDER_WEBHOOK_SECRET"  # noqa: S105 - its name
SECRET_PREFIX, MIN_SECRET_BYTES = "whsec_", 24
TIMEOUT_SECS = 20.0
# A request that fails is repeated after each of these times.
WAITS_SECS: Sequence[float] = (1, 2, 4, 8, 16, 32)
BUSY = 429
REFUSED_ALL = (401, 403, 404, 405, 410)  # other statuses from 400 on may be for one change only


class WebhookError(ContentSpiderError):
    """A change was not delivered; the message says from where the next call continues."""

    code = "webhook"


class ReceiverError(WebhookError):
    """The receiver takes no change of any crawl: it does not answer, or refuses all requests."""

    code = "webhook-receiver"


class Webhook:
    """The receiver of changes at *url*. *secret* signs the requests; it is base64 text.

    Raises `UsageError` for an address or a secret that cannot be used.
    """

    def __init__(self, url: str, secret: str) -> None:
        self.url, self.name = _read_url(url)
        self._key = _read_secret(secret)

    def post(self, message_id: str, message: Mapping[str, Any]) -> None:
        """Deliver a message. Raises `WebhookError` if the receiver refuses it, or if it fails for
        longer than all `WAITS_SECS`.
        """
        body = json.dumps(message, separators=(",", ":")).encode()
        problem = self._send(message_id, body)
        for wait in WAITS_SECS:
            if not problem:
                return
            logger.info("%s: %s; next attempt in %g s", self.name, problem, wait)
            time.sleep(wait)
            problem = self._send(message_id, body)
        if problem:
            raise ReceiverError(problem)

    def _send(self, message_id: str, body: bytes) -> str:
        """Send a request; return why it failed if a repetition may help, otherwise "".

        Raises `WebhookError` if a repetition does not help.
        """
        timestamp = str(int(time.time()))
        headers = {
            "Content-Type": "application/json",
            "User-Agent": user_agent(""),
            "webhook-id": message_id,
            "webhook-timestamp": timestamp,
            "webhook-signature": self.sign(message_id, timestamp, body),
        }
        try:
            status = exchange(self.url, TIMEOUT_SECS, True, "POST", body, headers).status
        except FetchError as error:
            raise ReceiverError(str(error)) from None
        except FAILURES as error:
            return f"it cannot be reached ({error})"
        if 300 <= status < 400:
            raise ReceiverError(
                f"it answers {status}, and redirects are not followed: give the address"
                " that it redirects to"
            )
        if 400 <= status < 500 and status != BUSY:
            error_type = ReceiverError if status in REFUSED_ALL else WebhookError
            raise error_type(f"it refuses the change with status {status}")
        return f"it answers {status}" if status >= 400 else ""

    def sign(self, message_id: str, timestamp: str, body: bytes) -> str:
        """Return the signature of a request: HMAC-SHA256 of its id, its time and its body."""
        content = f"{message_id}.{timestamp}.".encode() + body
        return "v1," + base64.b64encode(hmac.digest(self._key, content, "sha256")).decode()


def deliver(
    path: Path, webhook: Webhook, since: tuple[int, str] | None, kinds: Sequence[str]
) -> int:
    """Post the changes in a book to a webhook, and return how many.

    Delivery begins after the last change that the webhook has, or at *since* (a number and a time,
    as for `Changes.records`). Raises `WebhookError` when a change cannot be delivered.
    """
    try:
        with (
            FileLock(path.with_suffix(".webhooks.lock"), blocking=False),
            closing(read_book(path)) as book,
        ):
            positions = Positions(path)
            start = since or (positions.last(webhook, book.changes), "")
            with closing(book.changes.records(*start, kinds=kinds)) as records:
                return _deliver(path.stem, records, webhook, positions)
    except Timeout:
        raise ContentSpiderError(
            f"another process delivers the changes of {path.stem}: try again when it has ended"
        ) from None


def _deliver(
    crawl: str, records: Iterable[Mapping[str, Any]], webhook: Webhook, positions: Positions
) -> int:
    delivered = 0
    for record in records:
        message = {"type": f"page.{record['change']}", "timestamp": record["at"], "data": record}
        try:
            webhook.post(change_id(crawl, record), message)
        except WebhookError as error:
            raise type(error)(
                f"{webhook.name}: {error}. {counted(delivered, 'changes')} delivered. The next call"
                f" continues with change {record['seq']}"
            ) from None
        delivered += 1
        positions.save(webhook, record)
    return delivered


class Positions:
    """The last change in a *book* that each webhook has, in a file beside the book."""

    def __init__(self, book: Path) -> None:
        self._path = book.with_suffix(".webhooks.json")
        self._positions: dict[str, Any] = {}
        if self._path.exists():
            try:
                self._positions = dict(json.loads(self._path.read_bytes()))
            except (ValueError, TypeError) as error:
                raise self._damage_error() from error

    def last(self, webhook: Webhook, changes: Changes) -> int:
        """Return the number of the last change that a webhook has, 0 for none. Raises
        `ContentSpiderError` if the book does not have that change.
        """
        position = self._positions.get(_key(webhook))
        if position is None:
            return 0
        try:
            seq, at = int(position["seq"]), str(position["at"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._damage_error() from error
        record = next(changes.records(seq - 1), None)
        if record is None or (record["seq"], record["at"]) != (seq, at):
            raise ContentSpiderError(
                f"{webhook.name} has the changes up to {seq} ({at}), but the book has no such"
                " change: it was replaced or restored. Give --since, and delivery begins there"
            )
        return seq

    def save(self, webhook: Webhook, record: Mapping[str, Any]) -> None:
        """Store that a webhook has a change."""
        self._positions[_key(webhook)] = {name: record[name] for name in ("seq", "at")}
        write_json(self._path, self._positions)

    def _damage_error(self) -> ContentSpiderError:
        return ContentSpiderError(f"{self._path} is damaged: delete it, and give --since")


def _key(webhook: Webhook) -> str:
    """Return the key of a webhook's position, with a hash: the address itself may be a secret."""
    return f"{webhook.name} {sha256(webhook.url.encode()).hexdigest()[:16]}"


def _read_url(url: str) -> tuple[str, str]:
    """Return an address with quoted characters, and its part that may be shown: the server.

    Raises `UsageError` if no request can be sent to the address.
    """
    if not is_web_address(url) or url.split() != [url] or urlsplit(url).username:
        raise UsageError(
            "--webhook: give the address of a receiver, such as https://hooks.example.org/changes,"
            " without user and password"
        )
    address = urlsplit(safe_url_string(url))
    return address.geturl(), f"{address.scheme}://{address.netloc}"


def _read_secret(text: str) -> bytes:
    """Return the key in a secret; raises `UsageError` if it is missing, or too short."""
    try:
        key = base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) < MIN_SECRET_BYTES:
        raise UsageError(
            f"--webhook: the environment variable {SECRET_VARIABLE} needs a secret, which the"
            f" receiver has, too: '{SECRET_PREFIX}' and {MIN_SECRET_BYTES} or more random bytes in"
            f" base64, such as {SECRET_PREFIX}$(openssl rand -base64 32)"
        )
    return key
