"""The command line, as a stranger meets it."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from peerlock.algorithms.card import card
from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.settings import SETTINGS
from peerlock.cli.advise import place
from peerlock.cli.ending import complain_of_output
from peerlock.cli.figures import counted
from peerlock.cli.main import COMMANDS

SHIPPED = [a for a in CATALOGUE if a.family != "museum" or a.name == "maekawa-1985"]


def test_help_names_every_command(peerlock: Any) -> None:
    out = peerlock("--help").out
    for command in COMMANDS:
        assert f"  {command} " in out
        assert peerlock(command, "--help").code == 0


@pytest.mark.parametrize("group", [(), ("certs",)])
def test_help_has_whole_sentences(peerlock: Any, group: tuple[str, ...]) -> None:
    _, found, summaries = peerlock(*group, "--help").out.partition("Commands:\n")
    assert found
    assert "..." not in summaries


def test_no_arguments_is_a_call_for_help(peerlock: Any) -> None:
    done = peerlock()
    assert done.code == 0
    assert "Usage: peerlock" in done.out


def test_list_has_every_algorithm(peerlock: Any) -> None:
    names = [a.name for a in CATALOGUE]
    assert {a["name"] for a in peerlock("list", "--json").json} == set(names)
    out = peerlock("list").out
    assert all(name in out for name in names)


def test_the_museum_has_those_that_are_wrong(peerlock: Any) -> None:
    shown = peerlock("list", "--museum", "--json").json
    assert "maekawa-1985" in [a["name"] for a in shown]
    assert all(a["verdict"] != "holds" for a in shown)


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda a: a.name)
def test_show_tells_the_card(peerlock: Any, entry: Any) -> None:
    shown = peerlock("show", entry.name, "--json").json
    assert shown["name"] == entry.name
    assert shown["card"]["messages"]
    assert shown["departures"]
    assert entry.name in peerlock("show", entry.name).out


SIMULATE_KEYS = {
    "algorithm",
    "nodes",
    "entries",
    "messages",
    "messages_per_entry",
    "messages_by_type",
    "max_inside",
    "max_overtaken",
    "response_time",
    "synchronisation_delay",
    "fairness",
    "events",
    "settings",
    "seconds",
    "seed",
}


@pytest.mark.parametrize("entry", SHIPPED, ids=lambda a: a.name)
def test_simulate_reports(peerlock: Any, entry: Any) -> None:
    report = peerlock("simulate", entry.name, "-n", 4, "--load", "light", "--json").json
    assert report.keys() >= SIMULATE_KEYS
    assert set(report["response_time"]) == {"mean", "p50", "p99", "max"}
    assert (report["algorithm"], report["nodes"], report["entries"]) == (
        entry.name,
        4,
        1000,
    )
    assert report["max_inside"] == 1
    assert sum(report["messages_by_type"].values()) == report["messages"]


@pytest.mark.parametrize(("load", "messages"), [("light", 11.0), ("heavy", 2.054)])
def test_what_needs_a_broadcast_medium_runs_on_one(
    peerlock: Any, load: str, messages: float
) -> None:
    name = "ricart-agrawala-broadcast"
    report = peerlock("simulate", name, "-n", 11, "--load", load, "--json").json
    assert report["messages_per_entry"] == messages


# What can be chosen of algorithms


@pytest.mark.parametrize(
    ("name", "option", "value", "messages"),
    [
        ("weighted-majority", "votes", "1,1,1,1,1,1,1", 9),
        ("weighted-majority", "votes", "7,1,1,1,1,1,1", 3 * 6 / 7),
        ("sanders", "quorums", "ricart-agrawala", 12),
        ("sanders", "quorums", "maekawa", 6),
        ("sanders", "quorums", "majority", 9),
        ("mizuno-neilsen-rao", "quorums", "suzuki-kasami", 7 * 6 / 7),
        ("raymond", "topology", "star", None),
        (
            "helary-plouzeau-raynal",
            "topology",
            "graph:1-2,2-3,3-4,4-5,5-6,6-7,7-1,1-4",
            None,
        ),
        ("raymond-k", "permits", 3, 12),
        ("ricart-agrawala-priority", "increments", "7,6,5,4,3,2,1", 12),
        ("ricart-agrawala-priority", "increments", "random:8", 12),
        ("ricart-agrawala-bounded", "modulus", 20, 12),
        ("ricart-agrawala-implicit", "bound", 4.5, 6),
        ("ricart-agrawala-failures", "way", "d", 12),
        ("suzuki-kasami-bounded", "limit", 1, None),
    ],
)
def test_settings_are_used_and_told(
    peerlock: Any, name: str, option: str, value: object, messages: float | None
) -> None:
    base = ("simulate", name, "-n", 7, "--load", "light", f"--{option}", value)
    report = peerlock(*base, "--json").json
    assert report["settings"] == {option: value}
    assert f"{option} {value}" in peerlock(*base).out.splitlines()[0]
    if messages is not None:
        assert report["messages_per_entry"] == pytest.approx(messages, rel=0.05)


@pytest.mark.parametrize("entry", [a for a in SHIPPED if a.takes], ids=lambda a: a.name)
def test_what_is_said_to_be_the_default_is_the_default(peerlock: Any, entry: Any) -> None:
    base = ("simulate", entry.name, "-n", 6, "--entries", 60, "--load", 0.1, "--json")
    unsaid = peerlock(*base).json
    ((option, value),) = unsaid["settings"].items()
    said = peerlock(*base, f"--{option}", value).json
    assert unsaid | {"seconds": 0} == said | {"seconds": 0}


def test_what_is_chosen_makes_a_difference(peerlock: Any) -> None:
    def run(name: str, *more: object) -> Any:
        run = ("simulate", name, "-n", 5, "--entries", 100, "--json", *more)
        return peerlock(*run).json

    seldom, often = (run("suzuki-kasami-bounded", "--limit", n) for n in (20, 1))
    assert seldom["messages_by_type"]["ACK"] < often["messages_by_type"]["ACK"] / 10
    slow = ("ricart-agrawala-implicit", "--latency", "constant:3")
    assert "violation" in run(*slow)
    assert run(*slow, "--bound", 3.5)["max_inside"] == 1
    ways = [
        run("ricart-agrawala-failures", "--crash", "2@20-60", "--fifo", "--way", way)
        for way in "abcde"
    ]
    assert len({str(way["messages_by_type"]) for way in ways}) > 1


def test_every_kind_that_is_offered_can_be_run(peerlock: Any) -> None:
    for name in ("sanders", "mizuno-neilsen-rao", "suzuki-kasami", "raymond"):
        shown = peerlock("show", name, "--json").json
        assert shown["choices"]
        for kind in shown["choices"]:
            nodes = 3 if kind.startswith("graph") else 4
            chosen = (f"--{shown['takes']}", kind.replace("K", "3"))
            run = ("simulate", name, "-n", nodes, "--entries", 20, *chosen, "--json")
            assert peerlock(*run).json["entries"] == 20


def test_show_names_the_settings(peerlock: Any) -> None:
    assert "--votes V1,V2,…" in peerlock("show", "weighted-majority").out
    assert "ricart-agrawala, maekawa, plane" in peerlock("show", "sanders").out
    assert "graph:1-2,2-3,3-1" in peerlock("show", "helary-plouzeau-raynal").out
    assert "graph" not in peerlock("show", "raymond").out
    assert "settings" not in peerlock("show", "lamport").out


@pytest.mark.parametrize("command", ["simulate", "check", "compare"])
def test_every_setting_has_its_option(peerlock: Any, command: str) -> None:
    out = peerlock(command, "--help").out
    for name, setting in SETTINGS.items():
        assert f"--{name} {setting.form}" in out


def test_simulate_speaks_to_people(peerlock: Any) -> None:
    out = peerlock("simulate", "raymond", "-n", 9, "--topology", "line").out
    assert "messages per entry" in out
    assert "fairness" in out


@pytest.mark.parametrize(
    "ending", ["txt", "jsonl", "svg", "html", "shiviz", "json", "trace.json"]
)
def test_a_run_is_written_in_every_format(
    peerlock: Any, tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"run.{ending}"
    done = peerlock("simulate", "lamport", "-n", 3, "--entries", 5, "--trace", path)
    assert done.code == 0
    assert path.stat().st_size > 500


def test_a_violation_has_exit_code_1_a_story_and_a_trace(
    peerlock: Any, tmp_path: Path
) -> None:
    path = tmp_path / "deadlock.svg"
    wrong = ("simulate", "maekawa-1985", "-n", 7)
    done = peerlock(*wrong, "--trace", path)
    assert done.code == 1
    assert "violation: deadlock" in done.err
    assert "<svg" in path.read_text()
    told = peerlock(*wrong, "--json")
    assert told.code == 1
    assert "deadlock" in told.json["violation"]
    assert told.json["settings"] == {"quorums": "plane"}


def test_loss_duplication_crashes_and_partitions_are_options(peerlock: Any) -> None:
    base = ("simulate", "ricart-agrawala", "-n", 4, "--json", "--entries", 200)
    assert "wait" in peerlock(*base, "--loss", 0.1).json["violation"]
    assert "wait" in peerlock(*base, "--crash", "2@10").json["violation"]
    assert "wait" in peerlock(*base, "--partition", "5-9:1,2/3,4").json["violation"]
    assert peerlock(*base, "--duplicate", 1.0).code == 1


def test_a_schedule_by_hand(peerlock: Any) -> None:
    asked = ("simulate", "ricart-agrawala", "-n", 3, "--schedule", "3@0,2@0.5,1@2")
    assert peerlock(*asked, "--json").json["entries"] == 3


COMPARE = ("compare", "central", "raymond", "-n", "3,5", "--runs", 2, "--entries", 40)


def test_compare_measures_every_combination(peerlock: Any) -> None:
    results = peerlock(*COMPARE, "--load", "light,0.5", "--json").json
    assert len(results) == 2 * 2 * 2
    assert {r["load"] for r in results} == {"light", "0.5"}
    for result in results:
        assert result["runs"] == 2
        assert result["messages_per_entry"]["min"] <= result["messages_per_entry"]["mean"]
    assert "central" in peerlock(*COMPARE).out


def test_compare_gives_the_same_with_any_number_of_processes(peerlock: Any) -> None:
    one, two = (peerlock(*COMPARE, "--jobs", jobs, "--json").json for jobs in (1, 2))
    assert one == two


def test_compare_hands_settings_to_those_that_take_them(peerlock: Any) -> None:
    few = ("-n", 5, "--load", "heavy", "--runs", 1, "--entries", 60)
    run = ("compare", "raymond-k", "lamport", *few, "--permits", 4)
    k, lamport = peerlock(*run, "--json").json
    assert (k["settings"], lamport["settings"]) == ({"permits": 4}, {})
    assert k["response_time"]["mean"] < lamport["response_time"]["mean"] / 2
    assert "with permits 4" in peerlock(*run).out
    votes = ("compare", "weighted-majority", *few, "--votes", "9,1,1,1,1", "--json")
    assert peerlock(*votes).json[0]["settings"] == {"votes": "9,1,1,1,1"}


def test_compare_has_readers(peerlock: Any) -> None:
    few = ("-n", 5, "--load", "heavy", "--runs", 1, "--entries", 60)
    run = ("compare", "ricart-agrawala-readers-writers", "ricart-agrawala", *few)
    ours, theirs = peerlock(*run, "--shared", 0.9, "--json").json
    assert ours["shared"] == theirs["shared"] == 0.9
    assert ours["response_time"]["mean"] < theirs["response_time"]["mean"] / 2


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_compare_draws_a_figure(peerlock: Any, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"figure.{ending}"
    assert peerlock(*COMPARE, "--plot", path).code == 0
    assert path.stat().st_size > 5000


@pytest.mark.parametrize("kind", ["plane", "grid", "majority"])
def test_quorums_are_described(peerlock: Any, kind: str) -> None:
    shown = peerlock("quorums", kind, "-n", 7, "--json").json
    assert set(shown) >= {
        "kind",
        "nodes",
        "quorums",
        "intersecting",
        "minimal",
        "symmetric",
        "sizes",
        "load",
        "resilience",
    }
    assert shown["intersecting"]
    assert list(shown["quorums"]) == [str(i) for i in range(1, 8)]
    assert "any two quorums meet" in peerlock("quorums", kind, "-n", 100).out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["simulate", "maekava"], "did you mean maekawa"),
        (["show", "ricart"], "did you mean ricart-agrawala"),
        (["simulat", "raymond"], "did you mean simulate"),
        (["simulate", "raymond", "-n", "0"], "at least 1 node"),
        (["simulate", "raymond", "-n", "x"], "x"),
        (["simulate", "raymond", "--topology", "ring"], "does not run on a ring"),
        (["simulate", "raymond", "--topology", "sta"], "star"),
        (["simulate", "raymond", "-n", "4", "--topology", "edges:1-2,3-4"], "tree"),
        (["simulate", "lamport", "--quorums", "grid"], "not built on a choice of quorums"),
        (["simulate", "maekawa", "--quorums", "gird"], "did you mean grid"),
        (["simulate", "sanders", "--quorums", "us"], "use ricart-agrawala, maekawa"),
        (["simulate", "mizuno-neilsen-rao", "--quorums", "us"], "use grid-set, "),
        (["simulate", "maekawa", "--quorums", "ricart-agrawala"], "use plane, "),
        (["simulate", "lamport", "--votes", "1,1"], "not built on a choice of votes"),
        (["simulate", "weighted-majority", "--votes", "1,1"], "and 5 nodes: -n 2"),
        (["simulate", "weighted-majority", "--votes", "1,-1"], "invalid votes"),
        (["simulate", "weighted-majority", "-n", "2", "--votes", "0,0"], "have a vote"),
        (["simulate", "weighted-majority", "-n", "1", "--votes", "9" * 5000], "limit"),
        (["simulate", "raymond", "-n", "3", "--topology", "graph:1-2,2-3"], "on a graph"),
        (
            ["simulate", "helary-plouzeau-raynal", "--topology", "edges:1-2,2-3,3-1"],
            "write graph:",
        ),
        (["simulate", "ricart-agrawala-bounded", "--modulus", "8"], "at least 9, not 8"),
        (["simulate", "ricart-agrawala-bounded", "--modulus", "x"], "x"),
        (["simulate", "ricart-agrawala-priority", "--increments", "0,1,1,1,1"], "least 1"),
        (["simulate", "ricart-agrawala-priority", "--increments", "random"], "random:8"),
        (["simulate", "ricart-agrawala-priority", "--increments", "random:0"], "least 1"),
        (["simulate", "ricart-agrawala-implicit", "--bound", "nan"], "time above 0"),
        (["simulate", "ricart-agrawala-failures", "--way", "f"], "a, b, c, d, e"),
        (["simulate", "suzuki-kasami-bounded", "--limit", "0"], "at least 1, not 0"),
        (
            ["compare", "lamport", "raymond", "--votes", "1"],
            "none of these is built on",
        ),
        (["compare", "weighted-majority", "-n", "3,5", "--votes", "1,1,1"], "5 nodes"),
        (
            ["compare", "raymond-k", "--permits", "0"],
            "--permits: it must be at least 1, not 0",
        ),
        (["compare", "lamport", "--shared", "0.5"], "none of these algorithms has readers"),
        (["compare", "lamport", "--shared", "2"], "0<=x<=1"),
        (["advise", "--permits", "3"], "--use semaphore"),
        (
            ["advise", "--use", "semaphore", "--permits", "0"],
            "--permits: it must be at least 1, not 0",
        ),
        (["advise", "--shared", "0.3"], "--use 'shared lock'"),
        (["simulate", "lamport", "--load", "2"], "invalid load"),
        (["simulate", "lamport", "--latency", "unifrom:1,2"], "did you mean uniform"),
        (["simulate", "lamport", "--entries", "0"], "use 1 or more"),
        (["simulate", "lamport", "--crash", "soon"], "invalid crash"),
        (["simulate", "lamport", "--crash", "9@3"], "there is no node 9"),
        (["simulate", "lamport", "--schedule", "7@1"], "invalid request"),
        (["simulate", "lamport", "--trace", "/nowhere/run.svg"], "cannot write"),
        (["simulate", "lamport", "--trace", "run.gif"], ".svg"),
        (["simulate", "lamport", "--loss", "2"], "0<=x<=1"),
        (["simulate", "lamport", "--latency", "constant:nan"], "invalid latency"),
        (["simulate", "lamport", "--latency", "uniform:1,inf"], "invalid latency"),
        (["simulate", "lamport", "--hold", "nan"], "is not a valid number"),
        (["simulate", "lamport", "--hold", "inf", "--json"], "is not a valid number"),
        (["simulate", "lamport", "--hold", "1e300"], "invalid hold"),
        (["simulate", "lamport", "--loss", "nan"], "is not a valid number"),
        (["simulate", "lamport", "--shared", "0.5"], "readers"),
        (["simulate", "lamport", "--schedule", "1@1.2.3"], "invalid request"),
        (["simulate", "lamport", "--schedule", "1@" + 400 * "9"], "invalid time"),
        (["simulate", "lamport", "--crash", "1@5-3"], "cannot be back at 3"),
        (["simulate", "lamport", "--crash", "1@1.2.3"], "invalid crash"),
        (["simulate", "lamport", "--crash", "1@5-9", "--crash", "1@7"], "is down then"),
        (["simulate", "lamport", "--partition", "5-2:1,2/3"], "cannot end at 2"),
        (["simulate", "lamport", "--partition", "1-2:1,9/3"], "there is no node 9"),
        (["simulate", "lamport", "--partition", "1-2:1,2/2,3"], "in two groups"),
        (["simulate", "lamport", "--partition", "1-2:1,,2"], "invalid partition"),
        (["advise", "--latency", "constant:inf"], "invalid latency"),
        (["advise", "--hold", "nan"], "is not a valid number"),
        (["compare", "lamport", "--hold", "nan"], "is not a valid number"),
        (["check", "lamport", "--max-seconds", "nan"], "is not a valid number"),
        (["check", "lamport", "--max-memory", "inf"], "is not a valid number"),
        (["quorums", "plane", "--p", "nan"], "is not a valid number"),
        (["compare", "lamport", "-n", "3,many"], "invalid sizes"),
        (["compare", "lamport", "--runs", "0"], "invalid number of runs"),
        (["compare", "lamport", "--jobs", "0"], "invalid --jobs"),
        (["compare", "lamport", "--plot", "/nowhere/f.pdf"], "cannot write"),
        (["compare", "lamport", "--plot", "figure.gif"], "figure.gif"),
        (["compare"], "NAMES"),
        (["quorums", "circle"], "unknown kind of quorums"),
        (["quorums", "grid", "-n", "0"], "at least 1 node"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_input_is_one_line_and_exit_code_2(
    peerlock: Any,
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = peerlock(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
    assert done.err.startswith("peerlock: ")
    assert complaint in done.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "lamport", "-n", "40", "--entries", "10000000"],
        ["compare", "lamport", "-n", "40", "--entries", "1000000", "--runs", "3"],
        ["reproduce", "--only", "chaudhuri"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_ctrl_c_ends_cleanly(arguments: list[str]) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "peerlock", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 20
        while cpu_seconds(running.pid) < 1.0 and time.monotonic() < deadline:
            time.sleep(0.02)  # until it is at work: there is no event to wait for
        os.killpg(running.pid, signal.SIGINT)
        out, err = running.communicate(timeout=20)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode == 130, (out, err)
    assert err.strip() == "peerlock: interrupted"
    assert out == ""


def cpu_seconds(group: int) -> float:
    """Of all processes in the group, from /proc."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rsplit(")", 1)[1].split()
            if int(fields[2]) == group:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("list", 0),
        ("show maekawa", 0),
        ("simulate maekawa --entries 10", 0),
        ("simulate maekawa --entries 10 --json", 0),
        ("check maekawa --json", 0),
        ("quorums plane -n 381", 0),
        ("quorums plane -n 381 --json", 0),
        ("reproduce --only 'table ii' --jobs 1", 0),
        ("check ricart-agrawala-ties --json", 1),
        ("simulate maekawa-1985 -n 7 --json", 1),
        ("compare ricart-agrawala-ties -n 3 --runs 1 --json", 1),
    ],
)
def test_a_reader_that_has_seen_enough_is_no_error(arguments: str, code: int) -> None:
    """And a verdict is the same, whatever reads it."""
    reads, writes = os.pipe()
    os.close(reads)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "peerlock", *shlex.split(arguments)],
            stdout=writes,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        os.close(writes)
    assert (done.returncode, done.stderr) == (code, "")


