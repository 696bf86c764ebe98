"""Files of certificates and keys: what OpenSSL needs to be told, and does not tell."""

from __future__ import annotations

from pathlib import Path


def can_read(path: str | Path) -> bool:
    """OpenSSL does not say which of several files it could not read."""
    try:
        Path(path).read_bytes()
    except OSError:
        return False
    return True


def no_password() -> str:
    """Otherwise OpenSSL would ask for a password on the terminal, and block."""
    return ""
