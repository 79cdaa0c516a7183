"""Reads pages: decoding, parsing, files, documents, corrections by a person, storage as JSON."""
