"""What an algorithm's file says of it at its end: one entry for each algorithm.

A file of algorithms ends with `ENTRIES`, a tuple of these.  What the file says in words
is in its docstring: see `card`.  What `takes` means is in `settings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from peerlock.core.demands import DEFAULT_PERMITS, RULES, Permits, Rule, Sharing
from peerlock.core.peer import Peer

# The five papers that the collection began with, by the names that we have for them.
PAPERS = {
    "maekawa-1985": "Maekawa, 1985",
    "ricart-agrawala-tr869-1980": "Ricart and Agrawala, TR-869, 1980",
    "chaudhuri-edward": "Chaudhuri and Edward",
    "velazquez-1993-survey": "Velazquez, 1993",
    "muehl-lecture": "Mühl's lecture",
}


class Exhibit(NamedTuple):
    """The cluster that a check tries unless told otherwise: one that shows the verdict."""

    nodes: int = 3
    requests: int | tuple[int, ...] | None = 1  # by each node; None is without end
    quorums: str | None = None
    losses: int = 0
    crashes: int = 0
    returns: bool = False  # a node that crashes comes back


class Quotation(NamedTuple):
    """Words of a paper; "…" stands for what is left out between them."""

    paper: str  # one of PAPERS
    place: str
    words: str

    def __str__(self) -> str:
        return f"“{self.words}” ({PAPERS[self.paper]}, {self.place})"


class Bound(NamedTuple):
    field: str  # of a peer's state
    most: int

    def __str__(self) -> str:
        return f"{self.field} up to {self.most}"


class Algorithm(NamedTuple):
    name: str
    peer: type[Peer]
    source: str  # its authors
    year: int
    family: str  # one of FAMILIES in `listed`
    messages: str  # per entry, as the paper counts them
    fifo: bool = False  # needs messages between two nodes to stay in order
    takes: str = ""  # what it is built on: one of SETTINGS, or nothing
    default: str = ""  # … unless told otherwise, where it is not as with most
    topologies: tuple[str, ...] = ()  # the kinds of topology that it can use
    sets: str = ""  # one of SETS, if it can use these as well as quorums
    serves: tuple[str, ...] = ()  # what a lock node can offer with it
    rests: bool = True  # when no node asks, messages cease
    broadcast: bool = False  # runs on a medium where a message to all is one message
    medium: bool = False  # all hear its broadcasts, the sender too, in one order
    timely: bool = False  # needs a bound on delay; silence tells, and brings no fence
    outlasting: tuple[str, ...] = ()  # its timers that outlast all that is under way
    bound: Bound | None = None  # if it has states without end, how far a search goes
    verdict: str = "holds"  # what a search of all schedules finds
    quotes: tuple[Quotation, ...] = ()  # the words that are wrong, where they are a paper's
    exhibit: Exhibit = Exhibit()

    @property
    def shares(self) -> bool:
        """Readers may be inside together, and there is nothing else to ask for."""
        return "shared lock" in self.serves and self.takes not in RULES

    def capacity(self, permits: int | None = None) -> int:
        """How many may be inside together, other than readers."""
        if self.takes != "permits":
            return 1
        return DEFAULT_PERMITS if permits is None else permits

    def rule(self, chosen: Mapping[str, Any]) -> Rule:
        """Which requests may be inside together, by what was chosen of the settings."""
        if self.shares:
            return Sharing()
        if self.takes not in RULES:
            return Permits()
        count = chosen.get(self.takes)
        return RULES[self.takes](DEFAULT_PERMITS if count is None else count)

    @property
    def needs(self) -> str:
        """What it asks of the network, in words."""
        wanted = ["FIFO"] if self.fifo else []
        if self.medium:
            wanted.append("a medium that orders")
        if self.broadcast:
            wanted.append("a broadcast medium")
        if self.timely or self.outlasting:
            wanted.append("a bound on delay")
        if self.takes == "quorums":
            wanted.append("quorums")
        elif self.takes == "topology" and "complete" not in self.topologies:
            wanted.append("a tree")
        return ", ".join(wanted)

    @property
    def headline(self) -> str:
        """Of a piece of the museum: what is wrong with it, the first line of its class."""
        return (self.peer.__doc__ or "").splitlines()[0] if self.family == "museum" else ""