NO_OUTPUT = "peerlock: cannot write the output: {}; write it to another place\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "arguments",
    [
        "--version",
        "--help",
        "list",
        "list --museum --json",
        "status",
        "status --json",
        "check central -n 2",
        "check ricart-agrawala-ties -n 2 --json",
        "lock --help",
        "migrate --sql",
    ],
)
def test_output_that_cannot_be_written_is_one_line(
    arguments: str, unbuffered: str, short_path: Path
) -> None:
    """On a full disk, or where the shell has opened it for reading."""
    environment = os.environ | {
        "PYTHONUNBUFFERED": unbuffered,
        "PEERLOCK_CLUSTER": f"sqlite://{short_path / 'c.db'}",
    }
    for path, how, why in (
        ("/dev/full", "w", "No space left on device"),
        (os.devnull, "r", "Bad file descriptor"),
    ):
        with open(path, how) as output:
            done = subprocess.run(
                [sys.executable, "-m", "peerlock", *arguments.split()],
                stdout=output,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
            )
        assert (done.returncode, done.stderr) == (74, NO_OUTPUT.format(why))


def test_an_error_of_a_file_is_not_taken_for_one_of_the_output() -> None:
    assert complain_of_output(FileNotFoundError(2, "No such file", "x")) == 0
    assert complain_of_output(ValueError("full")) == 0


