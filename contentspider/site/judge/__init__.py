"""Judges of single blocks: the shipped prior, and the classifier of a site."""
