"""What can be chosen of algorithms: how people write it, and what it becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from math import inf, isqrt
from typing import Any

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.index import INDEX
from peerlock.algorithms.listed import Listed
from peerlock.core.demands import DEFAULT_PERMITS
from peerlock.core.errors import UsageError, unknown
from peerlock.core.topology import KINDS as TOPOLOGIES
from peerlock.core.topology import Topology
from peerlock.core.topology import topology as make_topology
from peerlock.quorums import agreements, information
from peerlock.quorums.systems import SYSTEMS, is_known, quorum_system
from peerlock.quorums.weighted import Votes, untied, weighted

Value = str | float  # as a user writes it


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What can be chosen of algorithms, each as a user writes it; None is the default.

    One more is to be here and in SETTINGS; the command line then has an option for it.
    """

    quorums: str | None = None
    topology: str | None = None
    permits: int | None = None
    votes: str | None = None
    spare: int | None = None
    increments: str | None = None
    modulus: int | None = None
    limit: int | None = None
    bound: float | None = None
    way: str | None = None
    values: int | None = None
    priorities: str | None = None
    groups: int | None = None
    units: int | None = None
    sites: int | None = None
    resources: int | None = None

    @property
    def chosen(self) -> dict[str, Any]:
        values = {f.name: getattr(self, f.name) for f in fields(Settings)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class Setting:
    """How people write one of them, and what it becomes; given how many nodes there are."""

    form: str
    help: str
    type: type = str
    default: Callable[[int], Value] = lambda nodes: ""  # unless an algorithm has its own
    default_in_words: str = ""  # where it is not the same for all sizes
    make: Callable[[Any, int], Any] | None = None  # None: each algorithm has its own way


def _votes(text: str, nodes: int) -> Votes:
    votes = _of_each_node("votes", text, nodes)
    weighted(votes)  # complains
    return votes


def _increments(text: str, nodes: int) -> tuple[int, ...] | int:
    kind, _, most = text.partition(":")
    if kind == "random":
        if not (most.isascii() and most.isdecimal()):
            raise ValueError(f"{text!r} must have the largest step, like random:8")
        return _at_least(1, int(most), nodes)
    increments = _of_each_node("increments", text, nodes)
    return tuple(_at_least(1, increment, nodes) for increment in increments)


def _of_each_node(what: str, text: str, nodes: int) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise ValueError(f"invalid {what} {text!r}: write numbers, like 3,1,1")
    if len(parts) != nodes:
        raise ValueError(
            f"{len(parts)} numbers of {what}, and {nodes} nodes: -n {len(parts)}"
        )
    return tuple(map(int, parts))


def _at_least(least: int, number: int, nodes: int) -> int:
    if number < least:
        raise ValueError(f"it must be at least {least}, not {number}")
    return number


def _modulus(number: int, nodes: int) -> int:
    return _at_least(2 * nodes - 1, number, nodes)


def _bound(time: float, nodes: int) -> float:
    if not 0 < time < inf:
        raise ValueError(f"a bound on delay is a time above 0, not {time:g}")
    return time


def _way(letter: str, nodes: int) -> str:
    if letter not in WAYS:
        raise ValueError(f"invalid way {letter!r}: use one of {', '.join(WAYS)}")
    return letter


WAYS = "abcde"
SETTINGS: Mapping[str, Setting] = {
    "quorums": Setting(
        "KIND",
        "plane, grid, majority, tree, wall …: see show NAME; or majority/plane.",
        default=lambda nodes: "plane",
    ),
    "topology": Setting(
        "KIND", "ring, line, star, tree, tree:K, edges:1-2,2-3,… or graph:1-2,2-3,3-1,…"
    ),
    "permits": Setting(
        "K",
        "Number of permits, for semaphores.",
        int,
        lambda nodes: DEFAULT_PERMITS,
        make=partial(_at_least, 1),
    ),
    "votes": Setting(
        "V1,V2,…",
        "Votes of each node, like 3,1,1.",
        default=lambda nodes: ",".join(map(str, untied(nodes))),
        default_in_words="1 each, and 2 at node 1 if N is even",
        make=_votes,
    ),
    "spare": Setting(
        "S",
        "How many nodes are asked beyond a majority.",
        int,
        lambda nodes: 1,
        make=partial(_at_least, 0),
    ),
    "increments": Setting(
        "I1,I2,…|random:M",
        "By how much each node counts up; a larger step is a lower priority.",
        default=lambda nodes: ",".join(map(str, range(1, nodes + 1))),
        default_in_words="1,2,…,N",
        make=_increments,
    ),
    "modulus": Setting(
        "M",
        "Sequence numbers are below M.",
        int,
        lambda nodes: 2 * nodes - 1,
        "2N−1, which is the least",
        _modulus,
    ),
    "limit": Setting(
        "L",
        "Requests between two rounds of acknowledgements.",
        int,
        lambda nodes: 2,
        make=partial(_at_least, 1),
    ),
    "bound": Setting(
        "TIME",
        "Every message takes less than this time.",
        float,
        lambda nodes: 1.5,
        make=_bound,
    ),
    "way": Setting(
        "|".join(WAYS),
        "How a newcomer learns of the highest number; e needs --fifo.",
        default=lambda nodes: "a",
        make=_way,
    ),
    "values": Setting(
        "K",
        "Number of values that a node's state can have.",
        int,
        lambda nodes: 2 * nodes,
        "2N",
        partial(_at_least, 2),
    ),
    "priorities": Setting(
        "P1,P2,…",
        "The priority of each node; a larger one is served first.",
        default=lambda nodes: ",".join("1" * nodes),
        default_in_words="1 each",
        make=partial(_of_each_node, "priorities"),
    ),
    "groups": Setting(
        "M",
        "Number of groups; only one of them is inside at a time.",
        int,
        lambda nodes: DEFAULT_PERMITS,
        make=partial(_at_least, 1),
    ),
    "units": Setting(
        "L",
        "Number of units; a request is for one or more.",
        int,
        lambda nodes: DEFAULT_PERMITS,
        make=partial(_at_least, 1),
    ),
    "resources": Setting(
        "M",
        "Number of resources; a request is for a set of them.",
        int,
        lambda nodes: DEFAULT_PERMITS,
        make=partial(_at_least, 1),
    ),
    "sites": Setting(
        "S",
        "Number of sites that the nodes are divided into.",
        int,
        isqrt,
        "√N",
        partial(_at_least, 1),
    ),
}

# What is asked, and told, in the place of quorums; by the argument that peers have for it.
SETS: Mapping[str, Mapping[str, Callable[[int], Any]]] = {
    "information": information.KINDS,
    "agreement": agreements.KINDS,
}


def arguments(entry: Algorithm, nodes: int, **chosen: Value | None) -> dict[str, Any]:
    """Arguments to make the peers with, from what a user has chosen of SETTINGS."""
    if nodes < 1:
        raise UsageError(f"a cluster needs at least 1 node, not {nodes}")
    made: dict[str, Any] = {}
    for name, value in chosen.items():
        if value is not None:
            if entry.takes != name:
                raise UsageError(f"{entry.name} {NOT_BUILT_ON} {name}; {takers(name)}")
            made |= _made(entry, name, value, nodes)
    return made


def used(entry: Algorithm, nodes: int, **chosen: Value | None) -> dict[str, Any]:
    """What was chosen, or what is used if nothing was."""
    if not entry.takes:
        return {}
    given = chosen.get(entry.takes)
    return {entry.takes: default_for(entry, nodes) if given is None else given}


def default_for(entry: Algorithm, nodes: int) -> Value:
    return entry.default or SETTINGS[entry.takes].default(nodes)


def choices(entry: Algorithm) -> tuple[str, ...]:
    """The kinds of what it takes, if that comes in kinds."""
    match entry.takes:
        case "quorums":
            return tuple(dict.fromkeys((*_own_sets(entry), *SYSTEMS)))
        case "topology":
            return tuple(
                kind for kind in TOPOLOGIES if kind.partition(":")[0] in entry.topologies
            )
    return ()


def listed(entry: Algorithm) -> Listed:
    """What the index has of it."""
    return Listed(
        name=entry.name,
        module=entry.peer.__module__.rpartition(".")[2],
        source=entry.source,
        year=entry.year,
        family=entry.family,
        messages=entry.messages,
        fifo=entry.fifo,
        needs=entry.needs,
        takes=entry.takes,
        choices=choices(entry),
        serves=entry.serves,
        verdict=entry.verdict,
        headline=entry.headline,
    )


NOT_BUILT_ON = "is not built on a choice of"


def takers(setting: str) -> str:
    """Those of the catalogue that take it, in words."""
    return f"these are: {', '.join(a.name for a in INDEX.values() if a.takes == setting)}"


def _made(entry: Algorithm, name: str, value: Any, nodes: int) -> dict[str, Any]:
    if name == "quorums":
        return _quorums(entry, value, nodes)
    if name == "topology":
        return {name: _topology(entry, value, nodes)}
    make = SETTINGS[name].make
    assert make is not None
    try:
        return {name: make(value, nodes)}
    except ValueError as error:
        raise UsageError(f"--{name}: {error}") from None


def _own_sets(entry: Algorithm) -> Mapping[str, Callable[[int], Any]]:
    return SETS[entry.sets] if entry.sets else {}


def _quorums(entry: Algorithm, kind: str, nodes: int) -> dict[str, Any]:
    own = _own_sets(entry)
    if kind in own:
        return {entry.sets: own[kind](nodes)}
    if not is_known(kind):
        raise UsageError(unknown("kind of quorums", kind, choices(entry), listed=True))
    return {"quorums": quorum_system(kind, nodes)}


def _topology(entry: Algorithm, spec: str, nodes: int) -> Topology:
    try:
        found = make_topology(spec, nodes)
    except ValueError as error:
        no_tree = "cycle" in str(error) and "graph" in entry.topologies
        hint = "; write graph: for a network that is not a tree" if no_tree else ""
        raise UsageError(f"{error}{hint}") from None
    if found.kind not in entry.topologies:
        raise UsageError(
            f"{entry.name} does not run on a {found.kind}; "
            f"it takes {', '.join(entry.topologies)}"
        )
    return found
