"""The fields of a page, such as its date, in the places where the pages of its site show them."""
