"""Banerjee and Chrysanthis, 1996: requests are collected where the token comes to rest.

    S. Banerjee, P. K. Chrysanthis.  A New Token Passing Distributed Mutual Exclusion
    Algorithm.  16th International Conference on Distributed Computing Systems, May 1996,
    717-724; here after section 2 of Chaudhuri and Edward.

One node is the request collector and has the TOKEN.  All others send it their REQUESTs.
When it has no use for the TOKEN it copies its queue into it, sends it to the first in the
queue, and tells all others that the last one is the new collector.  The TOKEN goes from
node to node as its queue says; meanwhile REQUESTs gather where it will arrive in the end.
One that still came to the old collector is passed on to the new one.

    messages      N+1 per entry when nobody competes, 0 at the node that has the token;
                  towards 3 when all compete: a REQUEST, a TOKEN, and a share in the news
    delay         one TOKEN from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none: the token must not be lost
    fairness      first come, first served at each collector; no node waits for ever

Where this file departs from the source, and why:
  * The source is one paragraph in another paper, so this is rebuilt from it.  It is what
    that paper makes of each of its groups, and so its algorithm with one group.  The
    collector's news is called LR_COLLECTOR there, and here too.
  * The paragraph has the old collector transfer the token when a REQUEST comes late.  It
    has sent the token away by then: the REQUEST is what it passes on.
  * The TOKEN counts the changes of the collector, and the latest knowledge counts.  News
    that comes late would make a node the collector again in its own eyes, with messages
    in order too: `banerjee-chrysanthis-uncounted` in the museum.
  * The node that has the idle token enters at once, and no news is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.chaudhuri_edward import (
    ChaudhuriEdward,
    LrCollector,
    Request,
    Token,
)
from peerlock.algorithms.entry import Algorithm, Exhibit, Quotation
from peerlock.core.peer import NodeId


@dataclass(eq=False)
class BanerjeeChrysanthis(ChaudhuriEdward):
    messages = (Request, Token, LrCollector)  # type: ignore[assignment]  # one less

    def __post_init__(self) -> None:
        self.groups = 1
        super().__post_init__()

    def announce_locally(self, number: int, collector: NodeId) -> None:
        self.local_request_collector = (number, collector)
        self.broadcast(LrCollector(number, collector))


@dataclass(eq=False)
class BanerjeeChrysanthisUncounted(BanerjeeChrysanthis):
    """As the source has it: the last news names the collector, however late it comes.

    The news goes straight to the last in the TOKEN's queue, and the TOKEN through all that
    are before it; nevertheless the TOKEN can be first.  When the news comes the node may
    have sent the TOKEN on, and now collects requests for ever, its own among them.
    """

    def receive_lr_collector(self, sender: NodeId, message: LrCollector) -> None:
        self.local_request_collector = (message.number, message.node)


ENTRIES = (
    Algorithm(
        name="banerjee-chrysanthis",
        peer=BanerjeeChrysanthis,
        source="Banerjee, Chrysanthis",
        year=1996,
        family="token",
        messages="0 or N+1 light, towards 3 heavy",
        serves=("lock",),
    ),
    Algorithm(
        name="banerjee-chrysanthis-uncounted",
        peer=BanerjeeChrysanthisUncounted,
        source="Banerjee, Chrysanthis",
        year=1996,
        family="museum",
        messages="0 or N+1 light, towards 3 heavy",
        fifo=True,
        verdict="deadlock",
        exhibit=Exhibit(requests=(1, 2, 2)),
        quotes=(
            Quotation(
                "chaudhuri-edward",
                "section 2",
                "Node k broadcasts a message to all nodes announcing a new request "
                "collector, the node at the rear of the token queue.",
            ),
        ),
    ),
)
