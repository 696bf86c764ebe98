"""Hosts that share a switch: network namespaces, made for one run and gone after it.

The switch, too, is in a namespace of its own: the machine's own interfaces, addresses and
routes are never touched.  All hosts know each other's hardware addresses from the start,
nobody asks for them; so one host stops reaching another, one way and without a word, when
it is told a wrong one.

Delays come from netem, where the kernel has it; where not, a bucket (tbf) makes a narrow
wire, in which packets queue up.  Losses come from netem, or from a filter that throws dice.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

PREFIX = "plchaos"
NAMESPACES = Path("/run/netns")
SUBNET = "10.77.0"
NOWHERE = "02:70:6c:ff:ff:ff"
PATIENCE = 30.0


class Impossible(Exception):
    """This machine does not let us; the text says why."""


def run(*command: str, stdin: str = "") -> str:
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired as error:
        raise Impossible(str(error)) from None
    if done.returncode:
        raise Impossible(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def why_not() -> str:
    """Why there can be no hosts here; nothing if there can."""
    if not shutil.which("ip") or not shutil.which("tc"):
        return "network namespaces need ip and tc, of iproute2"
    if os.geteuid():
        return "network namespaces need root"
    try:
        with Network(["a", "b"]) as network:
            network.reaches("a", "b")
    except (Impossible, OSError) as error:
        return f"no network namespaces here: {error}"
    return ""


class Network:
    def __init__(self, hosts: Sequence[str]) -> None:
        self.hosts = list(hosts)
        self.has_netem = False
        self._switch = self.namespace("switch")
        self._impaired: set[str] = set()
        self._unplugged: set[str] = set()
        self._blocked: set[tuple[str, str]] = set()

    def namespace(self, host: str) -> str:
        return f"{PREFIX}-{os.getpid()}-{host}"

    def address(self, host: str) -> str:
        return f"{SUBNET}.{self.hosts.index(host) + 1}"

    def inside(self, host: str) -> list[str]:
        """What to put before a command for it to run there."""
        return ["ip", "netns", "exec", self.namespace(host)]

    # Life

    def __enter__(self) -> "Network":
        remove_left_over()
        try:
            self._make()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._remove()

    def _make(self) -> None:
        for host in ["switch", *self.hosts]:
            run("ip", "netns", "add", self.namespace(host))
        lines = ["link add sw0 type bridge", "link set sw0 up"]
        for host in self.hosts:
            ends = f"{wire(host)} type veth peer name eth0 netns {self.namespace(host)}"
            lines += [f"link add {ends}", f"link set {wire(host)} master sw0 up"]
        self._ip("switch", lines)
        for host in self.hosts:
            lines = [
                "link set lo up",
                f"link set eth0 address {self._hardware(host)}",
                f"addr add {self.address(host)}/24 dev eth0",
                "link set eth0 up",
            ]
            others = [other for other in self.hosts if other != host]
            self._ip(host, lines + [self._neighbour(o, self._hardware(o)) for o in others])
        self.has_netem = self._find_netem()

    def _find_netem(self) -> bool:
        try:
            self._tc("switch", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms")
        except Impossible:
            return False
        self._tc("switch", "qdisc", "del", "dev", "lo", "root")
        return True

    def _remove(self) -> None:
        for host in ["switch", *self.hosts]:
            remove(self.namespace(host))

    # What can be done to it

    def reaches(self, source: str, target: str) -> None:
        """Whether packets arrive and come back; Impossible if not."""
        code = "import socket, sys\ns = socket.socket()\ns.settimeout(1)\n"
        code += "sys.exit(s.connect_ex((sys.argv[1], 9)) not in (0, 111))"
        python = [shutil.which("python3") or "python3", "-c", code]
        run(*self.inside(source), *python, self.address(target))

    def unplug(self, host: str) -> None:
        self._unplugged.add(host)
        self._ip("switch", [f"link set {wire(host)} down"])

    def plug_in(self, host: str) -> None:
        self._unplugged.discard(host)
        self._ip("switch", [f"link set {wire(host)} up"])

    def block(self, pairs: Iterable[tuple[str, str]]) -> None:
        """From the first to the second of each pair, nothing arrives any more."""
        self._tell(set(pairs), NOWHERE)

    def unblock(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._tell(set(pairs), "")

    def _tell(self, pairs: set[tuple[str, str]], hardware: str) -> None:
        for source in sorted({source for source, _ in pairs}):
            targets = sorted(target for s, target in pairs if s == source)
            told = [self._neighbour(t, hardware or self._hardware(t)) for t in targets]
            self._ip(source, told)
        self._blocked = self._blocked | pairs if hardware else self._blocked - pairs

    def impair(self, host: str, delay: int, loss: int) -> None:
        """Both ways: milliseconds of delay, more or less, and percent of packets lost."""
        self._impaired.add(host)
        for where, device in self._ends(host):
            if self.has_netem:
                change = ["delay", f"{delay}ms", f"{delay // 2}ms", "loss", f"{loss}%"]
                self._tc(where, "qdisc", "replace", "dev", device, "root", "netem", *change)
                continue
            if delay:
                narrow = ["rate", "1mbit", "burst", "3000", "latency", f"{4 * delay}ms"]
                self._tc(where, "qdisc", "replace", "dev", device, "root", "tbf", *narrow)
            if loss:
                drop = ["egress", "bpf", "da", "bytecode", dice(loss)]
                self._tc(where, "qdisc", "replace", "dev", device, "clsact")
                self._tc(where, "filter", "add", "dev", device, *drop)

    def repair(self, host: str) -> None:
        self._impaired.discard(host)
        for where, device in self._ends(host):
            for kind in ("root", "clsact"):
                with suppress(Impossible):  # it has none of that kind
                    self._tc(where, "qdisc", "del", "dev", device, kind)

    def heal(self) -> None:
        """Everything as it was."""
        self.unblock(self._blocked)
        for host in sorted(self._unplugged):
            self.plug_in(host)
        for host in sorted(self._impaired):
            self.repair(host)

    # How

    def _hardware(self, host: str) -> str:
        return f"02:70:6c:00:00:{self.hosts.index(host) + 1:02x}"

    def _neighbour(self, host: str, hardware: str) -> str:
        where = f"{self.address(host)} lladdr {hardware}"
        return f"neigh replace {where} nud permanent dev eth0"

    def _ends(self, host: str) -> list[tuple[str, str]]:
        return [(host, "eth0"), ("switch", wire(host))]

    def _ip(self, host: str, lines: list[str]) -> None:
        run("ip", "-n", self.namespace(host), "-batch", "-", stdin="\n".join(lines) + "\n")

    def _tc(self, host: str, *arguments: str) -> None:
        run("tc", "-n", self.namespace(host), *arguments)


def wire(host: str) -> str:
    return f"to-{host}"


def dice(percent: int) -> str:
    """A filter that drops so many: load a random word, compare, drop or go on."""
    bound = min((1 << 32) * percent // 100, (1 << 32) - 1)
    return f"4,32 0 0 {0xFFFFF038},53 1 0 {bound},6 0 0 2,6 0 0 {0xFFFFFFFF}"


def remove(namespace: str) -> None:
    if (NAMESPACES / namespace).exists():
        run("ip", "netns", "del", namespace)


def remove_left_over() -> None:
    """Of runs whose process was killed: nobody else will."""
    found = NAMESPACES.glob(f"{PREFIX}-*") if NAMESPACES.is_dir() else ()
    for path in sorted(found):
        owner = re.match(rf"{PREFIX}-(\d+)-", path.name)
        if owner and not Path(f"/proc/{owner[1]}").exists():
            remove(path.name)
