"""What nodes say to one another.

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
    """To the home: take me into the circle of this name, on these terms if it is new."""

    view: int
    name: str
    demand: Demand
    waited: float  # seconds, by the first that wants it here


class Reform(NamedTuple):
    """From the home: speak no more in the epoch that you are in; the next has this number."""

    view: int
    name: str
    epoch: Epoch


class Formed(NamedTuple):
    """To the home: I do not speak any more, and this is how things stand here."""

    view: int
    name: str
    epoch: Epoch  # the one that is being formed
    stays: bool  # I want to be in the circle
    holds: bool
    waited: float  # seconds, by the first that waits here; below 0: nobody does


class Opened(NamedTuple):
    """From the home: an epoch begins.  Holders enter and waiters ask in the given order,
    then everybody may."""

    view: int
    name: str
    epoch: Epoch
    terms: Terms
    circle: tuple[MemberId, ...]
    holders: tuple[MemberId, ...]
    waiters: tuple[MemberId, ...]


class Refused(NamedTuple):
    """From the home: the cluster uses this name in another way."""

    view: int
    name: str
    demand: Demand
    why: str


class Close(NamedTuple):
    """To the home: I neither hold it nor want it any more."""

    view: int
    name: str
    epoch: Epoch


class Report(NamedTuple):
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
    reports: tuple[Report, ...]
    more: bool


class Stale(NamedTuple):
    """To the home: I have seen another home of this name since your reign began."""

    view: int
    name: str
    floor: int


# In the circle


class Next(NamedTuple):
    """To the next in an epoch's order: it is your turn to enter, or to ask."""

    name: str
    epoch: Epoch
    place: int


class Go(NamedTuple):
    """From the last in that order: everybody may ask."""

    name: str
    epoch: Epoch


class Probe(NamedTuple):
    """Is anybody over there in, or waiting?  From a user that would not wait."""

    name: str


class Probed(NamedTuple):
    """How many are, and how many of these are readers; those that only probe do not count."""

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


class Batch(NamedTuple):
    """What goes over a connection at one go.

    Messages from one member to another are numbered from 1, for as long as both are in.
    """

    to: MemberId  # a process that was put out and came back is not who it was
    first: int  # the number of the first message
    received: int  # the highest number received from the other side
    fence: int  # the highest that the sender has seen
    messages: tuple[Message, ...]
