"""The crawls in the state folder: where their books are, and how they stand."""
