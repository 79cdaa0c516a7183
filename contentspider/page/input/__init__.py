"""Reads pages: decoding, parsing, files, PDF, corrections by a person, storage as JSON."""
