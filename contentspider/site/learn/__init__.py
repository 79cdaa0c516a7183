"""Learning a site from its own pages, and judging a page by itself."""
