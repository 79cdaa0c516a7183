"""Loaders of items for LangChain, LlamaIndex and Haystack. Each module needs an extra."""
