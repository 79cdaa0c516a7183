"""Compares the pages of a crawl with the known pages of its book."""
