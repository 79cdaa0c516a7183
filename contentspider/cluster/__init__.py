"""Crawls that several machines share, with the frontier in PostgreSQL."""
