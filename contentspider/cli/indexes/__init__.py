"""Commands on search indexes."""
