"""Errors that contentspider raises."""


class ContentSpiderError(Exception):
    """Base of all errors of contentspider; its message says what happened, where, and what to
    do.
    """


class StateError(ContentSpiderError):
    """A file that contentspider wrote (a model, a prior, held pages) cannot be used.

    Raised by the stores; who opens them sets the file aside, warns once, and goes on without it.
    """


class OverridesError(ContentSpiderError):
    """A site's corrections (``overrides.toml``) cannot be used; the message names file and line.

    A command ends with it; a crawl that meets it on its way goes on without the site's corrections,
    and counts as incomplete.
    """


class NotEnoughTextError(ContentSpiderError):
    """The pages given to a learner hold no text at all, so that there is nothing to learn from."""
