"""What nodes say to one another.

Names are opened before they are used: the member to whom a name's hash points is its
*home* and knows who has it open and on what terms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from peerlock.core.peer import NodeId
from peerlock.node.terms import Demand, Terms
from peerlock.node.views import MemberId


class Open(NamedTuple):
    """To the home: I want to use this name; `held` when I hold it since an older view."""

    name: str
    demand: Demand
    held: Terms | None = None


class Opened(NamedTuple):
    """From the home: use it on these terms.  `epoch` tells this opening from others."""

    name: str
    epoch: int
    terms: Terms


class Refused(NamedTuple):
    """From the home: the cluster uses this name in another way."""

    name: str
    demand: Demand
    why: str


class Recall(NamedTuple):
    """From the home: close it as soon as you can; it will be opened on other terms."""

    name: str
    epoch: int


class Close(NamedTuple):
    """To the home: I neither hold it nor want it any more."""

    name: str
    epoch: int


class Forget(NamedTuple):
    """From the home: nobody has it open; what its algorithm has left behind can go."""

    name: str
    epoch: int


class Recheck(NamedTuple):
    """To the home: I still remember this and have heard nothing for long.  Should I?"""

    name: str
    epoch: int


class Probe(NamedTuple):
    """To everybody: is anybody over there in, or waiting?  From who would not wait."""

    name: str


class Probed(NamedTuple):
    """How many are, and how many of these are readers; who only probes does not count."""

    name: str
    users: int
    readers: int


class Ready(NamedTuple):
    """To the first member of the view: what I hold, I hold in this view."""


class Go(NamedTuple):
    """From the first member: everybody is ready."""


class ToPeer(NamedTuple):
    """From one peer of an algorithm to another; receiver 0 is every peer over there."""

    name: str
    epoch: int
    terms: Terms
    sender: NodeId
    receiver: NodeId
    message: Any


Message = (
    Open
    | Opened
    | Refused
    | Recall
    | Close
    | Forget
    | Recheck
    | Probe
    | Probed
    | Ready
    | Go
    | ToPeer
)
MESSAGES: tuple[type, ...] = Message.__args__

# What stands for each class on the wire, once and for ever: neither a new class nor another
# order changes it.  The number of a class that is gone is not given again.
TAGS: dict[type, int] = {
    Open: 0,
    Opened: 1,
    Refused: 2,
    Recall: 3,
    Close: 4,
    Forget: 5,
    Recheck: 6,
    Probe: 7,
    Probed: 8,
    Ready: 9,
    Go: 10,
    ToPeer: 11,
}

# The same for the messages of each algorithm that serves locks, by name.
_CLOCKS = {"Request": 0, "Reply": 1}
_QUORUMS = {
    "Request": 0,
    "Locked": 1,
    "Failed": 2,
    "Inquire": 3,
    "Relinquish": 4,
    "Release": 5,
}
_TOKEN = {"Request": 0, "Token": 1}
_PRIVILEGE = {"Request": 0, "Privilege": 1}
ALGORITHM_TAGS: dict[str, dict[str, int]] = {
    "central": {"Request": 0, "Permission": 1, "Release": 2},
    "lamport": {"Request": 0, "Reply": 1, "Release": 2},
    "ricart-agrawala": _CLOCKS,
    "ricart-agrawala-bounded": _CLOCKS,
    "ricart-agrawala-priority": _CLOCKS,
    "ricart-agrawala-readers-writers": _CLOCKS,
    "carvalho-roucairol": _CLOCKS,
    "singhal-dynamic": _CLOCKS,
    "raymond-k": _CLOCKS,
    "majority": _QUORUMS,
    "weighted-majority": _QUORUMS,
    "maekawa": _QUORUMS,
    "sanders": _QUORUMS,
    "kakugawa": _QUORUMS,
    "agrawal-el-abbadi": {
        "Request": 0,
        "Permission": 1,
        "Inquire": 2,
        "Yield": 3,
        "Relinquish": 4,
        "Down": 5,
    },
    "ricart-agrawala-token": _TOKEN,
    "singhal-heuristic": _TOKEN,
    "naimi-trehel": _TOKEN,
    "banerjee-chrysanthis": {**_TOKEN, "LrCollector": 2},
    "chaudhuri-edward": {**_TOKEN, "LrCollector": 2, "GrCollector": 3},
    "suzuki-kasami": _PRIVILEGE,
    "raymond": _PRIVILEGE,
    "neilsen-mizuno": _PRIVILEGE,
    "srimani-reddy": _PRIVILEGE,
    "mizuno-neilsen-rao": {"Request": 0, "Requests": 1, "Acquired": 2, "Privilege": 3},
}


def kinds_of(algorithm: str, messages: tuple[type, ...]) -> dict[type, int | str]:
    """What stands for each of its messages; one that is not listed is told by its name."""
    tags = ALGORITHM_TAGS.get(algorithm, {})
    return {kind: tags.get(kind.__name__, kind.__name__) for kind in messages}


class Batch(NamedTuple):
    """What goes over a connection at one go."""

    to: MemberId  # a process that was put out and came back is not who it was
    view: int
    first: int  # the number of the first message; they are numbered from 1 in each view
    received: int  # the highest number received from the other side
    fence: int  # the highest that the sender knows of
    limit: int  # every fence below it may be given in this view
    messages: tuple[Message, ...]
