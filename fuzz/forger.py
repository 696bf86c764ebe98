"""Messages that a member might send who wants to do us harm, or is badly broken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args, get_type_hints

from fuzz.source import Source
from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.node.fences import COUNT_BITS
from peerlock.node.terms import LOCK, SEMAPHORE, SHARED_LOCK, Demand, Terms
from peerlock.node.wire import MESSAGES, Batch, Epoch, NameReport, ToPeer

NAMES = ("x", "y", "z", "", "\x00", "ü" * 300)
SERVING = [entry for entry in CATALOGUE if entry.serves]

# Which algorithms a forger speaks of: those that serve, one that does not, one of nobody's.
ALGORITHMS = [*(entry.name for entry in SERVING), "token-ring", "nobody"]
BY_NAME = {entry.name: entry for entry in SERVING}
PERMITS = (0, 0, 0, 1, 2, 3, 1_000, 1_001, -1, 2**40)


def name(source: Source) -> str:
    """Mostly one of three."""
    byte = source.byte()
    return NAMES[byte % 3] if byte < 240 else NAMES[byte % len(NAMES)]


def forged_demand(source: Source) -> Demand:
    algorithm = source.choice(["", "", "", *ALGORITHMS])
    return Demand(algorithm, source.choice(PERMITS), bool(source.byte() & 1))


def forged_terms(source: Source) -> Terms:
    usual = (LOCK, SHARED_LOCK, SEMAPHORE)
    algorithm = source.choice([*usual, *ALGORITHMS])
    serves = BY_NAME[algorithm].serves if algorithm in BY_NAME else ()
    permits = source.choice(PERMITS if "lock" not in serves else (0, 0, 0, 0, *PERMITS))
    return Terms(algorithm, permits, bool(source.byte() & 1), source.integer())


def forged(source: Source) -> Any:
    kind: Any = source.choice([*MESSAGES, *[ToPeer] * 12])
    if kind is not ToPeer:
        return kind(*forged_fields(source, kind))
    entry = BY_NAME.get(forged_terms(source).algorithm, SERVING[0])
    content = source.some(source.choice(entry.peer.messages))
    epoch, numbers = forged_epoch(source), (source.integer(), source.integer())
    return ToPeer(name(source), epoch, entry.name, *numbers, content)


def forged_in(source: Source, view: int) -> Any:
    """Mostly as if its sender had seen this view."""
    message = forged(source)
    if not hasattr(message, "view") or source.byte() >= 224:
        return message
    return message._replace(view=view)


def forged_fields(source: Source, kind: Any) -> list[Any]:
    return [forged_value(source, hint) for hint in get_type_hints(kind).values()]


def forged_value(source: Source, hint: Any) -> Any:
    if hint in MAKERS:
        return MAKERS[hint](source)
    (part, _) = get_args(hint)  # a tuple of these
    return tuple(forged_value(source, part) for _ in range(source.byte() % 4))


def forged_epoch(source: Source) -> Epoch:
    """Mostly one that there may be."""
    byte = source.byte()
    if byte < 240:
        return Epoch(1 + byte % 3, 1 + byte // 3 % 8)
    return Epoch(source.integer(), source.integer())


MAKERS: dict[Any, Callable[[Source], Any]] = {
    int: lambda source: source.integer(),
    float: lambda source: source.choice((-1.0, 0.0, 0.5, 1e300, float("nan"))),
    bool: lambda source: bool(source.byte() & 1),
    str: name,
    Demand: forged_demand,
    Terms: forged_terms,
    Epoch: forged_epoch,
    NameReport: lambda source: NameReport(*forged_fields(source, NameReport)),
}


def forged_batch(source: Source, to: int, view: int, first: int) -> Batch:
    """In its place in the order of batches, so that it is looked at."""
    odd = source.byte()
    messages = tuple(forged_in(source, view) for _ in range(1 + source.byte() % 4))
    batch = Batch(to, view, first, 0, 0, 0, messages)
    if odd < 192:
        return batch
    field = source.choice(("view", "first", "received", "fence", "limit", "to"))
    if field == "limit":  # one that could be
        number = view + source.byte()
        return batch._replace(fence=(number << COUNT_BITS) - 1, limit=number << COUNT_BITS)
    odd_one: dict[str, Any] = {field: source.integer()}
    return batch._replace(**odd_one)
