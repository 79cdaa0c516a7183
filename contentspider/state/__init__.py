"""State on disk: books, models and the files of items."""
