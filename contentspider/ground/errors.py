"""Errors that contentspider raises."""

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
    """A file that contentspider wrote (a model, a prior, held pages) cannot be used.

    Callers of the stores set the file aside, warn once, and go on without it.
    """


class OverridesError(ContentSpiderError):
    """A site's corrections (``overrides.toml``) cannot be used; the message names file and line.

    It ends a command. A running crawl continues without the site's corrections and counts as
    incomplete.
    """


class NotEnoughTextError(ContentSpiderError):
    """The pages given to a learner have no text to learn from."""
