"""From response to item: pages in hand, items that wait until their site is learned."""
