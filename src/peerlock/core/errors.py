"""The errors that every layer may raise."""


class UsageError(ValueError):
    """An argument is invalid; the message says what to use instead, in one line."""
