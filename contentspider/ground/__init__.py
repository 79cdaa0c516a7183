"""What every other part uses: errors, addresses, plug-ins, atomic files."""

__version__ = "0.1.0"
