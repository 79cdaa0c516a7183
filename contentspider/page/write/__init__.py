"""Content written out: text, Markdown, HTML, passages."""
