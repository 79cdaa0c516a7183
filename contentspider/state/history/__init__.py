"""The history of a crawl: the pages that its runs have seen, and how each has changed."""
