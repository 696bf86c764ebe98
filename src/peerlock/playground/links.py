"""A run as the part of an address after #run=: its JSON, compressed, as base64.

The first letter is the version.  A link that cannot be read is a UsageError.
"""

from __future__ import annotations

import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from peerlock.core.errors import UsageError

VERSION = "1"
LARGEST = 1_000_000  # bytes, uncompressed


def encode(run: dict[str, Any]) -> str:
    short = {
        "a": run["algorithm"],
        "n": run["nodes"],
        "s": run["settings"],
        "m": " ".join(run["moves"]),
    }
    if run.get("source") is not None:
        short["e"] = run["source"]
    data = json.dumps(short, separators=(",", ":"), ensure_ascii=False).encode()
    packed = zlib.compress(data, 9, wbits=-15)
    return VERSION + urlsafe_b64encode(packed).decode().rstrip("=")


def decode(link: str) -> dict[str, Any]:
    if not link.startswith(VERSION):
        raise UsageError("this link is of another version of the lab")
    try:
        packed = urlsafe_b64decode(link[1:] + "=" * (-len(link[1:]) % 4))
        data = zlib.decompressobj(wbits=-15).decompress(packed, LARGEST)
        short = json.loads(data)
        run = {
            "algorithm": str(short["a"]),
            "nodes": int(short["n"]),
            "settings": dict(short["s"]),
            "moves": str(short["m"]).split(),
        }
    except (ValueError, KeyError, TypeError, zlib.error):
        raise UsageError("this link is damaged: copy all of it again") from None
    return run | ({"source": str(short["e"])} if "e" in short else {})
