"""The settings of contentspider: a table, how values are checked, and what they say."""
