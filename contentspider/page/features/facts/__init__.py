"""What is counted of blocks and their texts, of which the groups of features are made."""
