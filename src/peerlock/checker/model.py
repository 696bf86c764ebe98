"""What is searched: peers, their requests, and what the network may do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from peerlock.algorithms.entry import Algorithm, Bound
from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.settings import Value, arguments, used
from peerlock.core.demands import Permits, Rule
from peerlock.core.errors import UsageError
from peerlock.core.peer import NodeId, Peer, state_fields


@dataclass(frozen=True)
class Network:
    """The order of delivery, and the total number of faults in one run.

    A crashed node is gone for good, and so is what was on its way to it; or it comes back
    some time later, its memory lost.
    """

    fifo: bool
    losses: int = 0
    duplications: int = 0
    crashes: int = 0
    returns: bool = False  # crashed nodes come back

    def __str__(self) -> str:
        faults = [
            f"{count} {name if count > 1 else one}"
            for count, one, name in (
                (self.losses, "loss", "losses"),
                (self.duplications, "duplicate", "duplicates"),
                (self.crashes, "crash", "crashes"),
            )
            if count
        ]
        faults += ["coming back"] if self.crashes and self.returns else []
        return ", ".join(["fifo" if self.fifo else "any order", *faults])

    @property
    def faults(self) -> int:
        return self.losses + self.duplications + self.crashes


@dataclass(frozen=True)
class Model:
    """A cluster to search: its peers, their requests, and what the network may do."""

    name: str
    make: Callable[[NodeId], Peer]
    nodes: int
    requests: tuple[int, ...] | None  # by each node; None is without end
    network: Network
    rule: Rule = Permits()  # what requests may be for, and which may be inside together
    fences: bool = True  # watch that they grow from grant to grant
    fence_of: Callable[[Peer], int] | None = None  # the real ones, of the latest grant
    at_rest: Callable[[Sequence[Peer | None]], str] | None = None  # see `Steps.stuck`
    medium: bool = False  # all hear each broadcast, the sender too, in one order
    lasting: tuple[NodeId, ...] = ()  # those that never crash
    outlasting: tuple[str, ...] = ()  # timers that fire only when nothing is under way
    within: Callable[[tuple[Any, ...]], bool] | None = None  # snapshots to continue from
    bound: Bound | None = None  # … in words
    settings: Mapping[str, Any] = field(default_factory=dict)  # what was chosen, in words
    measured: bool = True  # if it holds: the most messages and the most overtaking

    @property
    def assumptions(self) -> str:
        more = ["in one order for all"] if self.medium else []
        more += ["long time-outs"] if self.outlasting else []
        more += [str(self.bound)] if self.bound else []
        return ", ".join([str(self.network), *more])


def model(
    name: str,
    nodes: int,
    requests: int | tuple[int, ...] | None,
    network: Network | None = None,
    quorums: str | None = None,
    topology: str | None = None,
    permits: int | None = None,
    **more: Value | None,
) -> Model:
    """A cluster of an algorithm, on the network that its card requires.

    Its settings are those of `algorithms.settings`.

    Where nodes may crash, what they knew is lost, and the number of the view makes fences
    grow, which a peer does not know; so fences are not checked then.  Where several nodes
    are inside together, their fences need not grow, nor where silence is a message.

    Timers fire at any time: no delay is so short that everything else must be quicker.
    A timeout that must be long enough for all messages to arrive, and for the messages that
    these cause, fires only when nothing is under way.
    """
    entry = algorithm(name)
    chosen = more | {"quorums": quorums, "topology": topology, "permits": permits}
    settings = arguments(entry, nodes, **chosen)
    members = tuple(range(1, nodes + 1))
    network = network or card_network(entry)
    rule = entry.rule(chosen)
    return Model(
        name=name,
        make=lambda node: entry.peer(node, members, **settings),
        nodes=nodes,
        requests=_of_each(requests, nodes),
        network=network,
        rule=rule,
        fences=rule == Permits() and not (network.crashes or entry.timely),
        medium=entry.medium,
        outlasting=entry.outlasting,
        within=within(entry, entry.bound) if entry.bound else None,
        bound=entry.bound,
        settings=used(entry, nodes, **chosen),
    )


def within(entry: Algorithm, bound: Bound) -> Callable[[tuple[Any, ...]], bool]:
    at = state_fields(entry.peer).index(bound.field)
    return lambda snapshot: bool(snapshot[at] <= bound.most)


def exhibit(name: str) -> Model:
    """The cluster that shows what the catalogue says of an algorithm."""
    shown = algorithm(name).exhibit
    return model(name, shown.nodes, shown.requests, quorums=shown.quorums)


def card_network(entry: Algorithm) -> Network:
    shown = entry.exhibit
    return Network(entry.fifo, shown.losses, crashes=shown.crashes, returns=shown.returns)


def _of_each(requests: int | tuple[int, ...] | None, nodes: int) -> tuple[int, ...] | None:
    if requests is None:
        return None
    counts = (requests,) * nodes if isinstance(requests, int) else requests
    if len(counts) != nodes:
        raise UsageError(
            f"invalid requests: use one number, or one for each of {nodes} nodes"
        )
    if min(counts) < 0 or max(counts) < 1:
        raise UsageError("invalid requests: use at least one request")
    return counts
