"""The engines that need an extra: tantivy, and search engines that run as servers."""