@pytest.mark.parametrize("name", ["ricart-agrawala-ties", "maekawa-without-inquire"])
def test_compare_tells_of_a_run_that_went_wrong_in_one_line(
    peerlock: Any, name: str
) -> None:
    arguments = ("compare", name, "-n", 3, "--runs", 1, "--load", "heavy")
    done = peerlock(*arguments)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"violation: {name}, 3 nodes, load heavy, seed 1: ")
    assert len(done.err.splitlines()) == 1
    told = peerlock(*arguments, "--json")
    assert told.code == 1
    assert told.json["violation"] in done.err


def test_advice_is_ranked_by_messages_and_by_response_time(peerlock: Any) -> None:
    arguments = ("advise", "-n", 5, "--latency", "constant:1", "--load", "light")
    ranked = peerlock(*arguments, "--entries", 40, "--runs", 1, "--json").json
    serving = {a.name for a in CATALOGUE if "lock" in a.serves}
    assert {row["algorithm"] for row in ranked} == serving - {"joung"}  # it has groups
    costs = [row["messages_per_entry"] for row in ranked]
    assert costs == sorted(costs)
    by_name = {row["algorithm"]: row for row in ranked}
    assert by_name["ricart-agrawala"]["messages_per_entry"] == 8
    assert by_name["lamport"]["needs"] == "FIFO"
    quickest = min(ranked, key=lambda row: row["response_time"])
    assert quickest["rank_by_response_time"] == 1


