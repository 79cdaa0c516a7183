"""Modules that all parts of a crawl use: engine, options, state, items, meta keys, outcomes."""
