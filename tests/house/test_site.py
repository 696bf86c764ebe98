"""The built site in Chromium: no page is pushed sideways, anchors land, search finds."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.chromium import PROGRAM, Browser, browsing

SITE = Path(__file__).parents[2] / "out" / "site"
WIDTHS = (390, 1024, 1366, 1600)
PAGES = sorted(path.name for path in SITE.glob("*.html"))
ALGORITHMS = [f"algorithms/{name}.html" for name in ("maekawa", "maekawa-1985", "raymond")]

pytestmark = pytest.mark.skipif(
    not PROGRAM or not PAGES, reason="needs Chromium, and the site: make docs"
)

SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

# The links of the contents on the right that are shown, and end beyond the window.
CUT = """
[...document.querySelectorAll('.toc-drawer a')].filter(link => {
  const box = link.getBoundingClientRect();
  return box.left < innerWidth && box.right > document.documentElement.clientWidth + 1;
}).length
"""

TARGETS = """
[...document.querySelectorAll('.toc-drawer a[href^="#"]')]
  .map(link => link.getAttribute('href')).filter(href => href.length > 1)
"""

# Whether the place is at the top of the window, or the page ends before that.
LANDED = """(() => {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const top = place?.getBoundingClientRect().top;
  const end = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
  return place && top >= -2 && (top < 160 || end);
})()"""

FOUND = "[...document.querySelectorAll('ul.search li > a')].map(a => a.textContent)"
SEARCHED = "document.querySelector('.search-summary')?.textContent.includes('found')"


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    handler = functools.partial(Silent, directory=str(SITE))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


def go(browser: Browser, address: str) -> None:
    browser.go(address)
    there = f"location.href === {json.dumps(address)}"
    browser.until(f"{there} && document.readyState === 'complete'")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", [*PAGES, *ALGORITHMS])
def test_a_page_fits_into_the_window(
    browser: Browser, site: str, page: str, width: int
) -> None:
    browser.size(width)
    go(browser, site + page)
    assert browser.value(SIDEWAYS) == 0
    assert browser.value(CUT) == 0


@pytest.mark.parametrize("page", PAGES)
def test_links_of_the_contents_land_where_they_should(
    browser: Browser, site: str, page: str
) -> None:
    browser.size(1366)
    go(browser, site + page)
    targets = browser.value(TARGETS)
    for target in targets[:: len(targets) // 8 + 1]:
        go(browser, site + page + target)
        browser.until(LANDED)


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("Scenario", "peerlock.simulator.Scenario"),
        ("redis", "Compared with flock, Redis, etcd and PostgreSQL"),
        ("fence", "What is promised, and what is not"),
        ("deadlock", "peerlock.Deadlock"),
    ],
)
def test_search_finds(browser: Browser, site: str, words: str, title: str) -> None:
    go(browser, f"{site}search.html?q={words}")
    browser.until(SEARCHED)
    browser.until(f"{FOUND}.slice(0, 12).includes({json.dumps(title)})")