def test_advice_on_semaphores_is_for_so_many_permits(peerlock: Any) -> None:
    few = ("advise", "-n", 5, "--load", "heavy", "--entries", 60, "--runs", 1)
    waits = []
    for permits in (1, 4):
        asked = (*few, "--use", "semaphore", "--permits", permits)
        ranked = peerlock(*asked, "--json").json
        assert all(row["settings"] == {"permits": permits} for row in ranked)
        waits.append({row["algorithm"]: row["response_time"] for row in ranked})
        assert f"with permits {permits}" in peerlock(*asked).out
    assert all(waits[1][name] < waits[0][name] for name in waits[0])


@pytest.mark.parametrize(("options", "shared"), [((), 0.5), (("--shared", 0.9), 0.9)])
def test_advice_on_shared_locks_is_for_so_many_readers(
    peerlock: Any, options: tuple[object, ...], shared: float
) -> None:
    few = ("advise", "-n", 4, "--entries", 30, "--runs", 1, "--use", "shared lock")
    ranked = peerlock(*few, *options, "--json").json
    assert {row["shared"] for row in ranked} == {shared}
    assert f"with readers {shared}" in peerlock(*few, *options).out


def test_advice_in_words(peerlock: Any) -> None:
    done = peerlock("advise", "-n", 3, "--use", "semaphore", "--entries", 20, "--runs", 1)
    assert "raymond-k" in done.out
    assert "Fewest messages" in done.out
    assert peerlock("advise", "--load", "much").code == 2
    assert peerlock("advise", "--latency", "slow").code == 2


