"""What a paper says, as values that a measurement can be held against, and can fail."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any


class Expectation(ABC):
    @property
    @abstractmethod
    def paper(self) -> Any:
        """The paper's value, for JSON."""

    @property
    @abstractmethod
    def compared(self) -> str:
        """How a measurement is held against it, in words."""

    @abstractmethod
    def meets(self, measured: Any) -> bool: ...

    def as_dict(self) -> dict[str, Any]:
        return {"value": self.paper, "compared": self.compared}


@dataclass(frozen=True)
class Exactly(Expectation):
    value: Any

    @property
    def paper(self) -> Any:
        return tidy(self.value)

    @property
    def compared(self) -> str:
        return "exactly"

    def meets(self, measured: Any) -> bool:
        return bool(measured == self.value)


@dataclass(frozen=True)
class Near(Expectation):
    value: float
    relative: float = 0.0
    absolute: float = 0.0

    @property
    def paper(self) -> Any:
        return tidy(float(self.value))

    @property
    def compared(self) -> str:
        if self.relative:
            return f"within {100 * self.relative:g} %"
        return f"within {self.absolute:g}" if self.absolute else "exactly"

    def meets(self, measured: float) -> bool:
        allowed = max(self.absolute, self.relative * abs(self.value))
        return abs(measured - self.value) <= allowed + 1e-9


@dataclass(frozen=True)
class Said(Expectation):
    """For what a paper puts in other words than those that we hold it to."""

    text: Any
    meant: Expectation

    @property
    def paper(self) -> Any:
        return tidy(self.text)

    @property
    def compared(self) -> str:
        meant = tidy(self.meant.paper)
        shown = " … ".join(map(str, meant)) if isinstance(meant, list) else meant
        return f"with {shown}, {self.meant.compared}"

    def meets(self, measured: Any) -> bool:
        return self.meant.meets(measured)


@dataclass(frozen=True)
class AtMost(Expectation):
    value: float

    @property
    def paper(self) -> Any:
        return f"≤ {tidy(self.value)}"

    @property
    def compared(self) -> str:
        return "not more"

    def meets(self, measured: float) -> bool:
        return measured <= self.value + 1e-9


@dataclass(frozen=True)
class Above(Expectation):
    value: float

    @property
    def paper(self) -> Any:
        return f"> {tidy(self.value)}"

    @property
    def compared(self) -> str:
        return "more"

    def meets(self, measured: float) -> bool:
        return measured > self.value


@dataclass(frozen=True)
class Order(Expectation):
    """For a paper that gives an order of growth: the bound is ours, and is stated."""

    text: str
    bound: float
    formula: str
    least: float = 0.0

    @property
    def paper(self) -> str:
        return self.text

    @property
    def compared(self) -> str:
        return f"at most {self.formula}"

    def meets(self, measured: float) -> bool:
        return self.least <= measured <= self.bound + 1e-9


@dataclass(frozen=True)
class Between(Expectation):
    """For a number, or for the least and the most of several."""

    low: float
    high: float

    @property
    def paper(self) -> list[Any]:
        return [tidy(self.low), tidy(self.high)]

    @property
    def compared(self) -> str:
        return "within this range"

    def meets(self, measured: float | list[float]) -> bool:
        least, *_, most = measured if isinstance(measured, list) else [measured, measured]
        return self.low - 1e-9 <= least and most <= self.high + 1e-9


@dataclass(frozen=True)
class Of(Expectation):
    """For one of several values that were measured together."""

    key: str
    expected: Expectation

    @property
    def paper(self) -> Any:
        return self.expected.paper

    @property
    def compared(self) -> str:
        return f"{self.key}: {self.expected.compared}"

    def meets(self, measured: Mapping[str, Any]) -> bool:
        return self.expected.meets(measured[self.key])


@dataclass(frozen=True)
class Ahead(Expectation):
    """Of curves at one place, one lies below all the others."""

    best: str

    @property
    def paper(self) -> str:
        return f"{self.best} below all others"

    @property
    def compared(self) -> str:
        return "fewer messages than each of them"

    def meets(self, measured: Mapping[str, float]) -> bool:
        others = [value for key, value in measured.items() if key != self.best]
        return bool(others) and measured[self.best] < min(others)


@dataclass(frozen=True)
class Together(Expectation):
    """Of curves at one place, two are close to each other."""

    one: str
    other: str
    relative: float

    @property
    def paper(self) -> str:
        return f"{self.one} about {self.other}"

    @property
    def compared(self) -> str:
        return f"within {100 * self.relative:g} %"

    def meets(self, measured: Mapping[str, float]) -> bool:
        other = measured[self.other]
        return abs(measured[self.one] - other) <= self.relative * other + 1e-9


@dataclass(frozen=True)
class Towards(Expectation):
    """A curve that comes down to a limit as n grows, and is near it in the end."""

    limit: float
    near: float  # so far from it, at most, at the largest n
    waver: float  # by how much it may rise from one n to the next

    @property
    def paper(self) -> str:
        return f"towards {self.limit:g}"

    @property
    def compared(self) -> str:
        return (
            f"never below it, falling but for {self.waver:g}, "
            f"within {self.near:g} of it at the largest n"
        )

    def meets(self, measured: Mapping[str, float]) -> bool:
        curve = list(measured.values())
        falls = all(b <= a + self.waver for a, b in pairwise(curve))
        return (
            falls
            and min(curve) >= self.limit
            and curve[-1] < curve[0]
            and curve[-1] - self.limit <= self.near + 1e-9
        )


def tidy(value: Any) -> Any:
    """Numbers with as many digits as one wants to read."""
    if isinstance(value, float):
        rounded = round(value, 4)
        return int(rounded) if rounded == int(rounded) else rounded
    if isinstance(value, Mapping):
        return {key: tidy(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [tidy(entry) for entry in value]
    return value
