"""What a package index would show of a release."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
URL = "https://forge.example/peerlock"


def metadata(**environment: str) -> Any:
    told = subprocess.run(
        [sys.executable, "-m", "hatchling", "metadata"],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        check=True,
        text=True,
    )
    return json.loads(told.stdout)


def links(text: str) -> list[str]:
    return re.findall(r"\]\(([^)]+)\)", text)


def test_a_release_has_addresses_and_absolute_links() -> None:
    released = metadata(PEERLOCK_URL=f"{URL}/")
    at = f"/v{released['version']}/"
    assert released["urls"]["Source"] == URL
    assert all(url.startswith(URL) for url in released["urls"].values())
    found = [link for link in links(released["readme"]["text"]) if not link.startswith("#")]
    assert found
    assert all(link.startswith("https://") for link in found)
    for link in found:
        if link.startswith(URL):
            kind, path = link.removeprefix(URL).split(at)
            assert kind == ("/raw" if path.endswith(".svg") else "/blob")
            assert (ROOT / path.partition("#")[0]).exists(), link


def test_without_an_address_the_readme_is_left_as_it_is() -> None:
    made = metadata(PEERLOCK_URL="")
    assert made["readme"]["text"] == (ROOT / "README.md").read_text()
    assert not made.get("urls")
