"""Processes in trouble for as long as you like: python -m tests.process_soak --seconds 600.

Each round has a seed of its own and fresh processes; a round that fails tells its seed.
"""

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.processes import Trouble, judge_store

ROUND = 30.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=6)
    options = parser.parse_args()
    ends, seed, total = time.monotonic() + options.seconds, options.seed, Counter[str]()
    while (left := ends - time.monotonic()) > 0:
        with tempfile.TemporaryDirectory(prefix="pl", dir="/tmp") as path:
            store = Path(path, "store.db")
            print(f"seed {seed}: ", end="", flush=True)
            trouble = Trouble(f"sqlite://{path}/c.db", store, seed, options.processes)
            trouble.run(min(ROUND, left))
            total.update(trouble.counts, written=judge_store(store))
        print(", ".join(f"{name} {number:,}" for name, number in total.items()))
        seed += 1


if __name__ == "__main__":
    main()
