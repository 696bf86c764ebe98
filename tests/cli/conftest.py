"""A shell in a cluster of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.shells import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    for process in shell.started:
        process.kill()
        process.communicate()
