"""Formulas in running text, typeset as HTML: S_i, (N−1)², √(2N), A_i/A_j."""

from __future__ import annotations

import re

# Pages in which single letters are variables.
PAGES = re.compile(
    r"(algorithms/.*|algorithms|architecture|checked|compare|literature|permission|quorums|"
    r"reproduced|several|token)\.md"
)
APART = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)$|^#[^\n]*$)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+[^`]+`+|<[^>]+>|\]\([^)]*\))")  # code, tags and addresses stay
MINUS = re.compile(r"(?<=[NKkn])-(?=[1-9])")
SYMBOL = re.compile(
    r"""
    \b(?P<base>[A-Z]|log)_\{?(?P<below>[a-zA-Z0-9])\}?(?!\w)  # with an index
    | \^\((?P<power>[^()]+)\) | \^(?P<up>-?\w+)
    | (?<![A-Za-z_'’&-])(?<![A-Za-z]\d)  # a letter alone, or after a number; no initial
      (?P<letter>[DKLNOQRSTXijkmnpr]|[AI](?=−)|(?<=\()s(?=−))
      (?![A-Za-z0-9_.-])
    """,
    re.VERBOSE,
)
PRODUCT = re.compile(r"(?<![A-Za-z])ks(?=−)")  # k times s
ROOT = re.compile(r"([√∛])(?:\(((?:[^()<]|</?i>)+)\)|(<i>\w</i>|\d+))")


def typeset_pages(pages: dict[str, str]) -> None:
    for name in filter(PAGES.fullmatch, pages):
        parts = APART.split(pages[name])
        pages[name] = "".join(p if i % 2 else typeset(p) for i, p in enumerate(parts))


def typeset(text: str) -> str:
    """Markdown with the variables of its prose in italics, indices and powers in place."""
    parts = CODE.split(text)
    return "".join(part if i % 2 else formulas(part) for i, part in enumerate(parts))


def formulas(text: str) -> str:
    text = SYMBOL.sub(symbol, MINUS.sub("−", text))
    return ROOT.sub(root, PRODUCT.sub("<i>ks</i>", text))


def symbol(found: re.Match[str]) -> str:
    if found["base"]:
        base = found["base"] if found["base"] == "log" else f"<i>{found['base']}</i>"
        below = found["below"]
        return f"{base}<sub>{below if below.isdigit() else f'<i>{below}</i>'}</sub>"
    if found["letter"]:
        return f"<i>{found['letter']}</i>"
    return f"<sup>{(found['power'] or found['up']).replace('-', '−')}</sup>"


def root(found: re.Match[str]) -> str:
    sign, inside, alone = found.groups()
    return f'{sign}<span class="root">{inside or alone}</span>'
