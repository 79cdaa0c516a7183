"""The ledger of a crawl: its addresses, items, kept pages and runs."""
