"""Rendering in a crawl: which pages a browser loads, and what comes of it."""
