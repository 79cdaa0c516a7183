"""Items wait in the ledger until their site is learned, then get their content."""