# Figures that have no samples, and runs of what is wrong

ALONE = ("-n", 3, "--load", "light", "--entries", 4)


def test_a_figure_without_samples_is_null_and_a_dash(peerlock: Any) -> None:
    """One request at a time: nobody waits for the next to leave."""
    report = peerlock("simulate", "central", *ALONE, "--json").json
    assert report["synchronisation_delay"] is None
    assert report["response_time"]["mean"] > 0
    told = peerlock("simulate", "central", *ALONE).out
    assert re.search(r"^synchronisation delay +– *$", told, re.MULTILINE)

    (row,) = peerlock("compare", "central", *ALONE, "--runs", 1, "--json").json
    assert row["synchronisation_delay"] is None
    assert " – " in peerlock("compare", "central", *ALONE, "--runs", 1).out
    ranked = peerlock("advise", *ALONE, "--runs", 1, "--json").json
    assert {row["synchronisation_delay"] for row in ranked} == {None}


def test_a_run_without_entries_has_no_figures(peerlock: Any) -> None:
    crashes = [word for node in (1, 2) for word in ("--crash", f"{node}@0")]
    late = ("simulate", "central", "-n", 2, "--schedule", "2@1", *crashes)
    report = peerlock(*late, "--json").json
    assert report["entries"] == 0
    for figure in ("messages_per_entry", "response_time", "throughput", "fairness"):
        assert report[figure] is None, figure
    assert "nan" not in peerlock(*late).out


