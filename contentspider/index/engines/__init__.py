"""Search engines that run as servers."""
