"""The timeline of faults, holders and fences as SVG; what is dense is drawn aggregated.

One path holds all bars of a colour, so that half an hour stays below a megabyte.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from html import escape
from math import inf

from peerlock.node.fences import COUNT_BITS
from tests.chaos.history import Fault, Held, History
from tests.chaos.judge import is_kept

WIDTH, LEFT, RIGHT = 1240, 128, 12
PLOT = WIDTH - LEFT - RIGHT
BAR = 14  # height of a lane of bars
AREA = 40  # height of a lane of throughput
BINS = 500
COUNTER = (1 << COUNT_BITS) - 1

CATEGORY = {
    "worker killed": "killed",
    "host killed": "killed",
    "etcd member killed": "killed",
    "etcd killed, all of it": "killed",
    "postgresql killed, all of it": "killed",
    "postgresql killed, quickly back": "killed",
    "worker paused": "stopped",
    "etcd member frozen": "stopped",
    "etcd stopped, shortly": "stopped",
    "etcd stopped, too long": "stopped",
    "postgresql stopped, shortly": "stopped",
    "postgresql stopped, too long": "stopped",
    "lossy": "poor",
    "slow": "poor",
}


@dataclass
class Canvas:
    """A stretch of time, from left to right; lanes are added from top to bottom."""

    begins: float
    ends: float
    zero: float  # what is called 0 s
    y: int = 4
    parts: list[str] = field(default_factory=list)

    def x(self, at: float) -> float:
        share = (min(max(at, self.begins), self.ends) - self.begins) / self.seconds
        return round(LEFT + PLOT * share, 1)

    @property
    def seconds(self) -> float:
        return self.ends - self.begins

    def lane(self, name: str, height: int) -> int:
        """Its upper edge."""
        top = self.y
        self.y += height + 3
        middle = top + height / 2 + 4
        label = f'<text class="name" x="{LEFT - 8}" y="{middle:g}" text-anchor="end">'
        self.parts.append(
            f'<rect class="lane" x="{LEFT}" y="{top}" width="{PLOT}" height="{height}"/>'
            f"{label}{escape(name)}</text>"
        )
        return top

    def gap(self, height: int = 8) -> None:
        self.y += height

    def axis(self) -> None:
        step = next(
            s for s in (1, 2, 5, 10, 30, 60, 120, 300, 600) if self.seconds / s <= 16
        )
        first = int((self.begins - self.zero) // step + 1) * step
        self.y += 2
        at = float(first)
        while at + self.zero < self.ends:
            x = self.x(at + self.zero)
            shown = f"{at / 60:g} min" if step >= 60 else f"{at:g} s"
            self.parts.append(
                f'<path class="rule" d="M{x:g} 0V{self.y}"/>'
                f'<text x="{x:g}" y="{self.y + 12}" text-anchor="middle">{shown}</text>'
            )
            at += step
        self.y += 18

    def svg(self, label: str) -> str:
        return (
            f'<svg viewBox="0 0 {WIDTH} {self.y}" role="img" aria-label="{escape(label)}">'
            f"{''.join(self.parts)}</svg>"
        )


def number(text: str) -> str:
    """Of a host: its colour."""
    return text.partition(".")[0].removeprefix("host")


def names_in(history: History) -> list[str]:
    """As one would sort them: kept 2 comes before kept 10."""
    found = {held.name for held in history.held}
    return sorted(found, key=lambda name: (is_kept(name), len(name) * is_kept(name), name))


def overview(history: History) -> str:
    canvas = Canvas(history.begins, history.ends, history.begins)
    draw_faults(canvas, history)
    canvas.gap()
    names = names_in(history)
    for name in [n for n in names if not is_kept(n)]:
        draw_throughput(canvas, history, name)
    canvas.gap()
    draw_holders(canvas, history, [n for n in names if is_kept(n)])
    canvas.gap()
    draw_fences(canvas, history)
    canvas.axis()
    return canvas.svg("faults, holders and fences over the whole run")


def close_up(history: History, fault: Fault) -> str:
    """From a little before it to a while after it, bar by bar."""
    ends = min(min(fault.ends, fault.begins + 20) + 6, history.ends)
    canvas = Canvas(fault.begins - 3, ends, fault.begins)
    shade = canvas.x(min(fault.ends, ends)) - canvas.x(fault.begins)
    canvas.parts.append("")
    draw_faults(canvas, history, only_touched=True)
    names = names_in(history)
    draw_holders(canvas, history, [n for n in names if not n.startswith("sem")])
    height = canvas.y
    canvas.parts[0] = (
        f'<rect class="during" x="{canvas.x(fault.begins):g}" y="0" '
        f'width="{max(shade, 1.5):g}" height="{height}"/>'
    )
    canvas.parts.append(canvas.parts.pop(0))
    canvas.axis()
    return canvas.svg(f"{fault.kind}: {fault.whom}")


def draw_faults(canvas: Canvas, history: History, only_touched: bool = False) -> None:
    lanes = [*history.servers, *sorted({life.host for life in history.lives.values()})]
    seen = [f for f in history.faults if f.begins < canvas.ends and f.ends > canvas.begins]
    for lane in lanes:
        mine = [fault for fault in seen if touches(fault, lane)]
        if only_touched and not mine:
            continue
        top = canvas.lane(lane, BAR)
        for fault in mine:
            x = canvas.x(fault.begins)
            width = max(canvas.x(fault.ends) - x, 1.5)
            kind = CATEGORY.get(fault.kind, "cut")
            seconds = min(fault.ends, history.ends) - fault.begins
            words = f"{fault.kind}: {fault.whom}, {seconds:.1f} s"
            canvas.parts.append(
                f'<rect class="{kind}" x="{x:g}" y="{top + 2}" width="{width:.4g}" '
                f'height="{BAR - 4}"><title>{escape(words)}</title></rect>'
            )


def touches(fault: Fault, lane: str) -> bool:
    if fault.whom == "all":
        return True
    if fault.whom in ("etcd", "postgresql"):
        return not lane.startswith("host")
    return lane in fault.whom.replace(".", " ").replace(",", " ").replace("→", " ").split()


def draw_throughput(canvas: Canvas, history: History, name: str) -> None:
    """Grants in each bin, the hosts one upon the other."""
    top = canvas.lane(name, AREA)
    width = canvas.seconds / BINS
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * BINS)
    for held in history.held:
        if held.name == name:
            index = min(BINS - 1, int((held.since - canvas.begins) / width))
            counts[number(held.who)][index] += 1
    most = max(map(sum, zip(*counts.values(), strict=True)))
    below = [0] * BINS
    for host in sorted(counts):
        above = [a + b for a, b in zip(below, counts[host], strict=True)]
        canvas.parts.append(area(host, below, above, top, most))
        below = above
    canvas.parts.append(f'<text x="{LEFT + 4}" y="{top + 11}">{most / width:.0f}/s</text>')


def area(host: str, below: list[int], above: list[int], top: int, most: int) -> str:
    """Steps upwards along `above`, and back along `below`."""
    step = PLOT / BINS

    def y(value: int) -> int:
        return round(top + AREA - (AREA - 4) * value / most)

    def along(values: list[int], forth: bool) -> str:
        said, last = [], None
        for i in range(BINS) if forth else range(BINS - 1, -1, -1):
            if y(values[i]) != last:
                last = y(values[i])
                x = LEFT + step * (i if forth else i + 1)
                said.append(f"H{x:.4g}V{last}" if x < 1000 else f"H{x:.5g}V{last}")
        return "".join(said)

    edge = f"H{LEFT + PLOT}V{y(below[-1])}"
    path = f"M{LEFT} {top + AREA}{along(above, True)}{edge}{along(below, False)}H{LEFT}Z"
    return f'<path class="area h{host}" d="{path}"/>'


def draw_holders(canvas: Canvas, history: History, names: list[str]) -> None:
    """The holders; a red mark where a holder was notified that it has lost the lock."""
    tops = {name: canvas.lane(name, BAR) + BAR // 2 for name in names}
    bars: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    lost = []
    for held in history.held:
        if held.name in tops and visible(held, canvas):
            ends = min(held.until, canvas.ends)
            where = tops[held.name], canvas.x(held.since), canvas.x(ends)
            bars[number(held.who)].append(where)
            if held.told is not None and held.told < canvas.ends:
                y = tops[held.name]
                lost.append(f"M{canvas.x(min(held.told, held.until)):g} {y - 7}v14")
    for host in sorted(bars):
        canvas.parts.append(f'<path class="bars h{host}" d="{joined(bars[host])}"/>')
    canvas.parts.append(f'<path class="lost" d="{"".join(lost)}"/>')


def visible(held: Held, canvas: Canvas) -> bool:
    return held.since < canvas.ends and held.until > canvas.begins


def joined(bars: list[tuple[int, float, float]]) -> str:
    """What cannot be told apart is one bar."""
    said: list[str] = []
    at, start, end = -1, 0.0, -inf
    for y, x, until in [*sorted(bars), (-2, 0.0, 0.0)]:
        if y == at and x <= end + 0.3:
            end = max(end, until)
            continue
        if at >= 0:
            said.append(f"M{start:g} {at}h{max(end - start, 0.6):.3g}")
        at, start, end = y, x, until
    return "".join(said)


def draw_fences(canvas: Canvas, history: History) -> None:
    """A fence is a number, which grows with views and reservations, and a count."""
    grants = sorted((held.since, held.fence) for held in history.held)
    views = sorted({fence >> COUNT_BITS for _, fence in grants})
    rank = {view: i for i, view in enumerate(views)}
    width = canvas.seconds / BINS
    highest: dict[int, int] = {}
    for at, fence in grants:
        index = min(BINS - 1, int((at - canvas.begins) / width))
        highest[index] = max(highest.get(index, 0), fence)
    tops = [canvas.lane("fence: number", AREA), canvas.lane("fence: counter", AREA)]
    most = [max(len(views) - 1, 1), max(fence & COUNTER for fence in highest.values())]
    for which, top in enumerate(tops):
        said, draws = [], "M"
        for index, fence in sorted(highest.items()):
            value = (rank[fence >> COUNT_BITS], fence & COUNTER)[which]
            y = top + AREA - 3 - (AREA - 6) * value / most[which]
            said.append(f"{draws}{LEFT + PLOT * (index + 0.5) / BINS:.5g} {y:.4g}")
            draws = "L"
        canvas.parts.append(f'<path class="line" d="{"".join(said)}"/>')
        note = f"{len(views)} numbers" if which == 0 else f"to {most[1]:,}"
        canvas.parts.append(f'<text x="{LEFT + 4}" y="{top + 11}">{note}</text>')
    draw_refused(canvas, history, tops[0])


def draw_refused(canvas: Canvas, history: History, top: int) -> None:
    refused = [w for w in history.writes if w.what == "write" and not w.accepted]
    marks = "".join(f"M{canvas.x(w.at):g} {top + AREA - 7}v7" for w in refused)
    canvas.parts.append(f'<path class="lost" d="{marks}"/>')
