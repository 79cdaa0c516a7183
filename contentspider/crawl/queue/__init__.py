"""The queue of a crawl: requests, pauses, outages, and the ledger that keeps them."""
