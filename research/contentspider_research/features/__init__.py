"""The papers' feature sets, and what they are made of."""
