"""The HTTP pages of a long-running member, for monitoring."""
