"""One example of everything that travels, by name: what tests/golden keeps the bytes of.

`python -m tests.support.wire_examples` writes the bytes of this version.  It refuses to
change those that are kept: a change of bytes needs a new VERSION, and so a new file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.node.terms import Demand, Terms
from peerlock.node.views import Member, View
from peerlock.node.wire import ALGORITHM_TAGS, MESSAGES, Batch, Epoch, NameReport, ToPeer
from peerlock.runtime.codec import (
    VERSION,
    Ask,
    Frame,
    Hello,
    Refusal,
    Seen,
    StatusTold,
    encode,
)

GOLDEN = Path(__file__).parents[1] / "golden"

VIEW = View(1_700_000_000_000, (Member(7, "10.0.0.7:7000", 123), Member(9, "/run/x", 4)))
TERMS = Terms("naimi-trehel", 0, False, 7)
BY_NAME = {entry.name: entry.peer.messages for entry in CATALOGUE if entry.serves}


def examples() -> dict[str, Frame]:
    found: dict[str, Frame] = {
        "Hello": Hello(VERSION, "cluster", 7),
        "Seen": Seen(VIEW),
        "Ask": Ask(VERSION, "cluster"),
        "StatusTold": StatusTold({"locks": [{"name": "x", "holders": []}]}),
        "Refusal": Refusal(VERSION, "busy"),
        "Batch": batch(),
    }
    for kind in MESSAGES:
        if kind is not ToPeer:
            found[kind.__name__] = batch(kind(*fields_of(kind)))
    for name in ALGORITHM_TAGS:
        for kind in BY_NAME[name]:
            found[f"{name} {kind.__name__}"] = batch(to_peer(name, kind))
    return found


def batch(*messages: Any) -> Batch:
    fence = (VIEW.number << 12) + 5
    return Batch(9, VIEW.number, 300, 70_000, fence, (VIEW.number + 1) << 12, messages)


def to_peer(name: str, kind: type) -> ToPeer:
    return ToPeer("ä name", Epoch(3, 4), name, 1, 2, kind(*fields_of(kind)))


def fields_of(kind: type) -> list[Any]:
    return [value(hint, i) for i, hint in enumerate(get_type_hints(kind).values(), 1)]


def value(hint: Any, i: int) -> Any:
    """Different for each field, so that fields that change places are seen."""
    simple = {bool: i % 2 == 1, int: 40 + i, str: f"text {i}", float: i / 8}
    if hint in simple:
        return simple[hint]
    if get_origin(hint) is tuple:
        return tuple(value(get_args(hint)[0], i + n) for n in range(2))
    if hint is Demand:
        return Demand("raymond-k", 3, False)
    if hint in (Epoch, NameReport):
        return hint(*fields_of(hint))
    return TERMS


def golden(version: int) -> Path:
    return GOLDEN / f"wire-{version}.json"


def main() -> None:
    path = golden(VERSION)
    made = {name: encode(frame).hex() for name, frame in examples().items()}
    kept = json.loads(path.read_text()) if path.exists() else {}
    changed = [name for name, data in kept.items() if made.get(name) != data]
    if changed:
        sys.exit(f"the bytes of {', '.join(changed)} have changed: VERSION must go up")
    path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
