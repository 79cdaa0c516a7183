"""Own texts: the texts of pages that a site publishes without its template.

Feeds, content-management APIs and search indexes contain own texts (`texts`); sources read them
(`sources`). Their comparison with the blocks of a page shows which blocks are content.
"""
