"""Names and phrases that say what a block is, and the language of a text."""
