"""What is kept on disk: ledgers, histories, models, files of items."""
