"""The papers' experiments: tables and charts."""
