"""Errors that contentspider raises."""

from __future__ import annotations

import zlib

# What reading a record may raise that is damaged, or made by somebody else.
DAMAGE = (
    *(zlib.error, ValueError, LookupError, TypeError, AttributeError, ArithmeticError),
    *(RecursionError, EOFError),
)


class ContentSpiderError(Exception):
    """Base of all errors of contentspider; the message says what happened and what to do."""


class UsageError(ContentSpiderError):
    """An argument of the command line is wrong."""


class StateError(ContentSpiderError):
    """A file that contentspider wrote cannot be used: it is set aside with a warning."""


class OverridesError(ContentSpiderError):
    """A site's corrections cannot be used: a command ends, a crawl goes on and is incomplete."""


class NotEnoughTextError(ContentSpiderError):
    """The pages given to a learner have no text to learn from."""
