"""Search indexes: write the pages of a site's history to search engines, and search them."""
