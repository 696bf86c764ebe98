"""The result of a check."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from peerlock.checker.model import Model
from peerlock.checker.search import Coverage
from peerlock.checker.sites import Action
from peerlock.traces.trace import Trace


@dataclass(frozen=True)
class Violation:
    """A property that does not hold, and a schedule that shows it.

    The schedule is a shortest one, or for a starvation without end a lasso: from the
    step after `loop_from`, its steps can be repeated without end.
    """

    property: str  # exclusion, deadlock, starvation, fence, remote error, invariant
    text: str
    depth: int
    trace: Trace
    loop_from: int | None = None
    schedule: tuple[Action, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The result of a check: whether all properties hold in all schedules, or which does
    not."""

    model: Model
    coverage: Coverage
    complete: bool  # every schedule was covered
    cut: str  # or why not
    violation: Violation | None
    everyone_entered: bool
    max_messages_per_entry: Fraction | None = None  # None: unbounded, or not known
    max_overtaken: int | None = None
    overtaking: Trace | None = None  # a schedule with that much overtaking
    unmeasured: str = ""  # why these are not known though every schedule was covered
    reductions: tuple[str, ...] = ()  # by which the search was made smaller

    @property
    def holds(self) -> bool:
        return self.complete and self.violation is None
