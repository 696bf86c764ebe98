"""What workers, store and nemesis have written down, read again."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any


@dataclass(eq=False, slots=True)
class Held:
    """A grant, and for how long it was one."""

    name: str
    kind: str  # exclusive, shared, permit K
    who: str
    fence: int
    since: float
    asked: float
    until: float = inf  # released, told, dead or its lease over, whatever was first
    deadline: float = inf  # of its lease, as its holder knew it at the end
    told: float | None = None  # that it was lost
    freed: float | None = None  # by its holder, who took it for its own


@dataclass
class Fault:
    kind: str
    whom: str
    begins: float
    ends: float = inf
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Write:
    """What was asked of the store: to read (and write later), or to write."""

    what: str
    at: float
    name: str
    fence: int
    value: int
    accepted: bool
    who: str


@dataclass
class Life:
    """Of one process."""

    who: str
    started: float = 0.0
    joined: float | None = None
    died: float = inf
    ended: float | None = None
    held: list[Held] = field(default_factory=list)
    waiting: dict[int, tuple[str, float]] = field(default_factory=dict)  # not let in yet
    stalls: list[tuple[float, float]] = field(default_factory=list)
    refused: list[tuple[float, str, int]] = field(default_factory=list)
    lease: float = 0.0
    remote_errors: int = 0
    strangers: int = 0

    @property
    def host(self) -> str:
        return self.who.partition(".")[0]

    @property
    def survived(self) -> bool:
        return self.died == inf


@dataclass
class History:
    lives: dict[str, Life]
    faults: list[Fault]
    writes: list[Write]
    calm: float  # when the nemesis gave up
    servers: list[str] = field(default_factory=list)  # that keep the members

    @property
    def held(self) -> Iterator[Held]:
        for life in self.lives.values():
            yield from life.held

    @property
    def begins(self) -> float:
        return min(life.started for life in self.lives.values())

    @property
    def ends(self) -> float:
        return max(life.ended or 0.0 for life in self.lives.values()) or self.calm


def lines(path: Path) -> Iterator[list[Any]]:
    """The last one may be half there: its writer was killed."""
    with path.open() as file:
        for line in file:
            if line.endswith("\n"):
                yield json.loads(line)


def read(folder: Path) -> History:
    diary = list(lines(folder / "nemesis.jsonl"))
    faults, deaths, calm = read_diary(diary)
    lives = {}
    for path in sorted(folder.glob("host*.jsonl")):
        life = lives[path.stem] = Life(path.stem, died=deaths.get(path.stem, inf))
        Reader(life).read(path)
    writes = [Write(*line) for line in lines(folder / "store.jsonl")]
    servers = [name for line in diary if line[0] == "servers" for name in line[3].split()]
    return History(lives, faults, writes, calm, servers)


def read_diary(diary: list[list[Any]]) -> tuple[list[Fault], dict[str, float], float]:
    faults: list[Fault] = []
    deaths: dict[str, float] = {}
    calm = inf
    for what, at, kind, whom, more in diary:
        if what == "begin":
            faults.append(Fault(kind, whom, at, more=more))
        elif what == "end":
            fault = next(f for f in reversed(faults) if (f.kind, f.whom) == (kind, whom))
            fault.ends = at
        elif what == "dead":
            deaths[whom] = at
        elif what == "calm":
            calm = at
    return faults, deaths, calm


class Reader:
    """Of one process's history."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._deadline = inf
        self._open: dict[tuple[str, int], Held] = {}

    def read(self, path: Path) -> None:
        for what, at, *more in lines(path):
            getattr(self, "_" + what.replace(" ", "_"))(at, *more)
        for held in list(self._open.values()):
            self._over(held, self._life.died)

    def _over(self, held: Held, at: float) -> None:
        held.deadline = self._deadline
        held.until = min(at, self._deadline, self._life.died)
        self._open.pop((held.name, held.fence), None)

    def _start(self, at: float, pid: int) -> None:
        self._life.started = at

    def _joined(self, at: float, lease: float) -> None:
        self._life.joined, self._life.lease = at, lease

    def _outside(self, at: float, why: str) -> None:
        """For who looks into the files."""

    def _lease(self, at: float, deadline: float) -> None:
        self._deadline = deadline

    def _view(self, at: float, *standing: Any) -> None:
        """For who looks into the files."""

    def _ask(self, at: float, number: int, name: str) -> None:
        self._life.waiting[number] = name, at

    def _not_in(self, at: float, number: int, name: str) -> None:
        self._life.waiting.pop(number)

    def _grant(self, at: float, number: int, name: str, fence: int, kind: str) -> None:
        _, asked = self._life.waiting.pop(number)
        held = Held(name, kind, self._life.who, fence, at, asked)
        self._open[name, fence] = held
        self._life.held.append(held)

    def _free(self, at: float, name: str, fence: int) -> None:
        held = self._open[name, fence]
        held.freed = at
        self._over(held, at)

    def _lost(self, at: float, name: str, fence: int) -> None:
        if held := self._open.get((name, fence)):
            held.told = at
            self._over(held, at)

    def _refused(self, at: float, name: str, fence: int) -> None:
        self._life.refused.append((at, name, fence))

    def _stall(self, at: float, seconds: float) -> None:
        self._life.stalls.append((at - seconds, at))

    def _leave(self, at: float, remote_errors: int, strangers: int) -> None:
        self._life.remote_errors, self._life.strangers = remote_errors, strangers

    def _end(self, at: float) -> None:
        self._life.ended = at
