"""What a page says of itself: titles, descriptions, dates, authors, its stated text."""
