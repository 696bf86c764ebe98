"""What the pages are written into, before any of it is on disk."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from os.path import relpath
from pathlib import Path, PurePosixPath

from peerlock.traces import html, svg
from peerlock.traces.trace import Trace

ROOT = Path(__file__).parents[1]

SIZE = re.compile(r' width="([\d.]+)(pt)?" height="[\d.]+(?:pt)?"')
POINT = 4 / 3  # pixels


@dataclass
class Book:
    """Each by its path below the site's root."""

    pages: dict[str, str] = field(default_factory=dict)  # Markdown
    pictures: dict[str, str] = field(default_factory=dict)  # pieces of HTML, put into pages
    files: dict[str, str | bytes] = field(default_factory=dict)  # beside the pages, as is
    lab: bool = True  # whether the site has the lab, which pages then link to

    def draw(self, page: str, name: str, trace: Trace) -> str:
        """Markdown for `page` that shows a run, with a way to step through it."""
        walk = f"runs/{name}.html"
        if walk not in self.files:
            self.files[walk] = html.render(trace)
        step = f'<a href="{up(page)}{walk}">Step through it</a>'
        shown = self.show(page, f"pictures/run-{name}.html", inline(svg.render(trace)))
        return f"{shown}\n\n<p class='walk'>{step}</p>\n"

    def show(self, page: str, path: str, picture: str) -> str:
        """Markdown for `page` that shows a picture, which stands in a file of its own."""
        self.pictures[path] = f'<div class="drawing">\n{picture}\n</div>\n'
        source = relpath(path, PurePosixPath(page).parent)
        return f"```{{raw}} html\n:file: {source}\n```"

    def write(self, pages: Path, files: Path) -> None:
        for folder, contents in (
            (pages, self.pages),
            (pages, self.pictures),
            (files, self.files),
        ):
            for path, content in contents.items():
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                data = content if isinstance(content, bytes) else content.encode()
                target.write_bytes(data)


def up(page: str) -> str:
    """From a page to the site's root."""
    return "../" * (len(PurePosixPath(page).parts) - 1)


def inline(picture: str) -> str:
    """An SVG to stand within a page: it takes the page's style, and gives way a little.

    It is scaled down to three quarters if there is no room; beyond that, one scrolls.
    """
    picture = picture[picture.index("<svg") :].strip()
    picture = re.sub(r"<style>.*?</style>\n?", "", picture, count=1, flags=re.DOTALL)
    size = SIZE.search(picture)
    assert size is not None, "an SVG without a size"
    wide = float(size[1]) * (POINT if size[2] else 1)
    room = f' style="width: clamp({0.75 * wide:.0f}px, 100%, {wide:.0f}px); height: auto"'
    return picture[: size.start()] + room + picture[size.end() :]


def trace_style() -> str:
    """The look of drawn runs, dark where the page is dark and not only the screen.

    `:where` leaves each rule the weight that it has without it.
    """
    light, _, dark = svg.style().partition("@media (prefers-color-scheme: dark) {")
    dark = dark.rstrip().removesuffix("}")
    return (
        f'{light}:where(body[data-theme="dark"]) {{{dark}}}\n'
        f"@media (prefers-color-scheme: dark) {{\n"
        f':where(body:not([data-theme="light"])) {{{dark}}}\n}}\n'
    )