def test_a_run_of_a_museum_piece_says_that_it_is_wrong(peerlock: Any) -> None:
    told = peerlock("simulate", "lamport-reordered", "-n", 2, "--entries", 1).out
    assert (
        "known to be wrong: it can end in exclusion; "
        "peerlock check lamport-reordered prints a shortest counterexample" in told
    )
    wrong = peerlock("simulate", "lamport-reordered", "--json").json
    assert wrong["verdict"] == "exclusion"
    assert "known to be wrong" not in peerlock("simulate", "lamport", "--entries", 1).out


def test_a_museum_piece_is_shown_without_the_card_of_all_the_others(peerlock: Any) -> None:
    told = peerlock("show", "central-lifo").out
    assert "central-lifo  The coordinator lets the latest one in first." in told
    assert "It varies central: peerlock show central." in told
    assert "each class says where" not in told


OF_THE_SOURCE = re.compile(
    r"`[A-Z]\w*[a-z]\w*`|` below|\w\.py\b|`\w+\(\)`|\b(this|the) (file|module|class)\b"
)


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda a: a.name)
def test_a_card_says_nothing_that_only_readers_of_its_file_can_see(entry: Any) -> None:
    shown = card(entry)
    texts = (shown.title, shown.idea, *shown.facts.values(), *shown.departures, shown.note)
    for text in texts:
        assert not OF_THE_SOURCE.search(text), text


