"""All algorithms at once, each imported: for what looks at every one of them.

What needs one of them by its name asks `lookup`; what needs only facts, `index`.
"""

from __future__ import annotations

from peerlock.algorithms.index import INDEX
from peerlock.algorithms.lookup import algorithm

CATALOGUE = tuple(map(algorithm, INDEX))
