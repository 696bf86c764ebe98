"""Quorum systems: who asks whom, and what that is worth."""
