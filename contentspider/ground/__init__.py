"""Modules that every other part uses: errors, addresses, plug-ins, atomic files."""

from __future__ import annotations

__version__ = "0.1.0"
