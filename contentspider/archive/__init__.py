"""Stored pages at any size: three functions that know no engine, and engines that call them."""
