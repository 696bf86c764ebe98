"""Distributed locks between your processes, with no lock server."""

__version__ = "0.1.0"
