"""One line of a paper: what it says, how to find out, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from peerlock.algorithms.entry import Quotation
from peerlock.lab.reproduce.expect import Expectation, tidy
from peerlock.lab.reproduce.sentences import REBUILT, sentence


@dataclass(frozen=True)
class Because:
    """Why a paper and a measurement differ, and what the reason predicts instead.

    It explains nothing unless that is what was measured.
    """

    text: str
    predicted: Expectation


@dataclass(frozen=True)
class Item:
    source: str
    item: str
    parameters: Mapping[str, Any]
    expected: Expectation
    measure: Callable[[], Any] = field(repr=False)  # goes to another process
    because: Because | None = None
    remark: str = ""  # what a reader should know even if they agree
    slow: bool = False  # left out of a quick run


@dataclass(frozen=True)
class Finding:
    source: str
    item: str
    parameters: Mapping[str, Any]
    paper: Any
    measured: Any
    agrees: bool
    note: str
    predicted: Expectation | None = None  # by the reason in the note

    @property
    def sentence(self) -> Quotation:
        """What the paper says, where."""
        return sentence(self.source, self.item)

    @property
    def rebuilt(self) -> bool:
        """The paper only sketches the algorithm: what runs is our reconstruction."""
        return self.item.startswith(REBUILT)

    @property
    def explained(self) -> bool:
        return self.agrees or bool(self.note)

    def as_dict(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "item": self.item,
            "sentence": str(self.sentence),
            "parameters": dict(self.parameters),
            "paper": self.paper,
            "measured": self.measured,
            "agrees": self.agrees,
            "note": self.note,
            "predicted": self.predicted and self.predicted.as_dict(),
        }


def judged(item: Item, measured: Any) -> Finding:
    agrees = meets(item.expected, measured)
    reason = None if agrees else item.because
    if reason and not meets(reason.predicted, measured):
        reason = None
    return Finding(
        source=item.source,
        item=item.item,
        parameters={**item.parameters, "compared": item.expected.compared},
        paper=item.expected.paper,
        measured=tidy(measured),
        agrees=agrees,
        note=item.remark if agrees else reason.text if reason else "",
        predicted=reason.predicted if reason else None,
    )


def meets(expected: Expectation, measured: Any) -> bool:
    """What could not be measured, and is a text that says why, meets nothing but texts."""
    try:
        return expected.meets(measured)
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
