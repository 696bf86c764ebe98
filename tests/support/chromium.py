"""A real browser, driven over a pipe by its DevTools protocol."""

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

PROGRAM = shutil.which("chromium") or shutil.which("google-chrome")
DEADLINE = 30.0  # seconds for anything to happen, on a busy machine


class Browser:
    def __init__(self, folder: Path) -> None:
        assert PROGRAM is not None
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        script = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"]
        options += ["--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", script, "bash", PROGRAM, *options],
            pass_fds=(to_browser, from_browser),
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._rest = b""
        self._last = 0
        self._page = ""
        self.complaints: list[str] = []  # errors on the console
        self.asked_for: list[str] = []  # the addresses of all requests

    def open(self) -> Self:
        pages = self._call("Target.getTargets")["targetInfos"]
        page = next(p["targetId"] for p in pages if p["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=page, flatten=True)
        self._page = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")
        return self

    def size(self, width: int, height: int = 900) -> None:
        screen = {"width": width, "height": height, "deviceScaleFactor": 1}
        self._call("Emulation.setDeviceMetricsOverride", **screen, mobile=width < 600)

    def colours(self, scheme: str) -> None:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self._call("Emulation.setEmulatedMedia", features=[feature])

    def go(self, address: str) -> None:
        self._call("Page.navigate", url=address)

    def value(self, script: str) -> Any:
        told = self._call("Runtime.evaluate", expression=script, returnByValue=True)
        return told["result"].get("value")

    def until(self, script: str) -> Any:
        """Until this is true in the page."""
        too_late = time.monotonic() + DEADLINE
        while not (found := self.value(script)):
            assert time.monotonic() < too_late, script
            time.sleep(0.02)
        return found

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot")["data"]))

    def close(self) -> None:
        os.close(self._write)
        os.close(self._read)
        self.process.terminate()
        self.process.wait()

    def _call(self, method: str, **parameters: Any) -> Any:
        self._last += 1
        told = {"id": self._last, "method": method, "params": parameters}
        if self._page:
            told["sessionId"] = self._page
        os.write(self._write, json.dumps(told).encode() + b"\0")
        while (answer := self._next()).get("id") != self._last:
            self._hear(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = os.read(self._read, 1 << 16)
            assert read, "the browser has ended"
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))

    def _hear(self, event: dict[str, Any]) -> None:
        about = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.asked_for.append(about["request"]["url"])
        elif event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(json.dumps(about))


@contextmanager
def browsing(folder: Path) -> Iterator[Browser]:
    browser = Browser(folder)
    try:
        yield browser.open()
    finally:
        browser.close()
