"""The crawls in the state folder: where their ledgers and histories are, and how they stand."""
