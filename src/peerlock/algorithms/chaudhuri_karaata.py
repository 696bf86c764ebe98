"""Chaudhuri and Karaata, 1998: a mesh in space, and a token that moves along one edge.

    P. Chaudhuri, M. H. Karaata.  An O(n^1/3) Algorithm for Distributed Mutual Exclusion.
    Journal of Systems Architecture 45, 1998, 409-420; here after section 2 of Chaudhuri
    and Edward.

The nodes form a three-dimensional mesh, n^⅓ each way.  The corner of each x-y plane, the
node on the z-axis, serves its plane: a REQUEST is passed from neighbour to neighbour to
the corner, and if the TOKEN is there and not in use, a PERMIT comes back the same way; a
RELEASE tells the corner that its node has left.  If the TOKEN is not there, the corner
asks for it along the z-axis, and it comes along the z-axis.

    messages      3d + 2h per entry when nobody competes, d the way to the corner and h the
                  way of the token: at most 8(⌈n^⅓⌉ - 1); about 3(n^⅓ - 1) when all
                  compete
    delay         a RELEASE and a PERMIT, each the way between node and corner, and between
                  planes the TOKEN's way
    network       no loss, no duplicates; messages may overtake one another
    failures      none: the token must not be lost
    fairness      first come, first served at every corner; no node waits for ever

Where this file departs from the source, and why:
  * The source is one paragraph in another paper, so this is rebuilt from it.  It does not
    say how the corners share the TOKEN.  Here they do as Raymond's nodes on a line: each
    knows in which direction the TOKEN is, asks there once for all that wait, and serves
    its plane and its neighbours in the order in which they came.
  * A message goes along x first and then along y, or back that way.
  * Any n will do: the planes have ⌈n^⅓⌉ nodes each way, and are filled row by row.  The
    last one may be short; a node's way to its corner is there in any case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

from peerlock.algorithms.entry import Algorithm
from peerlock.core.peer import NodeId, Peer, RemoteError, fixed
from peerlock.core.topology import Edge, Tree, tree


@lru_cache
def side(nodes: int) -> int:
    """How many nodes fit along an edge of the cube."""
    return next(m for m in count(1) if m**3 >= nodes)


@lru_cache
def ways(nodes: int) -> Tree:
    """The links that messages take: along x, then along y to the corner, then along z."""
    return tree(_links(nodes, side(nodes)), nodes, "mesh")


def _links(nodes: int, m: int) -> Iterator[Edge]:
    for place in range(1, nodes):
        x, y = place % m, place // m % m
        step = 1 if x else m if y else m * m
        yield place + 1 - step, place + 1


@dataclass(frozen=True, slots=True)
class Request:
    origin: NodeId


@dataclass(frozen=True, slots=True)
class Permit:
    to: NodeId


@dataclass(frozen=True, slots=True)
class Release:
    origin: NodeId


@dataclass(frozen=True, slots=True)
class Token:
    pass


@dataclass(eq=False)
class ChaudhuriKaraata(Peer):
    messages = (Request, Permit, Release, Token)

    ways: Tree = fixed(init=False)

    # True from our request until our release, the critical section included.
    requesting: bool = False

    # True while we are in the critical section.
    inside: bool = False

    # At corners only: the one towards the token, or ourselves.
    holder: NodeId = 0

    # Which node of our plane we have permitted to enter, ourselves included; 0: none.
    permitted: NodeId = 0

    # The nodes that asked us and wait, of our plane and corners, the first one first.
    queue: tuple[NodeId, ...] = ()

    # True when we have asked the holder and the token has not come since.
    asked: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ways = ways(len(self.members))
        if self.corner == self.me:
            self.holder = 1 if self.me == 1 else self.ways.next_hop(self.me, 1)

    def corner_of(self, node: NodeId) -> NodeId:
        plane = side(len(self.members)) ** 2
        return (node - 1) // plane * plane + 1

    @property
    def corner(self) -> NodeId:
        return self.corner_of(self.me)

    # Inputs

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        if self.corner == self.me:
            self.enqueue(self.me)
        else:
            self.towards(self.corner, Request(self.me))

    def release(self) -> None:
        assert self.inside

        self.requesting = self.inside = False
        if self.corner == self.me:
            self.released()
        else:
            self.towards(self.corner, Release(self.me))

    def receive_request(self, sender: NodeId, message: Request) -> None:
        origin = message.origin
        if not self.comes_from(sender, origin) or origin in self.queue:
            raise RemoteError(f"{sender} asks for {origin}, which is gone or has asked")
        if self.corner == self.me:
            self.enqueue(origin)
        else:
            self.towards(self.corner, message)

    def receive_permit(self, sender: NodeId, message: Permit) -> None:
        expected = message.to != self.me or (self.requesting and not self.inside)
        if not (expected and self.comes_from_corner(sender)):
            raise RemoteError(f"{sender} sends a permit that no node asked for here")
        if message.to == self.me:
            self.enter()
        else:
            self.towards(message.to, message)

    def receive_release(self, sender: NodeId, message: Release) -> None:
        if not self.comes_from(sender, message.origin):
            raise RemoteError(f"{sender} is not on the way from {message.origin}")
        if self.corner != self.me:
            self.towards(self.corner, message)
        elif self.permitted == message.origin:
            self.released()
        else:
            raise RemoteError(f"{message.origin} releases what it does not have")

    def receive_token(self, sender: NodeId, message: Token) -> None:
        if sender != self.holder or not self.asked:
            raise RemoteError(f"{sender} sends a token that we did not ask it for")
        self.holder, self.asked = self.me, False
        self.serve_next()

    def comes_from(self, sender: NodeId, origin: NodeId) -> bool:
        """Whether `sender` is on the way from `origin`, of our plane or the next corner."""
        if origin == self.me or not 1 <= origin <= len(self.members):
            return False
        local = self.corner_of(origin) == self.corner
        next_corner = self.corner == self.me and sender == origin
        return (local or next_corner) and sender == self.ways.next_hop(self.me, origin)

    def comes_from_corner(self, sender: NodeId) -> bool:
        corner = self.corner
        return corner != self.me and sender == self.ways.next_hop(self.me, corner)

    def towards(self, node: NodeId, message: Request | Permit | Release) -> None:
        self.send(self.ways.next_hop(self.me, node), message)

    def enter(self) -> None:
        self.inside = True
        self.grant()

    # What a corner does

    def enqueue(self, node: NodeId) -> None:
        self.queue += (node,)
        self.serve_next()

    def released(self) -> None:
        self.permitted = 0
        self.serve_next()

    def serve_next(self) -> None:
        if self.holder == self.me and not self.permitted and self.queue:
            first, *rest = self.queue
            self.queue = tuple(rest)
            self.serve(first)
        if self.holder != self.me and self.queue and not self.asked:
            self.asked = True
            self.send(self.holder, Request(self.me))

    def serve(self, node: NodeId) -> None:
        if self.corner_of(node) != self.me:
            self.holder = node
            self.send(node, Token())
            return
        self.permitted = node
        if node == self.me:
            self.enter()
        else:
            self.towards(node, Permit(node))


ENTRIES = (
    Algorithm(
        name="chaudhuri-karaata",
        peer=ChaudhuriKaraata,
        source="Chaudhuri, Karaata",
        year=1998,
        family="token",
        messages="≤ 8(⌈∛N⌉−1) light, O(∛N)",
        serves=("lock",),
    ),
)
