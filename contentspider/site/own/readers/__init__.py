"""Readers of own texts: feeds, WordPress, search indexes, and other versions of a page."""
