"""The errors that every layer may raise."""


class UsageError(ValueError):
    """An argument is invalid; the message says what to use instead, in one line."""


class Deadlock(RuntimeError):
    """A task or a thread would wait for itself: for a lock that it holds already, or, in a
    signal handler, for the call that the signal has interrupted."""
