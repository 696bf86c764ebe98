"""The engine of the lab as a process: a request on each line of its input, answers on its
output.

`peerlock lab` starts it and ends it: an edit of the page may loop for ever.
"""

from __future__ import annotations

import sys

from peerlock.playground import answer


def main() -> None:
    def say(line: str) -> None:
        print(line, flush=True)

    for request in sys.stdin:
        say(answer(request, say))


if __name__ == "__main__":
    main()
