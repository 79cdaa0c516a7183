"""Learns where the pages of a site show fields (date, author, a user's own), and reads them there.

Modules of dates and authors: `learning` learns from pages whose metadata state them, `shown` has
the general rules for all sites, and `choice` chooses among metadata, learned places and rules.

Modules of a user's own fields: `example_pages` collects the pages of examples, `own_learning`
learns from examples, `stated_learning` from pages on which selectors find a value. `own_places` has
the ways to read a block, `own_fields` the learned knowledge and its reader.

Modules of both: `places` defines places of a template and the ways to read dates and names there,
`precision` tests places on pages that were held back, and `site_fields` is what a site model holds.
"""
