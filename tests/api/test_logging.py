"""What the library logs, and that it prints nothing by itself."""

import logging
import subprocess
import sys

import pytest

import peerlock
from peerlock.node.node import Node
from peerlock.runtime.journal import Journal
from tests.support.threads import put_out, until

SILENT = """
import logging, sys
import peerlock
assert "logging" not in sys.modules or not logging.getLogger("peerlock").handlers
with peerlock.sync.join(sys.argv[1]) as node:
    node.host.step(node.host.presence.stumbled, "for the test")
print("done")
"""


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    return [(r.levelno, r.getMessage()) for r in caplog.records if r.name == "peerlock"]


def test_joining_losing_rejoining_and_leaving(
    cluster: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "peerlock")
    with peerlock.sync.join(cluster) as node:
        (joined,) = said(caplog)
        me = node.host.node.me
        assert joined == (logging.INFO, f"joined as member {me}, one of 1")
        put_out(cluster, node)
        until(lambda: "rejoined as member" in caplog.text)
    lost, *_ = [text for level, text in said(caplog) if level == logging.WARNING]
    assert lost.startswith("lost the place in the cluster")
    assert said(caplog)[-1] == (logging.INFO, "left the cluster")


def test_a_member_that_refuses_this_process(caplog: pytest.LogCaptureFixture) -> None:
    Journal(Node(lambda: 0.0)).refused("it speaks version 9")
    assert said(caplog) == [
        (logging.WARNING, "a member refuses this process: it speaks version 9")
    ]


def test_nothing_is_printed_if_logging_is_not_configured(cluster: str) -> None:
    command = [sys.executable, "-c", SILENT, cluster]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("done\n", "")
