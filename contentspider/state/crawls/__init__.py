"""The crawls of a machine: where their ledgers are, how each ended, what it found."""