def test_help_into_a_closed_pipe_is_no_error() -> None:
    line = f"(sleep 0.2; {sys.executable} -m peerlock check --help; echo $? >&2) | true"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert done.stderr == "0\n"


def test_algorithms_with_equal_figures_share_a_rank() -> None:
    figures = ["3.00", "1.50", "3.00", "–", "2.00"]
    assert [place(figure, figures) for figure in figures] == [3, 1, 3, 5, 2]


def test_one_run_has_no_deviation(peerlock: Any) -> None:
    done = peerlock("compare", "central", "-n", 3, "--runs", 1, "--entries", 20)
    assert "±" not in done.out
    assert "one run; times" in done.out


def test_one_is_not_many(peerlock: Any) -> None:
    assert "1 node," in peerlock("check", "central", "-n", 1).out
    assert counted(1, "entry") == "1 entry"
    assert counted(2000, "entry") == "2,000 entries"


def test_the_status_of_a_cluster_within_another_process_is_not_known(peerlock: Any) -> None:
    done = peerlock("status", "--cluster", "memory://x")
    assert done.code == 2
    assert "is within one process" in done.err


def test_status_takes_no_options_that_it_cannot_use(peerlock: Any) -> None:
    assert "--listen" not in peerlock("status", "--help").out


def test_more_nodes_than_a_quorum_system_can_be_built_for(peerlock: Any) -> None:
    done = peerlock("quorums", "plane", "-n", 100_000)
    assert done.code == 2
    assert "use at most 5,000" in done.err


def test_several_kinds_of_quorums_are_a_list(peerlock: Any) -> None:
    shown = peerlock("quorums", "plane", "grid", "weighted", "--votes", "3,1,1", "-n", 3)
    assert shown.code == 0
    told = peerlock("quorums", "plane", "grid", "-n", 7, "--json").json
    assert [each["kind"] for each in told] == ["plane", "grid"]
    refused = peerlock("quorums", "plane", "grid", "-n", 3, "--votes", "3,1,1")
    assert "--votes needs the kind weighted" in refused.err
