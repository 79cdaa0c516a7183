"""What all parts of a crawl use: engine, options, state, items, meta keys and outcomes."""
