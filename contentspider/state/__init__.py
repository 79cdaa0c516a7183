"""State on disk: ledgers, histories, models and the files of items."""
