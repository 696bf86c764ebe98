"""`peerlock lock`, as shell, terminal and signals see it: like flock(1)."""

from __future__ import annotations

import asyncio
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from math import inf
from pathlib import Path

import pytest

from peerlock.cli.main import COMMANDS
from peerlock.membership.clock import now
from peerlock.supervision.alarm import DeadlineTimer
from peerlock.supervision.neighbour import Neighbour
from peerlock.supervision.offspring import below, children_found, children_listed
from peerlock.supervision.signals import Signals
from peerlock.supervision.watchdog import Watchdog
from tests.support.shells import DEADLINE, Shell, eventually

OF_THE_C_LIBRARY = 0b11 << 31  # signals 32 and 33, which it blocks and unblocks as it likes


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """Where `peerlock` is a command."""
    script = tmp_path / "peerlock"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m peerlock "$@"\n')
    script.chmod(0o755)
    shell = Shell(tmp_path)
    shell.environment["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    yield shell
    for process in shell.started:
        with suppress(ProcessLookupError):  # it may have no group of its own
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.communicate()


def bash(shell: Shell, script: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        ["bash", "-c", script],
        env=shell.environment,
        cwd=shell.folder,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    shell.started.append(process)
    return process


def outcome(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=DEADLINE)
    return process.returncode, out, err


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def state(pid: int) -> str:
    """T: stopped; empty: it is no more."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[0]


def ended(pid: int) -> bool:
    return state(pid) in ("", "Z", "X")


# At a terminal


class Terminal:
    """An interactive bash on a terminal of its own.

    What is typed is seen, too, so what a test waits for must be written in another way
    where it is typed: as in `echo rea""dy`.
    """

    def __init__(self, shell: Shell) -> None:
        self.all = self.seen = self.passed = ""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(shell.folder)
            environment = {**shell.environment, "PS1": "$ ", "TERM": "dumb"}
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], environment)
        self.sees("$ ")

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def sees(self, text: str) -> None:
        """Now, or later; what follows is for the next time."""
        while text not in self.seen:
            ready, _, _ = select.select([self.terminal], [], [], DEADLINE)
            assert ready, self.seen
            more = os.read(self.terminal, 1000).decode()
            self.all += more
            self.seen += more
        self.passed, _, self.seen = self.seen.partition(text)

    def interrupts(self) -> int:
        """By Ctrl-C, and the shell has its prompt again.  What the shell makes of it."""
        self.type("\x03")
        self.sees("$ ")
        self.type('echo co""de=$?.\n')
        self.sees("code=")
        self.sees(".")
        return int(self.passed)

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


@pytest.fixture
def terminal(shell: Shell) -> Iterator[Terminal]:
    terminal = Terminal(shell)
    yield terminal
    terminal.close()


def test_a_job_in_the_background_leaves_the_terminal_alone(
    terminal: Terminal, shell: Shell
) -> None:
    terminal.type("(peerlock lock x -- true; : >over) &\n")
    eventually((shell.folder / "over").exists, lambda: terminal.seen)
    terminal.type('echo still he""re; cat\n')
    terminal.sees("still here")
    terminal.type("hello\n")
    terminal.sees("hello")
    terminal.sees("hello")


def test_ctrl_z_and_fg(terminal: Terminal) -> None:
    terminal.type("peerlock lock x -- sh -c 'echo rea\"\"dy; exec cat'\n")
    terminal.sees("ready")
    terminal.type("\x1a")
    terminal.sees("Stopped")
    terminal.sees("$ ")
    terminal.type("fg\n")
    terminal.sees("exec cat")  # the shell says what goes on
    terminal.type("hello\n")
    terminal.sees("hello")
    terminal.sees("hello")
    assert terminal.interrupts() == 130


def test_a_pager_can_read_from_the_terminal(terminal: Terminal, shell: Shell) -> None:
    os.mkfifo(shell.folder / "fifo")
    pager = 'read line; echo sho""ws $line; read key </dev/tty; echo go""t $key; echo >fifo'
    terminal.type(f"peerlock lock x -- sh -c 'echo one; read a <fifo' | sh -c '{pager}'\n")
    terminal.sees("shows one")
    terminal.type("q\n")
    terminal.sees("got q")


def test_one_that_ends_takes_nothing_from_its_neighbour(
    terminal: Terminal, shell: Shell
) -> None:
    os.mkfifo(shell.folder / "fifo")
    first = 'peerlock lock a -- sh -c "echo rea""dy; read x <fifo"; echo ov""er'
    terminal.type(f"sh -c '({first}) & peerlock lock b -- cat; wait'\n")
    terminal.sees("ready")
    terminal.type("one\n")
    terminal.sees("one")
    terminal.sees("one")
    (shell.folder / "fifo").write_text("\n")
    terminal.sees("over")
    terminal.type("two\n")
    terminal.sees("two")
    terminal.sees("two")


@pytest.mark.parametrize("holds", [True, False])
def test_ctrl_c_ends_a_scripts_loop(terminal: Terminal, shell: Shell, holds: bool) -> None:
    """While the command runs, and while we wait for the lock."""
    if not holds:
        shell.hold()
    once = "peerlock lock x -- sh -c \"echo rea''dy; exec sleep 100\""
    terminal.type(f"bash -c 'for i in 1 2 3; do {once}; done; echo sle''pt'\n")
    if holds:
        terminal.sees("ready")
    else:
        eventually(lambda: shell.waiting() == 1, shell.status)
    assert terminal.interrupts() == 130
    assert "slept" not in terminal.all


# Signals


def test_a_stopped_command_stops_nobody_else(shell: Shell) -> None:
    stops = 'echo $$; kill -STOP $$; echo "goes on"'
    script = bash(shell, f"peerlock lock x -- sh -c '{stops}'; echo script $?")
    command = int(line_of(script))
    eventually(lambda: state(command) == "T")
    assert shell.run("lock", "-n", "x", "--", "true").returncode == 1
    assert state(script.pid) == "S"
    os.kill(command, signal.SIGCONT)
    assert outcome(script) == (0, "goes on\nscript 0\n", "")


@pytest.mark.parametrize("name", ["HUP", "INT", "TERM", "QUIT", "USR1"])
def test_what_is_ignored_stays_ignored(shell: Shell, name: str) -> None:
    """By us and by the command, as nohup(1) wants it."""
    number = signal.Signals[f"SIG{name}"]
    holder = shell.hold(script="cat")
    ignores = f'trap "" {name}; exec peerlock lock x -- grep SigIgn /proc/self/status'
    other = bash(shell, ignores)
    eventually(lambda: shell.waiting() == 1, shell.status)
    other.send_signal(number)
    holder.communicate(timeout=DEADLINE)  # closes its stdin
    code, out, _ = outcome(other)
    assert code == 0
    assert int(out.split()[1], 16) & (1 << (number - 1))


def test_a_command_finds_signals_as_usual(shell: Shell) -> None:
    done = shell.run("lock", "x", "--", "grep", "-E", "Sig(Ign|Blk)", "/proc/self/status")
    masks = {int(line.split()[1], 16) for line in done.stdout.splitlines()}
    assert {mask & ~OF_THE_C_LIBRARY for mask in masks} == {0}


COUNTS = (
    'trap "echo term" TERM; trap "echo usr1" USR1; echo up; while :; do sleep 0.05; done'
)


def test_what_is_sent_to_the_group_comes_once(shell: Shell) -> None:
    """timeout(1) does so; and so does a shell's `kill %1`."""
    holder = bash(shell, f"exec peerlock lock x -- sh -c '{COUNTS}'")
    assert line_of(holder) == "up"
    os.killpg(holder.pid, signal.SIGTERM)
    assert line_of(holder) == "term"
    holder.send_signal(signal.SIGUSR1)  # is looked at after that
    assert line_of(holder) == "usr1"
    holder.send_signal(signal.SIGTERM)
    assert line_of(holder) == "term"


def test_one_for_us_and_one_for_the_group_are_one() -> None:
    """As timeout(1) sends them."""

    async def told() -> list[tuple[int, bool]]:
        signals = Signals(neighbour)
        for _ in range(2):
            signals.came(signal.SIGTERM)
        os.kill(neighbour.pid, signal.SIGTERM)  # it is the rest of the group
        signals.came(signal.SIGUSR1)
        heard = [await signals.next(), await signals.next()]
        signals.came(signal.SIGTERM)
        return [*heard, await signals.next()]

    neighbour = Neighbour()
    try:
        heard = asyncio.run(told())
    finally:
        neighbour.dismiss()
    term, usr1 = signal.SIGTERM, signal.SIGUSR1
    assert heard == [(term, True), (usr1, False), (term, False)]


def test_how_the_command_was_ended_is_how_we_end(shell: Shell) -> None:
    for name, code in [("INT", -2), ("QUIT", -3), ("TERM", 143), ("KILL", 137)]:
        done = shell.run("lock", "x", "--", "sh", "-c", f"kill -{name} $$")
        assert done.returncode == code, name


def test_ctrl_c_before_it_has_got_going() -> None:
    early = (
        "import peerlock.cli.main as main\n"
        "def interrupted(*_): raise KeyboardInterrupt\n"
        "main.importlib.import_module = interrupted\n"
        "main.main(['{}', 'x', 'true'])\n"
    )
    for command, code in [("lock", -2), ("status", 130)]:
        done = subprocess.run(
            [sys.executable, "-c", early.format(command)],
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        assert done.returncode == code
        assert "Traceback" not in done.stderr


EARLY = """
import os, sys, _signal

class Interrupter:
    left = int(sys.argv.pop(1))

    def find_spec(self, *_):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), _signal.SIGINT)

from peerlock.__main__ import main
sys.meta_path.insert(0, Interrupter())
main()
"""


EVERY = [
    *("check lamport", "lock x true", "list", "--version", "certs ca", "demo", "serve"),
    *("status", "show lamport", "simulate lamport", "compare lamport", "advise"),
    *("new mine", "quorums plane", "reproduce --quick --only naimi", "check-node two"),
    *("lab --no-open", "migrate --sql"),
]


def test_every_command_is_interrupted_below() -> None:
    assert {*COMMANDS} <= {command.split()[0] for command in EVERY}


@pytest.mark.parametrize(
    ("command", "after"),
    [
        *((command, after) for command in EVERY[:4] for after in (1, 30, 90)),
        *((command, 150) for command in EVERY[4:]),
    ],
)
def test_ctrl_c_while_python_imports(shell: Shell, command: str, after: int) -> None:
    """At the first, the 30th, the 90th or the 150th import, if there are as many."""
    done = subprocess.run(
        [sys.executable, "-c", EARLY, str(after), *command.split()],
        env=shell.environment,
        cwd=shell.folder,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert done.returncode in ((-2, 130) if after == 1 else (-2, 130, 0)), done.stderr
    assert done.stderr.strip() in ("", "peerlock: interrupted")


def test_what_python_imports_before_it_answers_ctrl_c() -> None:
    """Each such module is a moment in which Ctrl-C still ends in a traceback."""
    text = "import sys; before = {*sys.modules}; import peerlock.__main__; "
    run = [sys.executable, "-c", text + "print(*sorted({*sys.modules} - before))"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if "importlib" not in name}
    assert loaded <= {"peerlock", "peerlock.__main__", "warnings"}


@pytest.mark.parametrize("descriptors", [6, 9, 16])
def test_too_few_descriptors(shell: Shell, descriptors: int) -> None:
    for command in ("lock x true", "status"):
        run = f"ulimit -n {descriptors}; exec {sys.executable} -m peerlock {command}"
        code, _, err = outcome(bash(shell, run))
        assert (code, err.count("\n")) == (69, 1), err
        assert "ulimit -n" in err


# Streams and files


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_streams_stay_closed(shell: Shell, closed: str) -> None:
    looks = "for i in 0 1 2; do [ -e /proc/$$/fd/$i ] && echo $i >&9; done; exit 7"
    script = f"exec 9>found; peerlock lock x -- bash -c '{looks}' {closed}"
    assert outcome(bash(shell, script)) == (7, "", "")
    names = {"<&-": "0", ">&-": "1", "2>&-": "2"}
    found = set((shell.folder / "found").read_text().split())
    assert found == set(names.values()) - {names[each] for each in closed.split()}


def test_nobody_reads_what_we_say(shell: Shell) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        ["peerlock", "lock", "--verbose", "x", "--", "sh", "-c", "exit 7"],
        env=shell.environment,
        stderr=write_end,
        timeout=DEADLINE,
    )
    os.close(write_end)
    assert done.returncode == 7


def test_a_script_that_does_not_say_what_runs_it(shell: Shell) -> None:
    script = shell.folder / "plain"
    script.write_text("echo $1 and $2; exit 7\n")
    script.chmod(0o755)
    for name in ("./plain", "plain"):
        done = bash(shell, f"peerlock lock x -- {name} 'a b' c")
        assert outcome(done) == (7, "a b and c\n", "")


# What it starts


@pytest.mark.parametrize("options", ["", "-o"])
def test_what_it_leaves_behind_keeps_the_lock(shell: Shell, options: str) -> None:
    """Unless it is told not to."""
    os.mkfifo(shell.folder / "fifo")
    leaves = "(: >began; read a <fifo) >/dev/null 2>&1 & echo $! $$; exit 3"
    holder = bash(shell, f"exec peerlock lock {options} x -- sh -c '{leaves}'")
    left, command = map(int, line_of(holder).split())
    eventually(lambda: ended(command))
    if options:
        assert outcome(holder)[0] == 3
        assert not ended(left)
        assert shell.run("lock", "-n", "x", "--", "true").returncode == 0
    else:
        assert shell.run("lock", "-n", "x", "--", "true").returncode == 1
        assert holder.poll() is None
    (shell.folder / "fifo").write_text("\n")
    assert outcome(holder)[0] == 3
    eventually(lambda: ended(left))


def test_with_close_the_command_inherits_nothing_that_keeps_the_place(shell: Shell) -> None:
    looks = ("sh", "-c", "ls -l /proc/$$/fd")
    assert "cluster.db" in shell.run("lock", "x", *looks).stdout
    assert "cluster.db" not in shell.run("lock", "-o", "x", *looks).stdout


def test_what_it_leaves_behind_can_be_told_to_end(shell: Shell) -> None:
    leaves = "setsid sleep 1000 >/dev/null 2>&1 & echo $! $$; exit 3"
    holder = bash(shell, f"exec peerlock lock --lease none x -- sh -c '{leaves}'")
    left, command = map(int, line_of(holder).split())
    eventually(lambda: ended(command))
    holder.send_signal(signal.SIGINT)
    assert outcome(holder)[0] == 3
    assert ended(left)


def test_nothing_that_it_starts_gets_away(shell: Shell) -> None:
    """Neither by a session of its own, nor if the watchdog is killed."""
    starts = "setsid sleep 1000 >/dev/null 2>&1 & echo $! $$ $PPID; sleep 1000; :"
    for victim in ("us", "the watchdog"):
        holder = bash(shell, f"exec peerlock lock x -- sh -c '{starts}'")
        away, command, watchdog = map(int, line_of(holder).split())
        os.kill(holder.pid if victim == "us" else watchdog, signal.SIGKILL)
        assert shell.run("lock", "x", "--", "true").returncode == 0
        assert ended(away)
        assert ended(command)
        code, _, err = outcome(holder)
        if victim == "the watchdog":
            assert (code, err) == (75, "peerlock: the watchdog was killed: stopped sh\n")


@pytest.mark.parametrize("options", ["", "-o"])
@pytest.mark.parametrize("spared", ["us", "the guardian", "the watchdog", "nobody"])
def test_whoever_of_us_is_killed_the_command_is_dead_before_others_get_in(
    shell: Shell, spared: str, options: str
) -> None:
    """Any two of us: then all that it has started is dead, too.  All three: the command.

    With -o nothing but the three keeps the place, and the kernel closes their files just
    before it kills the command: then the order is not promised.
    """
    starts = "setsid sleep 1000 >/dev/null 2>&1 & echo $! $$ $PPID; exec sleep 1000"
    holder = bash(shell, f"exec peerlock lock --lease 60 {options} x -- sh -c '{starts}'")
    away, command, watchdog = map(int, line_of(holder).split())
    guardian = parent(watchdog)
    us = {"us": holder.pid, "the guardian": guardian, "the watchdog": watchdog}
    assert parent(guardian) == holder.pid
    promised = [] if options else [command]
    dead = promised if spared == "nobody" else [command, away]
    looks = f"grep -h State:.[RSDT] {' '.join(f'/proc/{pid}/status' for pid in dead)}"
    other = bash(
        shell, f"exec peerlock lock x -- sh -c '{looks} </dev/null 2>/dev/null; :'"
    )
    eventually(lambda: shell.waiting() == 1, shell.status)
    killed = [pid for name, pid in us.items() if name != spared]
    for number in (signal.SIGSTOP, signal.SIGKILL):  # none of them sees another end
        for pid in killed:
            os.kill(pid, number)
    if spared == "nobody":
        eventually(lambda: ended(command))
        if not options:  # what the command has started keeps the lock
            assert shell.run("lock", "-w", "1", "x", "--", "true").returncode == 1
        os.kill(away, signal.SIGKILL)
    assert outcome(other) == (0, "", "")


def test_the_guardian_keeps_the_place_until_it_has_killed_all(shell: Shell) -> None:
    """Though with -o the command has nothing open that would."""
    starts = "setsid sleep 1000 >/dev/null 2>&1 & echo $! $PPID; sleep 1000"
    holder = bash(shell, f"exec peerlock lock --lease 60 -o x -- sh -c '{starts}'")
    away, watchdog = map(int, line_of(holder).split())
    guardian = parent(watchdog)
    os.kill(guardian, signal.SIGSTOP)
    for pid in (watchdog, holder.pid):
        os.kill(pid, signal.SIGKILL)
    assert shell.run("lock", "-w", "5", "x", "--", "true").returncode == 1
    assert not ended(away)
    os.kill(guardian, signal.SIGCONT)
    assert shell.run("lock", "x", "--", "true").returncode == 0
    assert ended(away)


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_the_watchdogs_alarm_counts_while_the_machine_is_suspended() -> None:
    alarm = DeadlineTimer()
    about = Path(f"/proc/self/fdinfo/{alarm.descriptor}").read_text()
    assert f"clockid: {time.CLOCK_BOOTTIME}" in about
    for deadline, goes_off in [(now() + 60, False), (now() - 1, True), (inf, False)]:
        alarm.set(deadline)
        assert bool(select.select([alarm.descriptor], [], [], 0)[0]) == goes_off
    alarm.set(now() + 0.01)
    assert select.select([alarm.descriptor], [], [], DEADLINE)[0]
    os.close(alarm.descriptor)


def test_a_lost_lock_stops_all_that_it_has_started(shell: Shell) -> None:
    starts = "setsid sleep 1000 >/dev/null 2>&1 & echo $! $$; sleep 1000; :"
    holder = bash(shell, f"exec peerlock lock x -- sh -c '{starts}'")
    processes = [int(pid) for pid in line_of(holder).split()]
    for file in shell.folder.glob("cluster.db*"):
        if file.is_file():
            file.unlink()
    assert outcome(holder) == (75, "", "peerlock: lost x: stopped sh\n")
    assert all(map(ended, processes))


def test_helpers_that_are_killed_while_it_waits(shell: Shell) -> None:
    shell.hold()
    other = shell.start("lock", "x", "--", "echo", "in")
    eventually(lambda: shell.waiting() == 1, shell.status)
    for helper in list(below(other.pid)):
        os.kill(helper, signal.SIGKILL)
    code, out, err = outcome(other)
    assert (code, out, err.count("\n")) == (69, "", 1)


def test_children_are_found_where_the_kernel_does_not_list_them(shell: Shell) -> None:
    holder = shell.hold()
    assert children_listed(holder.pid)
    assert sorted(children_listed(holder.pid)) == sorted(children_found(holder.pid))


def test_a_watchdog_that_ended_before_it_heard_all_has_said_how_the_command_ended() -> None:
    """As when a lease is renewed at that moment."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    watchdog = Watchdog.__new__(Watchdog)
    watchdog.line, watchdog.status = ours, None
    with ours:
        watchdog.until(1.0)
        theirs.send(b"7")
        theirs.close()
        assert watchdog.hear()
        assert watchdog.status == 7
        assert not watchdog.hear()
