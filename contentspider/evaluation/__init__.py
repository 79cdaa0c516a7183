"""Corpora with gold text, and predictions of their pages."""
