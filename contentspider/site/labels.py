"""The ways to label blocks, by name; apart from the learner, which takes a second to import.

``votes``: the site's votes over the prior, relevance and repetition, the default. ``paper``:
Algorithm 1 to the letter. ``paper-local``: the same with the best cluster chosen a page at a time.
``contrast``: Algorithm 1 with the relevance to the page's own hints less that to other pages'.
"""

LABEL_METHODS = ("votes", "paper", "paper-local", "contrast")
