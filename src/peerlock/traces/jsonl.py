"""A trace as JSON lines: a header, then one object for each step; and back.

Keys that a step does not have are left out.  A message is {"type": "REQUEST", "fields":
{...}}; read back, it is a frozen value of a class made for it, with those fields.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, make_dataclass
from enum import Enum
from functools import cache
from typing import Any

from peerlock.core.peer import snake
from peerlock.traces.trace import Kind, Step, Trace

VERSION = 1


def render(trace: Trace) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in _records(trace))


def read(lines: Iterable[str]) -> Trace:
    """The trace of the lines of a `.jsonl` file, but for the classes of its messages."""
    records = (json.loads(line) for line in lines)
    header: dict[str, Any] = next(records, {})
    if header.get("version") != VERSION:
        raise ValueError(f"not a peerlock trace of version {VERSION}")
    trace = Trace(header["algorithm"], header["nodes"], header["seed"])
    trace.steps += [_step(record) for record in records]
    return trace


def _records(trace: Trace) -> Iterator[dict[str, Any]]:
    yield {
        "format": "peerlock trace",
        "version": VERSION,
        "algorithm": trace.algorithm,
        "nodes": trace.nodes,
        "seed": trace.seed,
    }
    for step in trace:
        pairs = ((f.name, getattr(step, f.name)) for f in fields(step))
        yield {name: _json(value) for name, value in pairs if value not in (None, "")}


def _json(value: Any) -> Any:
    """A message field in JSON; values that JSON cannot represent, as text."""
    match value:
        case Enum():
            return _json(value.value)
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case tuple():
            return [_json(item) for item in value]
        case frozenset():
            return [_json(item) for item in sorted(value)]
    if is_dataclass(value) and not isinstance(value, type):
        content = {f.name: _json(getattr(value, f.name)) for f in fields(value)}
        return {"type": snake(type(value)).upper(), "fields": content}
    return str(value)


def _step(record: dict[str, Any]) -> Step:
    values = {name: _value(value) for name, value in record.items()}
    return Step(**values | {"kind": Kind(record["kind"])})


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_value, value))
    if isinstance(value, dict):
        content = {name: _value(item) for name, item in value["fields"].items()}
        return _message_type(value["type"], tuple(content))(**content)
    return value


@cache
def _message_type(name: str, field_names: tuple[str, ...]) -> type:
    """A class that `label` prints under the name it was written with."""
    class_name = "".join(word.capitalize() for word in name.split("_"))
    return make_dataclass(class_name, field_names, frozen=True)
