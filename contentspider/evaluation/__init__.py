"""Corpora with gold text: predictions, training of the prior, serving a folder as a site."""
