"""Own texts: what a site publishes of its own pages outside of its template.

A feed, an answer of the content system or a search index have the text of pages (`texts`), read by
sources (`sources`). Compared with the blocks of a page they show which are content.
"""
