"""A page's tree, walked once: blocks and what is around them."""
