"""One page: blocks, hints, features, text and Markdown out."""
