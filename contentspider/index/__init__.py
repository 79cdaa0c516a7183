"""Search indexes: write the pages of a site's book to search engines, and search them."""
