"""Errors that contentspider raises."""


class ContentSpiderError(Exception):
    """Base of all errors of contentspider; the message says what happened and what to do."""


class UsageError(ContentSpiderError):
    """An argument of the command line is wrong."""


class StateError(ContentSpiderError):
    """A file that contentspider wrote cannot be used: it is set aside with a warning."""


class OverridesError(ContentSpiderError):
    """A site's corrections (``overrides.toml``) cannot be used; the message names file and line.
    A command ends; a crawl goes on without them and counts as incomplete.
    """


class NotEnoughTextError(ContentSpiderError):
    """The pages given to a learner have no text to learn from."""
