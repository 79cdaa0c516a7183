"""What is kept on disk: models, the ledger of a crawl."""
