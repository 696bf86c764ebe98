"""Write the pages, then build the site from them; a warning is an error."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Any

from handbook import (
    algorithms,
    api,
    commands,
    compare,
    lab,
    measures,
    museum,
    quorums,
    texts,
)
from handbook.book import ROOT, Book, trace_style
from handbook.mathematics import typeset_pages

PAGES, FILES, SITE = (ROOT / "out" / name for name in ("docs", "docs-files", "site"))

FURO: dict[str, Any] = {
    "light_css_variables": {
        "color-brand-primary": "#0a5fb8",
        "color-brand-content": "#0a5fb8",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6cb2ff",
        "color-brand-content": "#6cb2ff",
    },
}


def main() -> int:
    began = time.perf_counter()
    book = whole()
    for folder in (PAGES, FILES, SITE):
        shutil.rmtree(folder, ignore_errors=True)
    book.write(PAGES, FILES)
    written = time.perf_counter()
    print(
        f"{len(book.pages)} pages written in {written - began:.0f} s: {PAGES}", flush=True
    )
    amiss = build(PAGES, FILES, SITE)
    if not amiss:
        if book.lab:
            lab.bundle(lab.SITE, browser=True)
        seconds = time.perf_counter() - written
        print(f"built in {seconds:.0f} s: open {SITE / 'index.html'}")
    return amiss


def has_lab() -> bool:
    """Whether npm gives what the lab needs; without it, no page links to the lab."""
    try:
        lab.install()
    except lab.NotBuilt as error:
        print(f"the site has no lab: {error}", flush=True)
        return False
    return True


def whole() -> Book:
    book = Book(lab=has_lab())
    texts.write(book)
    commands.write(book)
    api.write(book)
    measured = measures.measure()
    algorithms.write(book, measured)
    compare.write(book, measured)
    museum.write(book)
    quorums.write(book)
    typeset_pages(book.pages)
    book.files["_static/traces.css"] = trace_style()
    return book


def build(pages: Path, files: Path, site: Path) -> int:
    """By Sphinx; a warning is an error."""
    from sphinx.application import Sphinx

    app = Sphinx(
        srcdir=pages,
        confdir=None,
        outdir=site,
        doctreedir=pages.parent / "docs-trees",
        buildername="html",
        confoverrides=settings(files),
        status=None,
        freshenv=True,
        warningiserror=True,
    )
    app.build()
    return int(app.statuscode)


def settings(files: Path) -> dict[str, Any]:
    return {
        "project": "peerlock",
        "extensions": ["myst_parser"],
        "myst_heading_anchors": 3,
        "html_theme": "furo",
        "html_title": "peerlock",
        "html_theme_options": FURO,
        "html_static_path": [str(ROOT / "handbook" / "static"), str(files / "_static")],
        "html_extra_path": [str(files)],
        "html_css_files": ["traces.css", "site.css"],
        "html_copy_source": False,
        "html_show_copyright": False,
        "highlight_language": "text",
        "python_display_short_literal_types": True,
        "maximum_signature_line_length": 80,
        "smartquotes": False,
        "exclude_patterns": ["pictures"],
    }


if __name__ == "__main__":
    sys.exit(main())
