"""Corpora with gold text: predictions of their pages, and a folder served as the site it was."""
