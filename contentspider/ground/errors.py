"""The errors that contentspider raises."""

from __future__ import annotations

import zlib

# The errors that reading may raise for a record that is damaged, or that somebody else made.
DAMAGE = (
    *(zlib.error, ValueError, LookupError, TypeError, AttributeError, ArithmeticError),
    *(RecursionError, EOFError),
)


class ContentSpiderError(Exception):
    """Base of all errors of contentspider; the message says what happened and what to do.

    *code* is a short name of the reason. It stays the same when a message changes.
    """

    code = "error"

    def __init__(self, *values: object, code: str = "") -> None:
        super().__init__(*values)
        if code:
            self.code = code


class UsageError(ContentSpiderError):
    """An argument of the command line is wrong."""

    code = "usage"


class StateError(ContentSpiderError):
    """A file that contentspider wrote cannot be used; it is renamed, with a warning."""

    code = "state"


class OverridesError(ContentSpiderError):
    """A site's overrides cannot be used. A command ends; a crawl continues and is incomplete."""

    code = "overrides"


class FieldsError(ContentSpiderError):
    """A file of own fields is invalid. The message names the file and the field."""

    code = "fields"


class NotHTMLError(ContentSpiderError, ValueError):
    """The body is not HTML, but a binary file, a document, a feed, a sitemap, JSON, or the path or
    the address of a page.
    """

    code = "not-html"


class NotEnoughTextError(ContentSpiderError):
    """The pages given to a learner have too little text."""

    code = "not-enough-text"
