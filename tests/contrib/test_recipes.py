"""The recipes of docs/recipes: what each page shows is written to files, and run."""

import asyncio
import http.client
import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from peerlock.membership.place import engine_for
from tests.support.recipes import PAGES, blocks

PATIENCE = 60.0
Process = subprocess.Popen[str]


def needs(*modules: str) -> None:
    for module in modules:
        if not importlib.util.find_spec(module):
            pytest.skip(f"{module} is not installed: make test-recipes")


class Recipe:
    """A folder with the files of a page, and a cluster of its own."""

    def __init__(self, folder: Path, page: str) -> None:
        self.folder = folder
        for name, text in blocks(page).items():
            (folder / name).write_text(text)
        self.environment = {
            **os.environ,
            "PEERLOCK_CLUSTER": f"sqlite://{folder}/c.db",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(folder),
        }

    def run(self, *arguments: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def running(
        self, *arguments: str
    ) -> Iterator[tuple["subprocess.Popen[str]", list[str]]]:
        """A process, and the lines that it has printed so far."""
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        lines: list[str] = []
        assert process.stdout is not None
        reader = threading.Thread(target=lines.extend, args=[iter(process.stdout)])
        reader.start()
        try:
            yield process, lines
        finally:
            process.kill()
            process.wait()
            reader.join()
            process.stdout.close()


def until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda p: p.stem)
def test_a_page_fits_on_a_screen_and_is_listed(page: Path) -> None:
    assert len(page.read_text().splitlines()) <= 50
    assert f"(recipes/{page.name})" in (PAGES.parent / "recipes.md").read_text()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_process_pool(short_path: Path, method: str) -> None:
    recipe = Recipe(short_path, "process-pools")
    page, main = short_path / "pool.py", 'if __name__ == "__main__":\n'
    starts = f'{main}    __import__("multiprocessing").set_start_method("{method}")\n'
    page.write_text(page.read_text().replace(main, starts))
    out = recipe.run("-W", "error", "pool.py")
    assert out == "20 grants, each with a fence of its own\n"
    engine = engine_for(recipe.environment["PEERLOCK_CLUSTER"], None)
    assert asyncio.run(engine.read()).members == ()  # the workers have left
    engine.close()


@pytest.mark.parametrize(
    ("page", "file", "package", "out"),
    [
        ("tooz", "services.py", "tooz", "inside, alone\n{b'host-1'}\n"),
        ("dogpile", "cached.py", "dogpile", "42\n"),
        ("opentelemetry", "traced.py", "opentelemetry", "inside, alone\n"),
        ("trio", "nursery.py", "trio", "inside, alone False\n"),
    ],
)
def test_a_page_of_a_package(
    short_path: Path, page: str, file: str, package: str, out: str
) -> None:
    needs(package)
    assert Recipe(short_path, page).run(file) == out


def test_the_page_of_pytest(short_path: Path) -> None:
    recipe = Recipe(short_path, "pytest")
    base = f"--basetemp={short_path}/temp"
    recipe.environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    out = recipe.run("-m", "pytest", "-q", base, "test_shop.py")
    assert "1 passed" in out


class Unix(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


@pytest.mark.parametrize("preload", [[], ["--preload"]], ids=["each", "preload"])
def test_gunicorn(short_path: Path, preload: list[str]) -> None:
    needs("gunicorn")
    recipe, path = Recipe(short_path, "gunicorn"), short_path / "http"
    line = ["-m", "gunicorn", "-w", "2", "-b", f"unix:{path}", *preload, "shop:app"]
    with recipe.running(*line) as (process, lines):
        until(lambda: sum("Booting worker" in text for text in lines) == 2)
        until(path.exists)
        fences = [fence_from(path) for _ in range(6)]
        assert fences == sorted(set(fences))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert "ResourceWarning" not in "".join(lines)


def fence_from(path: Path) -> int:
    connection = Unix(path)
    try:
        connection.request("GET", "/")
        return int(connection.getresponse().read())
    finally:
        connection.close()


def test_celery_beat(short_path: Path) -> None:
    needs("celery")
    recipe = Recipe(short_path, "celery")
    command = re.search(r"^peerlock (lock .*)$", (PAGES / "celery.md").read_text(), re.M)
    assert command
    words = command[1].replace('"$(hostname)"', "here").split()
    line = ["-m", "peerlock", *words, "-l", "INFO", "-s", f"{short_path}/schedule"]
    with recipe.running(*line) as (first, one):
        until(lambda: any("Sending due task" in text for text in one))
        with recipe.running(*line) as (second, two):
            until(lambda: len(one) > 12)
            assert two == []
            first.terminate()
            first.wait(PATIENCE)
            until(lambda: any("Sending due task" in text for text in two))
            second.terminate()
            second.wait(PATIENCE)


def test_apscheduler(short_path: Path) -> None:
    needs("apscheduler")
    recipe = Recipe(short_path, "apscheduler")
    with recipe.running("scheduler.py") as (first, one):
        until(lambda: len(one) > 1)
        with recipe.running("scheduler.py") as (second, two):
            until(lambda: len(one) > 6)
            assert two == []
            first.kill()
            until(lambda: len(two) > 1)
            assert set(two) == {f"tick of {second.pid}\n"}


DJANGO = """
import sys, threading
import django
from django.conf import settings
from django.core.management import CommandError, call_command
settings.configure()
django.setup()
import send_invoices
call_command(send_invoices.Command())
import peerlock
with peerlock.sync.join() as node, node.lock("manage.py send_invoices"):
    try:
        call_command(send_invoices.Command())
    except CommandError as error:
        print(error)
"""


def test_django(short_path: Path) -> None:
    needs("django")
    out = Recipe(short_path, "django").run("-c", DJANGO)
    assert out == "sending, alone\nsend_invoices is running already\n"


def test_dask(short_path: Path) -> None:
    needs("distributed")
    out = Recipe(short_path, "dask").run("main.py")
    assert out == "10 grants, each with a fence of its own\n"


def test_jupyter(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("nbclient", "ipykernel")
    recipe = Recipe(short_path, "jupyter")
    (short_path / "cells.py").write_text(RUN_CELLS)
    cells = [str(short_path / name) for name in blocks("jupyter")]
    out = recipe.run("cells.py", *cells)
    assert out == "inside, alone: True\nnotebook\n"


RUN_CELLS = """
import sys
import nbformat
from nbclient import NotebookClient
cells = [nbformat.v4.new_code_cell(open(path).read()) for path in sys.argv[1:]]
book = nbformat.v4.new_notebook(cells=cells)
NotebookClient(book, timeout=60, kernel_name="python3").execute()
print("".join(o.text for c in book.cells for o in c.outputs if "text" in o), end="")
"""
