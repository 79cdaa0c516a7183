"""Evaluation: corpora with gold text, and the predicted content of their pages."""
