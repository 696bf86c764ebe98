"""`peerlock lock`, `status` and `demo`, as real processes use them."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from peerlock.cli.lock_line import HELP, OPTIONS, parse
from peerlock.cli.main import main
from peerlock.cli.session import grace
from peerlock.core.errors import UsageError
from peerlock.node.presence import margin
from peerlock.supervision import joining
from peerlock.supervision.joining import Patience
from peerlock.supervision.offspring import children_listed
from tests.support.etcd_servers import Server, servers
from tests.support.shells import DEADLINE, PEERLOCK, Shell, eventually

# The command


def test_its_exit_code_is_ours(shell: Shell) -> None:
    assert shell.run("lock", "x", "--", "sh", "-c", "exit 7").returncode == 7
    assert shell.run("lock", "x", "--", "sh", "-c", "kill -9 $$").returncode == 137


def test_it_keeps_stdin_stdout_and_stderr(shell: Shell) -> None:
    done = shell.run("lock", "x", "--", "sh", "-c", "cat; echo oops >&2", input="hello")
    assert (done.stdout, done.stderr) == ("hello", "oops\n")


def test_it_gets_the_name_and_a_fence_that_grows(shell: Shell) -> None:
    script = ("sh", "-c", "echo $PEERLOCK_NAME $PEERLOCK_FENCE")
    said = [shell.run("lock", "in voices", *script).stdout.rsplit(" ", 1) for _ in range(3)]
    assert {name for name, _ in said} == {"in voices"}
    fences = [int(fence) for _, fence in said]
    assert fences == sorted(set(fences))
    assert fences[-1] < 2**63


def test_a_string_for_the_shell(shell: Shell) -> None:
    assert shell.run("lock", "x", "-c", "echo $PEERLOCK_NAME").stdout == "x\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("x",), 64, "missing command"),
        ((), 64, "missing lock name"),
        (("x", "-w", "soon", "--", "true"), 64, "soon"),
        (("x", "-w", "-1", "--", "true"), 64, "-1"),
        (("x", "-w", "nan", "--", "true"), 64, "nan"),
        (("x", "-E", "300", "--", "true"), 64, "300"),
        (("--nosuch", "x", "true"), 64, "--nosuch"),
        (("x", "-E", "300", "-E", "5", "--", "true"), 64, "300"),
        (("x", "-c", "true", "--", "true"), 64, "one command"),
        (("x", "-c", "true", "-c", "true"), 64, "one command"),
        (("x", "--permits", "0", "--", "true"), 64, "1 or more"),
        (("x", "-s", "--permits", "2", "--", "true"), 64, "semaphore"),
        (("x", "--algorithm", "lampert", "--", "true"), 64, "lamport"),
        (("x", "--algorithm", "raymond-k", "--", "true"), 64, "cannot serve a lock"),
        (("x", "--lease", "0", "--", "true"), 64, "0.1 or more"),
        (("x", "--lease", "0.001", "--", "true"), 64, "0.1 or more"),
        (("x", "--lease", "inf", "--", "true"), 64, "number of seconds"),
        (("x", "--cluster", "memory://x", "--", "true"), 64, "within one process"),
        (("x", "--cluster", "nowhere", "--", "true"), 64, "invalid cluster"),
        (("x", "--cluster", "sqlite:///no/such/file", "--", "true"), 69, "no directory"),
        (("", "true"), 64, "characters"),
        (("x", "no-such-command"), 69, "no-such-command"),
        (("x", "/etc/passwd"), 69, "/etc/passwd"),
    ],
)
def test_wrong_usage_is_one_line_with_flocks_code(
    shell: Shell, arguments: tuple[str, ...], code: int, words: str
) -> None:
    done = shell.run("lock", *arguments)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not done.stdout


def test_options_before_and_after_the_name(shell: Shell) -> None:
    assert shell.run("lock", "-n", "x", "-E", "5", "echo", "-n", "a").stdout == "a"
    assert shell.run("lock", "x", "-w", "5", "--", "echo", "--", "-n").stdout == "-- -n\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-nx a true", {"nonblock": True, "shared": False}),
        ("-nsx a true", {"shared": False}),
        ("-xs a true", {"shared": True}),
        ("-w3 a true", {"timeout": 3.0}),
        ("-nw 3 a true", {"nonblock": True, "timeout": 3.0}),
        ("--wait=3 a true", {"timeout": 3.0}),
        ("--timeout 3 a true", {"timeout": 3.0}),
        ("a -w 3 true -w 4", {"timeout": 3.0, "command": ("true", "-w", "4")}),
        ("a -- -n", {"nonblock": False, "command": ("-n",)}),
        ("-- -n true", {"names": ("-n",), "nonblock": False, "command": ("true",)}),
        ("- true", {"names": ("-",)}),
        ("a --lease none true", {"lease": None}),
        ("-E 5 a -E 6 true", {"conflict": 6}),
        ("a --insecure --listen h:1 true", {"insecure": True, "listen": "h:1"}),
        ("a true --help", {"command": ("true", "--help")}),
    ],
)
def test_how_a_line_is_read(line: str, expected: dict[str, Any]) -> None:
    request = parse(line.split())
    assert request is not None
    assert {key: getattr(request, key) for key in expected} == expected


@pytest.mark.parametrize("line", ["-h", "--help", "x -h", "-n --help", "-nh"])
def test_help_is_asked_for(line: str) -> None:
    assert parse(line.split()) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("-w", "-w needs a value: -w SECONDS"),
        ("x --cluster", "--cluster needs a value: --cluster URL"),
        ("--nonblock=yes x true", "--nonblock takes no value, got 'yes'"),
        ("-n- x true", "-n takes no value, got '-'"),
        ("--nonblok x true", "did you mean --nonblock?"),
        ("-nq x true", "unknown option '-q'"),
        ("-w inf x true", "invalid -w 'inf': use a number of seconds, 0 or more"),
        ("--permits -1 x true", "invalid --permits '-1': use a whole number, 1 or more"),
    ],
)
def test_a_line_that_cannot_be_read_says_what_to_write(line: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(line.split())
    assert words in str(refused.value)


def test_the_help_names_every_option_that_is_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for arguments in (["lock", "--help"], ["lock", "x", "-h"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
        told = capsys.readouterr().out
        assert all(flag in told for option in (*OPTIONS, HELP) for flag in option.flags)


# Which process acquires it


def test_not_while_another_holds_it(shell: Shell) -> None:
    shell.hold()
    for options, code in [
        (("-n",), 1),
        (("-n", "-E", "0"), 0),
        (("-w", "0.1"), 1),
        (("-w", "0", "-E", "99"), 99),
        (("-n", "-s"), 1),
    ]:
        done = shell.run("lock", *options, "x", "--", "echo", "in")
        assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert shell.run("lock", "-n", "another", "--", "echo", "in").stdout == "in\n"


def test_who_waits_gets_it_when_it_is_released(shell: Shell) -> None:
    holder = shell.hold(script="cat")
    other = shell.start("lock", "x", "--", "echo", "in")
    eventually(lambda: shell.waiting() == 1, shell.status)
    assert other.poll() is None
    holder.communicate(timeout=DEADLINE)  # closes its stdin
    assert other.communicate(timeout=DEADLINE)[0] == "in\n"


def test_readers_together(shell: Shell) -> None:
    shell.hold("-s")
    assert shell.run("lock", "-s", "-n", "x", "--", "echo", "in").stdout == "in\n"
    assert shell.run("lock", "-n", "x", "--", "echo", "in").returncode == 1


def test_of_options_that_contradict_the_last_wins(shell: Shell) -> None:
    """As with flock(1); but -n always does."""
    file, held = shell.folder / "file", shell.folder / "held"
    flock = shell.popen("flock", "-s", str(file), "sh", "-c", f"> {held}; cat")
    shell.hold("-s")
    eventually(held.exists, lambda: flock.poll())
    for options in ("-nsx", "-nexs", "-n -w 60 -x", "-w 60 -w 0 -x", "-nx -E 8 -E 9"):
        theirs = subprocess.run(["flock", *options.split(), file, "true"], timeout=DEADLINE)
        ours = shell.run("lock", *options.split(), "x", "true")
        assert ours.returncode == theirs.returncode, (options, ours.stderr)


def test_a_semaphore(shell: Shell) -> None:
    shell.hold("--permits", "2")
    done = shell.run("lock", "--permits", "2", "-n", "x", "--", "echo", "in")
    assert done.stdout == "in\n"
    shell.hold("--permits", "2")
    assert shell.run("lock", "--permits", "2", "-n", "x", "--", "true").returncode == 1


def test_another_use_of_a_name_is_refused(shell: Shell) -> None:
    shell.hold("--permits", "2")
    for options in ((), ("--permits", "3"), ("-s",)):
        done = shell.run("lock", *options, "x", "--", "true")
        assert done.returncode == 64
        assert "the cluster uses it" in done.stderr


# Between machines


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[Server]:
    with servers(tmp_path) as (only,):
        yield only


@pytest.fixture
def apart(shell: Shell, etcd: Server) -> Shell:
    """Whose cluster is in etcd."""
    shell.environment["PEERLOCK_CLUSTER"] = f"etcd://{etcd.address}/c"
    return shell


@pytest.mark.parametrize(
    ("options", "within"), [(("-n",), 3), (("-w", "1"), 3), (("-w", "4"), 4)]
)
def test_joining_is_not_waited_for_any_longer(
    apart: Shell, etcd: Server, options: tuple[str, ...], within: int
) -> None:
    etcd.pause()
    done = apart.run("lock", "--insecure", *options, "x", "--", "echo", "in")
    assert (done.returncode, done.stdout) == (69, "")
    assert (
        done.stderr
        == f"peerlock: the cluster is unreachable: joining took longer than {within} s\n"
    )


def test_what_joining_took_is_not_waited_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    waiting = [Patience(seconds) for seconds in (None, 100.0, 30.0, 0.0)]
    monkeypatch.setattr(joining, "time", SimpleNamespace(monotonic=lambda: 1040.0))
    assert [patience.left() for patience in waiting] == [None, 60.0, 0.0, 0.0]
    assert [patience.for_joining for patience in waiting] == [None, 100.0, 30.0, 3.0]


def test_status_says_where_members_are(apart: Shell) -> None:
    holder = apart.hold("--insecure", "--listen", "127.0.0.1:0")
    found = json.loads(apart.run("status", "--insecure", "--json").stdout)
    (member,), (lock,) = found["members"], found["locks"]
    assert member["address"].startswith("127.0.0.1:")
    assert [h["address"] for h in lock["holders"]] == [member["address"]]
    words = apart.run("status", "--insecure").stdout
    assert words.count(f"{holder.pid} at {member['address']}") == 1
    assert words.count(member["address"]) == 2


# Signals, deaths, losses


def test_signals_reach_the_command(shell: Shell) -> None:
    script = (
        'trap "echo usr1" USR1; trap "echo term; exit 3" TERM; while :; do sleep 0.1; done'
    )
    holder = shell.hold(script=script)
    holder.send_signal(signal.SIGUSR1)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "usr1\n"
    holder.send_signal(signal.SIGTERM)
    assert holder.communicate(timeout=DEADLINE)[0] == "term\n"
    assert holder.returncode == 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_it_waits(shell: Shell, number: signal.Signals) -> None:
    shell.hold()
    other = shell.start("lock", "x", "--", "echo", "in")
    eventually(lambda: shell.waiting() == 1, shell.status)
    other.send_signal(number)
    assert other.communicate(timeout=DEADLINE)[0] == ""
    assert other.returncode == -number
    eventually(lambda: len(shell.status()["members"]) == 1, shell.status)


def test_a_killed_holder_takes_its_command_along(shell: Shell, tmp_path: Path) -> None:
    """And all that the command has started, before another gets the lock."""
    beat = tmp_path / "beat"
    dawdle = f"while :; do date +%s%N > {beat}; sleep 0.01; done"
    away = f"(setsid sh -c '{dawdle}' &)"  # a session of its own, and nobody's child
    holder = shell.hold(script=f"({dawdle}) & {away}; {dawdle}")
    other = shell.start("lock", "x", "--", "date", "+%s%N")
    eventually(lambda: shell.waiting() == 1, shell.status)
    holder.send_signal(signal.SIGKILL)
    entered = int(other.communicate(timeout=DEADLINE)[0])
    assert int(beat.read_text() or 0) < entered


def test_a_stopped_holder_loses_it_and_its_command_is_dead_before(
    shell: Shell, tmp_path: Path
) -> None:
    beats = tmp_path / "beats"
    dawdle = f"while :; do date +%s%N >> {beats}; sleep 0.01; done"
    holder = shell.hold("--lease", "1", script=f"setsid sh -c '{dawdle}' & {dawdle}")
    other = shell.start("lock", "x", "--", "date", "+%s%N")
    eventually(lambda: shell.waiting() == 1, shell.status)
    holder.send_signal(signal.SIGSTOP)
    entered = int(other.communicate(timeout=DEADLINE)[0])
    ended = beats.read_text()
    assert max(map(int, ended.split())) < entered
    holder.send_signal(signal.SIGCONT)
    _, said = holder.communicate(timeout=DEADLINE)
    assert holder.returncode == 75
    assert "lost x" in said
    assert beats.read_text() == ended


@pytest.mark.parametrize("lease", [0.1, 1.0, 10.0, 600.0])
def test_a_command_is_killed_between_its_loss_and_the_end_of_the_lease(
    lease: float,
) -> None:
    """Others can have the lock a margin after its users have lost it."""
    assert 0 < grace(lease) < margin(lease)
    assert grace(None) == 0


def test_without_a_lease_a_stopped_holder_keeps_it(shell: Shell) -> None:
    holder = shell.hold("--lease", "none")
    holder.send_signal(signal.SIGSTOP)
    assert shell.run("lock", "-w", "2", "x", "--", "true").returncode == 1
    holder.send_signal(signal.SIGCONT)


def has_ended(pid: int, codes: list[int]) -> bool:
    found, status = os.waitpid(pid, os.WNOHANG)
    if found:
        codes.append(os.waitstatus_to_exitcode(status))
    return bool(found)


def test_the_command_can_read_from_the_terminal(shell: Shell) -> None:
    """And Ctrl-C ends it, and us in the same way."""
    command = [*PEERLOCK, "lock", "x", "--", "sh", "-c", "read a; echo got $a; exec cat"]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, command, shell.environment)
    os.write(terminal, b"hello\n")
    seen = b""
    while b"got hello" not in seen:
        assert select.select([terminal], [], [], DEADLINE)[0], seen
        seen += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    ended: list[int] = []
    eventually(lambda: has_ended(pid, ended))
    os.close(terminal)
    assert ended == [-signal.SIGINT]


# The others


def test_status_shows_who_holds_and_who_waits(shell: Shell) -> None:
    assert shell.run("status").stdout == "This cluster has no members.\n"
    holder = shell.hold()
    other = shell.start("lock", "-s", "x", "--", "true")
    eventually(lambda: shell.waiting() == 1, shell.status)
    found = shell.status()
    assert [member["pid"] for member in found["members"]] == [holder.pid, other.pid]
    (lock,) = found["locks"]
    assert lock["name"] == "x"
    assert [(h["pid"], h["shared"]) for h in lock["holders"]] == [(holder.pid, False)]
    assert [(w["pid"], w["shared"]) for w in lock["waiters"]] == [(other.pid, True)]
    words = shell.run("status").stdout
    assert str(holder.pid) in words
    assert str(other.pid) in words
    assert "ricart-agrawala-readers-writers" in words  # since a reader came
    assert {member["address"] for member in found["members"]} == {None}
    assert " at" not in words


def test_status_says_who_does_not_answer(shell: Shell) -> None:
    holder = shell.hold("--lease", "none")
    holder.send_signal(signal.SIGSTOP)
    assert "does not answer" in shell.run("status").stdout
    holder.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("algorithm", ["naimi-trehel", "maekawa"])
def test_the_demo(shell: Shell, algorithm: str) -> None:
    arguments = ("--nodes", "3", "--seconds", "2", "--algorithm", algorithm, "--json")
    odd = shell.folder / "a%41b"  # a name that means something else in an address
    odd.mkdir()
    shell.environment["TMPDIR"] = str(odd)
    done = shell.run("demo", *arguments)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    keys = "algorithm nodes grants overlaps messages_per_grant fairness killed recovered_ms"
    assert list(result) == keys.split()
    assert (result["algorithm"], result["nodes"]) == (algorithm, 3)
    assert (result["overlaps"], result["killed"]) == (0, 1)
    assert result["grants"] > 3
    assert result["recovered_ms"] > 0


def test_ctrl_c_ends_the_demo(shell: Shell) -> None:
    """All of it hears Ctrl-C, and one of it answers."""
    show = shell.start("demo", "--nodes", "3", "--json", start_new_session=True)
    eventually(lambda: len(children_listed(show.pid)) == 3)
    os.killpg(show.pid, signal.SIGINT)
    _, said = show.communicate(timeout=DEADLINE)
    assert (show.returncode, said.strip()) == (130, "peerlock: interrupted")


def test_the_demo_refuses_what_makes_no_sense(shell: Shell) -> None:
    for arguments in (
        ("--nodes", "1"),
        ("--algorithm", "raymond-k"),
        ("--seconds", "0"),
        ("--seconds", "nan"),
    ):
        done = shell.run("demo", *arguments)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1


def test_where_a_command_cannot_be_stopped_it_is_not_started(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SystemExit) as ended:
        main(["lock", "x", "--", "true"])
    assert ended.value.code == 69
    assert capfd.readouterr().err.startswith("peerlock: lock needs Linux")
