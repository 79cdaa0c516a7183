"""Metadata of a page: titles, descriptions, dates, authors, breadcrumbs, stated texts."""
