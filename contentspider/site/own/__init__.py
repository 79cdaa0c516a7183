"""What a site publishes of its own pages outside of its template, and what it tells of them.

A feed, an answer of the content system or a search index spell out the text of pages: own texts
(`texts`), read by sources (`sources`). Against the blocks of a page they tell which are content.
"""
