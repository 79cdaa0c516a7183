"""The crawls of a machine: where their ledgers are, and how each ended."""
