"""One crawl on several machines: its frontier is in PostgreSQL."""
