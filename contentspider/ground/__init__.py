"""What every room stands on: errors, addresses, plug-ins, lines of text."""

__version__ = "0.1.0"
