"""Items wait in the book until their site is learned, then get their content."""
