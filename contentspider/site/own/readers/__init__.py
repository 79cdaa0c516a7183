"""Readers of own texts: feeds, WordPress, search indexes, Markdown beside a page."""
