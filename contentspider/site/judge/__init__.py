"""Judges of single blocks: the prior that ships, and the classifier of one site."""
