"""A mutant as data: one function of ours, with some words replaced."""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest


def rewrite(owner: type, name: str, old: str, new: str) -> Callable[..., None]:
    """Apply it with a monkeypatch; `old` must occur exactly once in the function."""

    def apply(patch: pytest.MonkeyPatch) -> None:
        found = inspect.getattr_static(owner, name)
        source = textwrap.dedent(inspect.getsource(getattr(found, "fget", found)))
        assert source.count(old) == 1, f"{name} has changed: {old!r}"
        made: dict[str, Any] = {}
        code = "from __future__ import annotations\n" + source.replace(old, new)
        exec(code, vars(sys.modules[owner.__module__]), made)
        patch.setattr(owner, name, made[name])

    return apply
