"""`peerlock` as a function: its exit code and what it printed."""

import json
from typing import Any

import pytest

from peerlock.cli.main import main


class Done:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        assert self.code in (0, 1), self.err
        return json.loads(self.out)


@pytest.fixture
def peerlock(capfd: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: object) -> Done:
        with pytest.raises(SystemExit) as end:
            main([str(a) for a in arguments])
        out, err = capfd.readouterr()
        return Done(int(end.value.code or 0), out, err)

    return run
