"""Messages that a member might send who wants to do us harm, or is badly broken."""

from __future__ import annotations

from typing import Any, get_type_hints

from fuzz.source import Source
from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.node.fences import COUNT_BITS
from peerlock.node.terms import Demand, Terms
from peerlock.node.wire import MESSAGES, Batch, Open, Refused, ToPeer

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
    usual = ("naimi-trehel", "ricart-agrawala-readers-writers", "raymond-k")
    algorithm = source.choice([*usual, *ALGORITHMS])
    serves = BY_NAME[algorithm].serves if algorithm in BY_NAME else ()
    permits = source.choice(PERMITS if "lock" not in serves else (0, 0, 0, 0, *PERMITS))
    return Terms(algorithm, permits, bool(source.byte() & 1), source.integer())


def forged(source: Source) -> Any:
    kind: Any = source.choice([*MESSAGES, *[ToPeer] * 12])
    if kind is ToPeer:
        terms = forged_terms(source)
        entry = BY_NAME.get(terms.algorithm, SERVING[0])
        content = source.some(source.choice(entry.peer.messages))
        terms = terms._replace(algorithm=entry.name)
        numbers = source.integer(), source.integer(), source.integer()
        return ToPeer(name(source), numbers[0], terms, numbers[1], numbers[2], content)
    if kind is Open:
        held = forged_terms(source) if source.byte() & 1 else None
        return Open(name(source), forged_demand(source), held)
    if kind is Refused:
        return Refused(name(source), forged_demand(source), "no")
    hints = [hint for field, hint in get_type_hints(kind).items() if field != "name"]
    values = [forged_terms(source) if h is Terms else source.integer() for h in hints]
    return kind(name(source), *values) if "name" in kind._fields else kind()


def forged_batch(source: Source, to: int, view: int, first: int) -> Batch:
    """In its place in the order of batches, so that somebody looks at it."""
    odd = source.byte()
    messages = tuple(forged(source) for _ in range(1 + source.byte() % 4))
    batch = Batch(to, view, first, 0, 0, 0, messages)
    if odd < 192:
        return batch
    field = source.choice(("view", "first", "received", "fence", "limit", "to"))
    if field == "limit":  # one that could be
        number = view + source.byte()
        return batch._replace(fence=(number << COUNT_BITS) - 1, limit=number << COUNT_BITS)
    odd_one: dict[str, Any] = {field: source.integer()}
    return batch._replace(**odd_one)
