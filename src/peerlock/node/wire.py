"""The messages between nodes.

Three kinds of messages:

- between members of a name's circle, valid in one epoch (`ToPeer`, `Next`, `Go`), and
  `Probe`, `Probed`, which are valid whenever they come;
- to and from the home of a name; they carry the sender's view, so that a receiver that has
  not seen it yet keeps them until it has;
- `Batch`, in which all of them travel.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from peerlock.core.peer import NodeId
from peerlock.node.terms import Demand, Terms
from peerlock.node.views import MemberId


class Epoch(NamedTuple):
    """One run of an algorithm in a circle; never used twice, and growing per name."""

    reign: int  # the view in which its home became the home
    number: int  # its home's count, over all names


NEVER = Epoch(0, 0)


# To the home, and from it


class Open(NamedTuple):
    """To the home: add me to the circle of this name, on these terms if it is new."""

    view: int
    name: str
    demand: Demand
    waited: float  # seconds, by the first that wants it here


class Reform(NamedTuple):
    """From the home: speak no more in the epoch that you are in; this is the next."""

    view: int
    name: str
    epoch: Epoch


class Formed(NamedTuple):
    """To the home: I do not speak any more, and this is how things stand here.  It is said
    again if a user comes before the epoch is opened."""

    view: int
    name: str
    epoch: Epoch  # the one that is being formed
    stays: bool  # I want to be in the circle
    holds: bool
    waited: float  # seconds, by the first waiter here; below 0: there is none


class Opened(NamedTuple):
    """From the home: an epoch begins.  Holders enter and waiters ask in the given order,
    then all members may."""

    view: int
    name: str
    epoch: Epoch
    terms: Terms
    circle: tuple[MemberId, ...]
    holders: tuple[MemberId, ...]
    waiters: tuple[MemberId, ...]


class Refused(NamedTuple):
    """From the home: the cluster uses this name on other terms."""

    view: int
    name: str
    demand: Demand
    why: str


class Close(NamedTuple):
    """To the home: I neither hold it nor want it any more."""

    view: int
    name: str
    epoch: Epoch


class NameReport(NamedTuple):
    """How a name stands at a member that has it open."""

    name: str
    epoch: Epoch
    speaks: bool  # in that epoch
    terms: Terms
    circle: tuple[MemberId, ...]


class Tell(NamedTuple):
    """From a new home: which of the names do you have open whose home I am now, among
    these elders, and was not among all of those before?"""

    view: int
    question: int
    elders: tuple[MemberId, ...]
    before: tuple[tuple[MemberId, ...], ...]


class Told(NamedTuple):
    """To the new home: these; and there are more to come, or not."""

    view: int
    question: int
    reports: tuple[NameReport, ...]
    more: bool


class Stale(NamedTuple):
    """To the home: I have seen another home of this name since your reign began.  Without a
    name: I have seen other elders than those among whom you ask.  To a member that takes us
    for the home: there is a later view."""

    view: int
    name: str
    floor: int


# In the circle


class Next(NamedTuple):
    """To the first and to the next in an epoch's order: it is the turn of this place, as I
    have entered or asked.  From the first to the next: the member `after` has said so.  To
    `after`: I have nothing to ask for, call the next one instead of me."""

    name: str
    epoch: Epoch
    place: int
    after: MemberId  # the last one that has entered or asked


class Go(NamedTuple):
    """From the first, and from the last one that has entered or asked: all may request."""

    name: str
    epoch: Epoch
    after: MemberId  # that one


class Probe(NamedTuple):
    """Does any user hold or wait there?  From a user that does not want to wait."""

    name: str


class Probed(NamedTuple):
    """How many are, and how many of these are readers, without those that only probe."""

    name: str
    users: int
    readers: int


class ToPeer(NamedTuple):
    """From one peer of an algorithm to another; receiver 0 is every peer over there."""

    name: str
    epoch: Epoch
    algorithm: str
    sender: NodeId
    receiver: NodeId
    message: Any


HomeMessage = Open | Reform | Formed | Opened | Refused | Close | Tell | Told | Stale
EpochMessage = Next | Go | ToPeer
Message = HomeMessage | EpochMessage | Probe | Probed
MESSAGES: tuple[type, ...] = Message.__args__

# What stands for each class on the wire, once and for ever: neither a new class nor another
# order changes it.  The number of a class that is gone (3, 5, 6, 9) is not given again.
TAGS: dict[type, int] = {
    Open: 0,
    Opened: 1,
    Refused: 2,
    Close: 4,
    Probe: 7,
    Probed: 8,
    Go: 10,
    ToPeer: 11,
    Reform: 12,
    Formed: 13,
    Tell: 14,
    Told: 15,
    Stale: 16,
    Next: 17,
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
_ANY_QUORUM = {**_QUORUMS, "Down": 6, "Withdraw": 7, "Withdrawn": 8}
_TOKEN = {"Request": 0, "Token": 1}
_PRIVILEGE = {"Request": 0, "Privilege": 1}
_IN_TURN = {"Request": 0, "Locked": 1, "Release": 2}
_MESH = {"Request": 0, "Call": 1, "Note": 2, "Privilege": 3}
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
    "majority": _ANY_QUORUM,
    "weighted-majority": _ANY_QUORUM,
    "majority-spare": _ANY_QUORUM,
    "weighted-majority-spare": _ANY_QUORUM,
    "maekawa": _QUORUMS,
    "sanders": _QUORUMS,
    "kakugawa": _ANY_QUORUM,
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
    "maekawa-sequential": _IN_TURN,
    "maekawa-cyclic": _IN_TURN,
    "suzuki-kasami-bounded": {**_PRIVILEGE, "Ack": 2},
    "helary-plouzeau-raynal": _TOKEN,
    "chaudhuri-91": _MESH,
    "chaudhuri-95": _MESH,
    "chaudhuri-karaata": {"Request": 0, "Permit": 1, "Release": 2, "Token": 3},
    "cao-singhal": {**_QUORUMS, "Transfer": 6},
    "lodha-kshemkalyani": {**_CLOCKS, "Flush": 2},
    "mueller-priority": {**_TOKEN, "Follow": 2},
    "joung": _CLOCKS,
    "raynal-k-of-l": {"Request": 0, "Free": 1},
    "sopena-arantes-sens": {**_TOKEN, "SiteRequest": 2, "SiteToken": 3},
}


def kinds_of(algorithm: str, messages: tuple[type, ...]) -> dict[type, int | str]:
    """What stands for each of its messages; one that is not listed is told by its name."""
    tags = ALGORITHM_TAGS.get(algorithm, {})
    return {kind: tags.get(kind.__name__, kind.__name__) for kind in messages}


class Batch(NamedTuple):
    """What goes over a connection at one go.

    Messages from one member to another are numbered from 1, for as long as both are in.
    """

    to: MemberId  # a process that was put out and came back is not who it was
    view: int  # to which the fence and the limit belong
    first: int  # the number of the first message
    received: int  # the highest number received from the other side
    fence: int  # the highest that the sender knows of
    limit: int  # every fence below it may be given in that view
    messages: tuple[Message, ...]
