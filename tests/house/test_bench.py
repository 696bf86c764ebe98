"""The measurements end as the commands of the product do: one line if they are misused."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from peerlock.cli.ending import end_with

BENCH = Path(__file__).parents[2] / "bench"
COMMANDS = [p.stem for p in sorted(BENCH.glob("*.py")) if "__main__" in p.read_text()]

MISUSES = {
    "check_all --on nonsense": "invalid --on 'nonsense'",
    "checker nonsense": "unknown check 'nonsense'",
    "choice nonsense": "unknown algorithm 'nonsense'",
    "locks --only q": "unknown letter 'q'",
    "many --only a,q": "unknown letter 'q'",
    "messages nonsense": "unknown algorithm 'nonsense'",
    "older --only q .": "unknown letter 'q'",
    "scale --only aq": "unknown letter 'q'",
    "soak --seeds 1 --jobs 0": "invalid --jobs 0",
}


@pytest.mark.parametrize("arguments", MISUSES)
def test_a_misuse_is_one_line(
    arguments: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    module, *rest = arguments.split()
    monkeypatch.setattr(sys, "argv", [module, *rest])
    with pytest.raises(SystemExit) as end:
        end_with(import_module(f"bench.{module}").main)
    out, err = capfd.readouterr()
    assert end.value.code == 2 and out == ""
    assert err.startswith(f"peerlock: {MISUSES[arguments]}") and err.count("\n") == 1


def test_each_measurement_ends_like_a_command() -> None:
    assert len(COMMANDS) > 12
    for name in COMMANDS:
        assert (BENCH / f"{name}.py").read_text().endswith(":\n    end_with(main)\n"), name
