"""What the pages of docs/recipes show."""

import re
from pathlib import Path

PAGES = Path(__file__).parents[2] / "docs" / "recipes"


def blocks(page: str) -> dict[str, str]:
    """The code on a page, by the name in its first line."""
    text = (PAGES / f"{page}.md").read_text()
    found = re.findall(r"^```python\n# (.*?)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found, page
    return dict(found)
