"""`peerlock check`, as people and programs meet it."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from peerlock.cli.main import main

IN_A_TERMINAL = os.environ | {"TERM": "xterm"}

KEYS = [
    *(
        "algorithm",
        "nodes",
        "settings",
        "requests",
        "network",
        "states",
        "transitions",
        "depth",
    ),
    *("complete", "violation", "everyone_entered"),
    *("max_messages_per_entry", "max_overtaken", "unmeasured", "reductions", "seconds"),
]


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def check(capfd: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: object) -> Done:
        with pytest.raises(SystemExit) as end:
            main(["check", *map(str, arguments)])
        return Done(int(end.value.code or 0), *capfd.readouterr())

    return run


def test_what_holds_ends_with_0(check: Any) -> None:
    done = check("raymond", "-n", 3, "-r", 2)
    assert done.code == 0
    assert done.out.startswith("raymond HOLDS  in every schedule")
    assert "at most 4" in done.out


def test_what_is_assumed_and_what_is_not_measured_is_said(check: Any) -> None:
    done = check("naimi-trehel-failures", "-n", 2, "-r", 1)
    assert done.code == 0
    assert "any order, 1 crash, long time-outs" in done.out
    assert "not measured with faults" in done.out


def test_how_broadcasts_are_counted_is_said(check: Any) -> None:
    told = "a broadcast counted once for each receiver"
    assert told in check("ricart-agrawala-broadcast", "-n", 2).out
    assert told not in check("ricart-agrawala", "-n", 2).out


def test_the_json_has_the_promised_keys(check: Any) -> None:
    found = check("central", "-n", 2, "-r", 2, "--json").json
    assert list(found) == KEYS
    assert found["complete"]
    assert found["violation"] is None
    assert found["network"]["fifo"] is False
    assert (found["nodes"], found["requests"], found["states"]) == (2, 2, 80)


def test_what_is_violated_ends_with_1_and_its_trace(check: Any) -> None:
    done = check("ricart-agrawala-ties", "--json")
    assert done.code == 1
    violation = done.json["violation"]
    assert list(violation) == ["property", "depth", "trace"]
    assert (violation["property"], violation["depth"]) == ("exclusion", 6)
    assert violation["trace"][0] == {"time": 1.0, "kind": "request", "node": 1}
    assert violation["trace"][-1]["kind"] == "violation"


def test_what_is_cut_short_ends_with_3_and_says_so(check: Any) -> None:
    done = check("ricart-agrawala", "-n", 3, "-r", 3, "--max-states", 5000)
    assert done.code == 3
    assert "CUT SHORT" in done.out
    assert "proves nothing" in done.out
    assert not check("ricart-agrawala", "-r", 3, "--max-states", 99, "--json").json[
        "complete"
    ]


def test_time_and_memory_have_limits_too(check: Any) -> None:
    assert "seconds was reached" in check("lamport", "--max-seconds", 0).out
    assert "GB of memory" in check("lamport", "--max-memory", 0.001).out


def test_a_lasso_is_told_as_one(check: Any) -> None:
    done = check("central-lifo")
    assert done.code == 1
    assert "from here on, these steps repeat without end:" in done.out
    assert "expected" in done.out


def test_the_network_can_be_chosen(check: Any) -> None:
    assert check("lamport", "-n", 2, "--reorder").code == 1
    assert check("lamport-reordered", "-n", 2, "--fifo").code == 0
    found = check("central", "-n", 2, "--losses", 1, "--json").json["network"]
    assert (found["losses"], found["crashes"]) == (1, 0)


@pytest.mark.parametrize(
    ("arguments", "settings", "states"),
    [
        (["weighted-majority"], {"votes": "1,1,1"}, 592),
        (["weighted-majority", "--votes", "3,1,1"], {"votes": "3,1,1"}, 176),
        (["sanders", "--quorums", "ricart-agrawala"], {"quorums": "ricart-agrawala"}, 7037),
        (["mizuno-neilsen-rao", "--quorums", "tree"], {"quorums": "tree"}, 439),
        (["suzuki-kasami", "--topology", "line"], {"topology": "line"}, 783),
        (["central"], {}, 122),
    ],
    ids=str,
)
def test_settings_are_used_and_told(
    check: Any, arguments: list[str], settings: dict[str, str], states: int
) -> None:
    done = check(*arguments, "--json")
    assert done.code == 0
    assert (done.json["settings"], done.json["states"]) == (settings, states)


def test_each_node_may_ask_its_own_number_of_times(check: Any) -> None:
    assert check("central", "-r", "2,0,1", "--json").json["requests"] == [2, 0, 1]


@pytest.mark.parametrize("suffix", ["svg", "html", "txt", "jsonl"])
def test_the_counterexample_can_be_drawn(check: Any, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"wrong.{suffix}"
    assert check("ricart-agrawala-ties", "--trace", path).code == 1
    assert "inside together" in path.read_text()


def test_where_nothing_is_wrong_the_worst_overtaking_is_drawn(
    check: Any, tmp_path: Path
) -> None:
    path = tmp_path / "worst.txt"
    assert check("naimi-trehel", "--trace", path).code == 0
    assert "enters" in path.read_text()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nobody"], "unknown algorithm"),
        (["central", "-r", "often"], "invalid requests"),
        (["central", "-r", "1,2"], "use one number"),
        (["central", "-n", "0"], "at least 1 node"),
        (["central", "--quorums", "grid"], "not built on a choice of quorums"),
        (["central", "--votes", "1,1,1"], "not built on a choice of votes"),
        (["weighted-majority", "--votes", "1,1"], "2 numbers of votes, and 3 nodes"),
        (["central", "--forever", "-r", "2"], "omit -r"),
        (["central", "--trace", "run.gif"], ".svg"),
    ],
    ids=str,
)
def test_wrong_usage_ends_with_2(check: Any, arguments: list[str], complaint: str) -> None:
    done = check(*arguments)
    assert done.code == 2
    assert complaint in done.err
    assert done.err.count("\n") == 1


def test_ctrl_c_prints_what_was_covered_and_ends_with_130() -> None:
    command = [sys.executable, "-m", "peerlock", "check", "lamport", "-n", "4"]
    ours, terminal = pty.openpty()
    with (
        open(ours, "rb", buffering=0) as shown,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=terminal, text=True, env=IN_A_TERMINAL
        ) as process,
    ):
        os.close(terminal)
        seen = b""
        while b"searching" not in seen:
            assert select.select([shown], [], [], 30)[0], seen
            seen += shown.read(1000)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 130, (seen, out)
    assert "interrupted" in out
    assert "states" in out


def test_the_time_limit_holds_while_it_measures(
    check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measures_for_ever(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr(
        "peerlock.checker.measures.max_messages_per_entry", measures_for_ever
    )
    began = time.perf_counter()
    done = check("central", "--max-seconds", 0.5)
    assert 0.5 <= time.perf_counter() - began < 1.5  # the machine may be busy
    assert done.code == 3
    assert "the limit of 0.5 seconds was reached" in done.out


@pytest.mark.parametrize("limit", ["--max-seconds", "--max-states", "--max-memory"])
def test_a_limit_is_not_negative(check: Any, limit: str) -> None:
    done = check("central", limit, -1)
    assert (done.code, done.out) == (2, "")
    assert limit in done.err
