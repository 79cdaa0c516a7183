"""The book of a crawl: one SQLite file with its addresses, its items, and all that it knows of the
site's pages.
"""
