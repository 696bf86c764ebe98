"""Mutants of maekawa-takeover."""

from tests.support.mutants import Cluster, breaks

MUTANTS = (
    breaks("deadlock", "        self.lock_next(message.seat, seat)\n", "        pass\n"),
    breaks(
        "remote error",
        "seat = seat._replace(locking=request)",
        "seat = with_waiting(seat, request)",
        Cluster(3, 1, crashes=1),
    ),
    breaks(
        "deadlock",
        "            self.report(seat)\n",
        "            pass\n",
        Cluster(3, 1, crashes=1),
    ),
    breaks(
        "deadlock",
        "            self.lock_next(number, then)\n",
        "            pass\n",
        Cluster(3, 1, crashes=1),
    ),
    breaks(
        "deadlock",
        "unreported = seat.unreported & ~(1 << node)",
        "unreported = seat.unreported",
        Cluster(3, 1, crashes=1),
    ),
    breaks(
        "remote error",
        "return Seat(unreported=whose & ~self.lost)",
        "return Seat()",
        Cluster(3, 1, crashes=1),
    ),
)
