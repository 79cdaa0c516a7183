"""Books as a later process finds them."""

from __future__ import annotations

from contentspider.state.book.book import Book


def killed(book: Book) -> Book:
    """Return the book as a new process finds it after a kill."""
    book.close()
    return Book(book.path)
