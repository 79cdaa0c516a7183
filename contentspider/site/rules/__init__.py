"""Rules that do what a model does, for tools that have none."""
