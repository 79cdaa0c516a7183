"""Learns where the pages of a site show fields (date, author, a user's own), and reads them there.

Modules of dates and authors:

- `learning` learns from pages with the field in their metadata.
- `shown` has the general rules, which hold for all sites.
- `choice` chooses among metadata, learned places and general rules.

Modules of a user's own fields:

- `example_pages` collects the pages of examples while the pages of a site are read.
- `own_learning` learns from examples.
- `stated_learning` learns from pages where a selector finds a value.
- `own_places` has the ways to read a block.
- `own_fields` has the learned knowledge of a field, and reads pages with it.

Modules of both:

- `places` defines a place, and has the ways to read dates and names in a block.
- `precision` tests places on pages that were held back.
- `site_fields` reads all fields of a page. A site model holds it.
"""
