"""Search engines, a module each."""
