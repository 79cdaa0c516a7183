"""The papers' classifiers over a matrix of numbers."""
