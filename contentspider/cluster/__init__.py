"""Many sites on several machines: one machine at a time crawls a site."""
