"""Search for inputs that break a harness.

    python -m fuzz frames|nodes [--minutes 5] [--corpus DIRECTORY]

What is found on the way goes to the corpus (a directory under the system's temporary one,
unless given); an input that breaks something is written beside it, shown, and ends the
search.  Keep it in fuzz/kept, where tests/house/test_fuzz.py tries it from then on.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["peerlock"]):
    from fuzz import frames, nodes, seeds

KEPT = Path(__file__).parent / "kept"
HARNESSES = {
    "frames": (frames.harness, seeds.frames),
    "nodes": (nodes.harness, seeds.nodes),
}
LONGEST = 2_000  # bytes of an input
MEMORY = 1_500  # MB, beyond which an input is a finding
SLOW = 20  # seconds, likewise


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("harness", choices=HARNESSES)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--corpus", type=Path)
    options = parser.parse_args()
    harness, seed = HARNESSES[options.harness]
    usual = Path(tempfile.gettempdir()) / "peerlock-fuzz" / options.harness
    corpus = options.corpus or usual
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seed()):
        (corpus / f"seed-{number}").write_bytes(data)
    arguments = [
        sys.argv[0],
        str(corpus),
        str(KEPT / options.harness),
        f"-max_total_time={round(60 * options.minutes)}",
        f"-artifact_prefix={corpus.parent}/{options.harness}-",
        f"-max_len={LONGEST}",
        f"-rss_limit_mb={MEMORY}",
        f"-timeout={SLOW}",
        "-print_final_stats=1",
    ]
    atheris.Setup(arguments, harness)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
