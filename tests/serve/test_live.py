"""The live page: what has changed between two surveys, and a browser that shows it."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import peerlock
from peerlock.serve import live
from peerlock.serve.live import changes
from tests.support import chromium
from tests.support.http import served
from tests.support.serving import Server, serving


def status(view: int = 1, lost: int = 0, answers: bool = True, **locks: Any) -> Any:
    """Of members 1 and 2; a lock is its holders, each a process id with its fence."""
    members = [
        {
            "id": 1,
            "pid": 11,
            "address": None,
            "answers": answers,
            "lost": lost,
            "label": None,
        },
        {"id": 2, "pid": 22, "address": "b:7", "answers": True, "lost": 0, "label": None},
    ]
    shown = [
        {"name": name, "permits": 0, "holders": [holder(*one) for one in holders]}
        for name, holders in locks.items()
    ]
    return {"view": view, "members": members, "locks": shown}


def holder(pid: int, fence: int, shared: bool = False, label: str = "") -> dict[str, Any]:
    return {
        "pid": pid,
        "address": None,
        "fence": fence,
        "shared": shared,
        "label": label,
    }


def told(before: Any, after: Any) -> list[tuple[Any, ...]]:
    return [
        (h["what"], h.get("name"), h.get("pid"), h.get("fence"))
        for h in changes(before, after)
    ]


def test_grants_releases_and_hand_overs() -> None:
    free, one = status(), status(x=[(11, 5)])
    assert told(free, one) == [("granted", "x", 11, 5)]
    assert told(one, one) == []
    assert told(one, free) == [("released", "x", 11, 5)]
    (handed,) = changes(one, status(x=[(22, 6)]))
    assert (handed["what"], handed["from"]["pid"], handed["pid"]) == ("handed over", 11, 22)
    assert told(one, status(x=[(11, 7)])) == [("handed over", "x", 11, 7)]


def test_readers_come_and_go_one_by_one() -> None:
    before = status(x=[(11, 5, True), (22, 6, True)])
    after = status(x=[(22, 6, True), (11, 7, True)])
    assert told(before, after) == [("released", "x", 11, 5), ("granted", "x", 11, 7)]


def test_views_members_and_losses() -> None:
    alone = status()
    alone["members"] = alone["members"][1:]
    assert told(alone, status(view=2)) == [
        ("view", None, None, None),
        ("joined", None, 11, None),
    ]
    assert told(status(), alone) == [("left", None, 11, None)]
    assert told(status(), status(answers=False)) == [("does not answer", None, 11, None)]
    assert told(status(answers=False), status()) == [("answers", None, 11, None)]
    (lost,) = changes(status(lost=1), status(lost=3))
    assert (lost["what"], lost["grants"], lost["pid"]) == ("lost", 2, 11)


def test_a_member_that_no_longer_answers_keeps_its_label() -> None:
    silent, gone = status(answers=False), status()
    before = status(lost=2)
    before["members"][0]["label"] = "billing-3"
    live.remember(before, silent)
    assert told(before, silent) == [("does not answer", None, 11, None)]
    gone["members"] = gone["members"][1:]
    (left,) = changes(silent, gone)
    assert (left["what"], left["label"]) == ("left", "billing-3")
    again = status(lost=3)
    (answers, lost) = changes(silent, again)
    assert (answers["what"], lost["grants"]) == ("answers", 1)
    never = status(answers=False)
    never["members"][0]["lost"] = None
    live.remember(None, never)  # the first round
    assert told(never, status(lost=5)) == [("answers", None, 11, None)]


def test_a_watcher_is_told_and_nothing_is_asked_without_one() -> None:
    async def main() -> None:
        async with served(web="127.0.0.1:0") as there:
            other = peerlock.join("memory://served", thread=False)
            async with other, there.client("web") as watcher:
                watcher.headers = {"Host": "127.0.0.1"}
                watcher.send("GET", "/events")
                await watcher.head()
                _, shown = await watcher.event()
                assert len(shown["members"]) == 2
                async with other.lock("x"):
                    while True:
                        kind, shown = await watcher.event()
                        if kind == "status" and shown["locks"]:
                            break
                assert shown["locks"][0]["name"] == "x"
                assert shown["members"][0]["answers"]
            (first, second) = [there.client("web"), there.client("web")]
            async with first, second:
                for one in (first, second):
                    one.headers = {"Host": "127.0.0.1"}
                    one.send("GET", "/events")
                    await one.head()
                    assert (await one.event())[0] == "status"
                assert (await first.event())[0] in ("status", "happened")

    asyncio.run(main())


def test_the_page_is_read_only() -> None:
    async def main() -> None:
        async with served(web="127.0.0.1:0") as there, there.client("web") as client:
            client.headers = {"Host": "127.0.0.1"}
            assert (await client.ask("POST", "/"))[0] == 405
            assert (await client.ask("GET", "/v1/sessions"))[0] == 404
            status, text = await client.ask("GET", "/")
            assert (status, "EventSource" in text) == (200, True)
            assert "http" not in text.split("<script>")[0]  # nothing from elsewhere

    asyncio.run(main())


def test_a_round_takes_a_tenth_of_the_time_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []

    class Slow:
        async def take(self) -> Any:
            now[0] += 2.0
            return status()

    async def rest(seconds: float) -> None:
        rests.append(seconds)
        shown._watchers.clear()

    now = [0.0]
    monkeypatch.setattr("peerlock.serve.live.time.monotonic", lambda: now[0])
    monkeypatch.setattr("peerlock.serve.live.asyncio.sleep", rest)
    shown = live.Live(Slow())  # type: ignore[arg-type]

    class Nobody:
        def send(self, data: bytes) -> None:
            assert b"event: status" in data

    shown._watchers.add(Nobody())  # type: ignore[arg-type]
    asyncio.run(shown._watch())
    assert rests == [18.0]


# In a real browser

HOLDER = """
import sys, peerlock
with peerlock.sync.join(sys.argv[1], label="billing-3") as node:
    with node.lock("nightly/report"):
        print("held", flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def cluster(short_path: Path) -> str:
    return f"sqlite://{short_path}/c.db"


@pytest.fixture
def server(cluster: str) -> Iterator[Server]:
    with serving(cluster, "--web", "127.0.0.1:0") as server:
        joined = server.until(event="joined")
        server.address = str(joined["web"])
        yield server


@pytest.mark.skipif(chromium.PROGRAM is None, reason="no Chromium here")
def test_a_browser_shows_the_cluster_as_it_lives(
    server: Server, cluster: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", HOLDER, cluster]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with (
        chromium.browsing(tmp_path / "profile") as browser,
        subprocess.Popen(command, **pipes) as holder,  # type: ignore[call-overload]
    ):
        browser.go(f"http://{server.address}/")
        held = "document.getElementById('locks').innerText.includes"
        browser.until(f"{held}('nightly/report')")
        browser.until(f"{held}('billing-3 (pid {holder.pid}), fence')")
        browser.until("document.getElementById('count').textContent === '2'")
        happened = "document.getElementById('happened').innerText"
        for width in (390, 1366):
            for scheme in ("light", "dark"):
                browser.size(width)
                browser.colours(scheme)
                wide = browser.value("document.documentElement.scrollWidth")
                assert wide <= width
                paper = browser.value("getComputedStyle(document.body).backgroundColor")
                assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
        os.kill(holder.pid, signal.SIGKILL)
        browser.until(f"{happened}.includes('billing-3 (pid {holder.pid}) left')")
        browser.until(f"{happened}.includes('released by billing-3 (pid {holder.pid})')")
        words = "document.getElementById('link').textContent"
        os.kill(server.process.pid, signal.SIGSTOP)
        try:
            browser.until(f"/^as it was [.0-9]+ s ago$/.test({words})")
        finally:
            os.kill(server.process.pid, signal.SIGCONT)
        browser.until(f"{words} === 'live'")
        assert browser.complaints == []
        own = f"http://{server.address}/"
        assert all(address.startswith(own) for address in browser.asked_for)
