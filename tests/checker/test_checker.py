"""The checker: what it counts, what it finds, and that it is not fooled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.ricart_agrawala import Reply, Request
from peerlock.checker.arrays.search import ArraySearch
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, exhibit, model
from peerlock.checker.report import Verdict
from peerlock.checker.search import Limits, Search
from peerlock.checker.sites import MASK, Phase
from peerlock.core.demands import Permits
from peerlock.core.errors import UsageError
from peerlock.core.peer import NodeId, Peer
from peerlock.traces.trace import Kind, Step, Trace
from tests.support.naive import explore

each_search = pytest.mark.parametrize("large", [None, 0], ids=["plain", "arrays"])

HOLDING = [a.name for a in CATALOGUE if a.family != "museum"]

# Verdict and counts are pinned: a changed count is a changed algorithm.
# (name, nodes, requests, structure): states, transitions, depth, messages, overtaken
PINNED: dict[tuple[str, int, int, str], tuple[object, ...]] = {
    ("central", 1, 2, ""): (5, 4, 4, 0, 0),
    ("central", 2, 2, ""): (80, 123, 14, 3, 2),
    ("central", 2, 3, ""): (180, 293, 21, 3, 3),
    ("central", 3, 1, ""): (122, 211, 12, 3, 2),
    ("central", 3, 2, ""): (1054, 2149, 24, 3, 4),
    ("central", 4, 1, ""): (746, 1580, 17, 3, 3),
    ("lamport", 1, 2, ""): (5, 4, 4, 0, 0),
    ("lamport", 2, 2, ""): (253, 387, 20, 3, 2),
    ("lamport", 2, 3, ""): (711, 1131, 30, 3, 2),
    ("lamport", 3, 1, ""): (12457, 37024, 24, 6, 2),
    ("ricart-agrawala", 1, 2, ""): (5, 4, 4, 0, 0),
    ("ricart-agrawala", 2, 2, ""): (187, 271, 16, 2, 2),
    ("ricart-agrawala", 2, 3, ""): (580, 890, 24, 2, 2),
    ("ricart-agrawala", 3, 1, ""): (2935, 9182, 18, 4, 2),
    ("ricart-agrawala-bounded", 1, 2, ""): (5, 4, 4, 0, 0),
    ("ricart-agrawala-bounded", 2, 2, ""): (187, 271, 16, 2, 2),
    ("ricart-agrawala-bounded", 2, 3, ""): (578, 889, 24, 2, 2),
    ("ricart-agrawala-bounded", 3, 1, ""): (2935, 9182, 18, 4, 2),
    ("ricart-agrawala-broadcast", 1, 2, ""): (5, 4, 4, 0, 0),
    ("ricart-agrawala-broadcast", 2, 2, ""): (217, 315, 16, 2, 2),
    ("ricart-agrawala-broadcast", 2, 3, ""): (675, 1037, 24, 2, 2),
    ("ricart-agrawala-broadcast", 3, 1, ""): (5944, 17541, 18, Fraction(14, 3), 2),
    ("ricart-agrawala-priority", 1, 2, ""): (5, 4, 4, 0, 0),
    ("ricart-agrawala-priority", 2, 2, ""): (209, 294, 16, 2, 2),
    ("ricart-agrawala-priority", 2, 3, ""): (723, 1082, 24, 2, 3),
    ("ricart-agrawala-priority", 3, 1, ""): (3361, 10451, 18, 4, 2),
    ("ricart-agrawala-broadcast-ordered", 1, 2, ""): (10, 10, 8, 0, 0),
    ("ricart-agrawala-broadcast-ordered", 2, 2, ""): (901, 1920, 24, 2, 1),
    ("ricart-agrawala-broadcast-ordered", 2, 3, ""): (3066, 6820, 36, 2, 1),
    ("ricart-agrawala-broadcast-ordered", 3, 1, ""): (6722, 18174, 24, 4, 2),
    ("ricart-agrawala-implicit", 1, 2, ""): (5, 4, 4, 0, 0),
    ("ricart-agrawala-implicit", 2, 2, ""): (355, 555, 20, Fraction(5, 2), 2),
    ("ricart-agrawala-implicit", 2, 3, ""): (1089, 1784, 30, Fraction(8, 3), 2),
    ("ricart-agrawala-implicit", 3, 1, ""): (3765, 10277, 21, 4, 2),
    ("ricart-agrawala-ring", 1, 2, ""): (5, 4, 4, 0, 0),
    ("ricart-agrawala-ring", 2, 2, ""): (174, 258, 16, 2, 2),
    ("ricart-agrawala-ring", 2, 3, ""): (493, 770, 24, 2, 2),
    ("ricart-agrawala-ring", 3, 1, ""): (445, 847, 15, 3, 2),
    ("ricart-agrawala-ring", 4, 1, ""): (7078, 17836, 24, 4, 3),
    ("ricart-agrawala-ring-notes", 1, 2, ""): (5, 4, 4, 0, 0),
    ("ricart-agrawala-ring-notes", 2, 2, ""): (415, 706, 16, Fraction(11, 4), 2),
    ("ricart-agrawala-ring-notes", 2, 3, ""): (1282, 2280, 24, Fraction(17, 6), 2),
    ("ricart-agrawala-ring-notes", 3, 1, ""): (2561, 5865, 16, 4, 2),
    ("carvalho-roucairol", 1, 2, ""): (5, 4, 4, 0, 0),
    ("carvalho-roucairol", 2, 2, ""): (135, 186, 16, 2, 2),
    ("carvalho-roucairol", 2, 3, ""): (433, 625, 24, 2, 3),
    ("carvalho-roucairol", 3, 1, ""): (2935, 9182, 18, 4, 2),
    ("carvalho-roucairol", 3, 2, ""): (22491, 64113, 36, 4, 4),
    ("singhal-dynamic", 1, 2, ""): (5, 4, 4, 0, 0),
    ("singhal-dynamic", 2, 2, ""): (84, 113, 16, 2, 2),
    ("singhal-dynamic", 2, 3, ""): (279, 390, 24, 2, 3),
    ("singhal-dynamic", 3, 1, ""): (417, 960, 18, 4, 2),
    ("maekawa", 1, 2, ""): (5, 4, 4, 0, 0),
    ("maekawa", 2, 2, "plane"): (97, 140, 14, 3, 2),
    ("maekawa", 3, 1, "plane"): (592, 1207, 16, Fraction(11, 3), 2),
    ("maekawa", 3, 1, "grid"): (5097, 13324, 23, 8, 2),
    ("maekawa", 3, 2, "plane"): (14204, 33731, 32, Fraction(15, 4), 4),
    ("maekawa", 3, 1, "majority"): (592, 1207, 16, Fraction(11, 3), 2),
    ("maekawa-sequential", 1, 2, ""): (5, 4, 4, 0, 0),
    ("maekawa-sequential", 2, 2, "plane"): (73, 109, 14, 3, 2),
    ("maekawa-sequential", 2, 3, "plane"): (160, 253, 21, 3, 3),
    ("maekawa-sequential", 3, 1, "plane"): (215, 412, 15, 3, 2),
    ("maekawa-sequential", 3, 1, "grid"): (378, 745, 21, 6, 2),
    ("maekawa-sequential", 3, 2, "plane"): (2084, 4905, 30, 3, 4),
    ("maekawa-sequential", 4, 1, "grid"): (4304, 11242, 32, 6, 3),
    ("maekawa-cyclic", 1, 2, ""): (5, 4, 4, 0, 0),
    ("maekawa-cyclic", 2, 2, "plane"): (73, 109, 14, 3, 2),
    ("maekawa-cyclic", 3, 1, "plane"): (215, 412, 15, 3, 2),
    ("maekawa-cyclic", 3, 1, "grid"): (333, 656, 19, 5, 2),
    ("maekawa-cyclic", 3, 2, "plane"): (2084, 4905, 30, 3, 4),
    ("maekawa-cyclic", 4, 1, "grid"): (3840, 10041, 30, 6, 3),
    ("ricart-agrawala-token", 1, 2, ""): (5, 4, 4, 0, 0),
    ("ricart-agrawala-token", 2, 2, ""): (83, 119, 16, 2, 2),
    ("ricart-agrawala-token", 2, 3, ""): (234, 356, 24, 2, 3),
    ("ricart-agrawala-token", 3, 1, ""): (657, 1907, 15, 3, 2),
    ("majority", 1, 2, ""): (5, 4, 4, 0, 0),
    ("majority", 2, 2, ""): (264, 393, 22, Fraction(15, 4), 2),
    ("majority", 2, 3, ""): (747, 1158, 33, Fraction(23, 6), 2),
    ("majority", 3, 1, ""): (592, 1207, 16, Fraction(11, 3), 2),
    ("majority", 3, 2, ""): (14204, 33731, 32, Fraction(15, 4), 4),
    ("weighted-majority", 1, 2, ""): (5, 4, 4, 0, 0),
    ("weighted-majority", 2, 2, ""): (97, 140, 14, 3, 2),
    ("weighted-majority", 2, 3, ""): (251, 382, 21, 3, 3),
    ("weighted-majority", 3, 1, ""): (592, 1207, 16, Fraction(11, 3), 2),
    ("weighted-majority", 4, 1, ""): (3763, 9429, 21, Fraction(15, 4), 3),
    ("majority-spare", 1, 2, ""): (5, 4, 4, 0, 0),
    ("majority-spare", 2, 2, ""): (264, 393, 22, Fraction(15, 4), 2),
    ("majority-spare", 2, 3, ""): (747, 1158, 33, Fraction(23, 6), 2),
    ("weighted-majority-spare", 1, 2, ""): (5, 4, 4, 0, 0),
    ("weighted-majority-spare", 2, 2, ""): (97, 140, 14, 3, 2),
    ("weighted-majority-spare", 2, 3, ""): (251, 382, 21, 3, 3),
    ("sanders", 1, 2, ""): (5, 4, 4, 0, 0),
    ("sanders", 2, 2, ""): (97, 140, 14, 3, 2),
    ("sanders", 3, 1, ""): (592, 1207, 16, Fraction(11, 3), 2),
    ("sanders", 3, 2, ""): (14204, 33731, 32, Fraction(15, 4), 4),
    ("agrawal-el-abbadi", 1, 2, ""): (5, 4, 4, 0, 0),
    ("agrawal-el-abbadi", 2, 2, ""): (246, 359, 20, 3, 2),
    ("agrawal-el-abbadi", 2, 3, ""): (766, 1195, 30, 3, 2),
    ("agrawal-el-abbadi", 3, 1, ""): (342, 610, 15, Fraction(7, 2), 2),
    ("agrawal-el-abbadi", 3, 2, ""): (8303, 17302, 30, Fraction(7, 2), 4),
    ("agrawal-el-abbadi", 4, 1, ""): (2612, 5991, 21, Fraction(11, 3), 3),
    ("raynal-prime", 1, 2, ""): (5, 4, 4, 0, 0),
    ("raynal-prime", 2, 2, ""): (100, 170, 14, None, 1),
    ("raynal-prime", 2, 3, ""): (210, 370, 20, None, 1),
    ("raynal-prime", 3, 1, ""): (729, 2025, 20, None, 2),
    ("suzuki-kasami", 1, 2, ""): (5, 4, 4, 0, 0),
    ("suzuki-kasami", 2, 2, ""): (83, 119, 16, 2, 2),
    ("suzuki-kasami", 2, 3, ""): (234, 356, 24, 2, 3),
    ("suzuki-kasami", 3, 1, ""): (727, 2080, 15, 3, 2),
    ("suzuki-kasami", 3, 1, "ring"): (788, 1493, 17, Fraction(11, 3), 2),
    ("suzuki-kasami", 3, 1, "line"): (783, 1903, 17, 4, 2),
    ("suzuki-kasami-bounded", 1, 2, ""): (5, 4, 4, 0, 0),
    ("suzuki-kasami-bounded", 2, 2, ""): (130, 217, 18, 3, 2),
    ("suzuki-kasami-bounded", 2, 3, ""): (464, 901, 26, 3, 3),
    ("suzuki-kasami-bounded", 3, 1, ""): (727, 2080, 15, 3, 2),
    ("mizuno-neilsen-rao", 1, 2, ""): (5, 4, 4, 0, 0),
    ("mizuno-neilsen-rao", 2, 2, ""): (83, 119, 16, 2, 2),
    ("mizuno-neilsen-rao", 2, 3, ""): (234, 356, 24, 2, 3),
    ("mizuno-neilsen-rao", 3, 1, ""): (729, 2081, 15, 3, 2),
    ("helary-plouzeau-raynal", 1, 2, ""): (5, 4, 4, 0, 0),
    ("helary-plouzeau-raynal", 2, 2, ""): (79, 113, 16, 2, 2),
    ("helary-plouzeau-raynal", 2, 3, ""): (209, 317, 24, 2, 3),
    ("helary-plouzeau-raynal", 3, 1, ""): (1537, 4055, 15, 3, 2),
    ("helary-plouzeau-raynal", 3, 1, "line"): (1210, 2706, 17, 4, 2),
    ("raymond", 1, 2, ""): (5, 4, 4, 0, 0),
    ("raymond", 2, 2, ""): (69, 103, 12, 2, 2),
    ("raymond", 2, 3, ""): (149, 235, 16, 2, 3),
    ("raymond", 3, 1, ""): (152, 273, 14, 4, 2),
    ("raymond", 3, 2, ""): (1084, 2215, 21, 4, 4),
    ("raymond", 4, 1, ""): (1146, 2591, 20, 6, 3),
    ("raymond", 4, 1, "line"): (1186, 2695, 22, 6, 3),
    ("neilsen-mizuno", 1, 2, ""): (5, 4, 4, 0, 0),
    ("neilsen-mizuno", 2, 2, ""): (69, 103, 12, 2, 2),
    ("neilsen-mizuno", 2, 3, ""): (149, 235, 16, 2, 3),
    ("neilsen-mizuno", 3, 1, ""): (158, 293, 13, 3, 2),
    ("neilsen-mizuno", 3, 1, "line"): (168, 309, 13, 3, 2),
    ("singhal-heuristic", 1, 2, ""): (5, 4, 4, 0, 0),
    ("singhal-heuristic", 2, 2, ""): (83, 119, 16, 2, 2),
    ("singhal-heuristic", 2, 3, ""): (234, 356, 24, 2, 3),
    ("singhal-heuristic", 3, 1, ""): (570, 1228, 16, Fraction(7, 2), 2),
    ("naimi-trehel", 1, 2, ""): (5, 4, 4, 0, 0),
    ("naimi-trehel", 2, 2, ""): (69, 103, 12, 2, 2),
    ("naimi-trehel", 2, 3, ""): (149, 235, 16, 2, 3),
    ("naimi-trehel", 3, 1, ""): (164, 296, 13, 3, 2),
    ("naimi-trehel", 3, 2, ""): (1666, 3365, 22, 3, 4),
    ("naimi-trehel", 4, 1, ""): (1500, 3388, 18, 3, 3),
    ("chaudhuri-91", 1, 2, ""): (5, 4, 4, 0, 0),
    ("chaudhuri-91", 2, 2, ""): (78, 121, 14, 3, 2),
    ("chaudhuri-91", 2, 3, ""): (174, 287, 21, 3, 3),
    ("chaudhuri-91", 3, 1, ""): (324, 656, 19, 5, 2),
    ("chaudhuri-91", 4, 1, ""): (6972, 19026, 37, Fraction(31, 4), 3),
    ("chaudhuri-95", 1, 2, ""): (5, 4, 4, 0, 0),
    ("chaudhuri-95", 2, 2, ""): (78, 121, 14, 3, 2),
    ("chaudhuri-95", 2, 3, ""): (174, 287, 21, 3, 3),
    ("chaudhuri-95", 3, 1, ""): (303, 599, 18, 5, 2),
    ("chaudhuri-95", 4, 1, ""): (5382, 13938, 35, Fraction(15, 2), 3),
    ("chaudhuri-karaata", 1, 2, ""): (5, 4, 4, 0, 0),
    ("chaudhuri-karaata", 2, 2, ""): (80, 123, 14, 3, 2),
    ("chaudhuri-karaata", 2, 3, ""): (180, 293, 21, 3, 3),
    ("chaudhuri-karaata", 3, 1, ""): (122, 211, 12, 3, 2),
    ("chaudhuri-karaata", 4, 1, ""): (1101, 2395, 20, 6, 3),
    ("banerjee-chrysanthis", 1, 2, ""): (5, 4, 4, 0, 0),
    ("banerjee-chrysanthis", 2, 2, ""): (298, 727, 20, 3, 2),
    ("banerjee-chrysanthis", 2, 3, ""): (1567, 5006, 30, 3, 3),
    ("banerjee-chrysanthis", 3, 1, ""): (2538, 8498, 18, Fraction(14, 3), 2),
    ("chaudhuri-edward", 1, 2, ""): (5, 4, 4, 0, 0),
    ("chaudhuri-edward", 2, 2, ""): (298, 727, 20, 3, 2),
    ("chaudhuri-edward", 2, 3, ""): (1567, 5006, 30, 3, 3),
    ("chaudhuri-edward", 3, 1, ""): (586, 1487, 18, 6, 2),
    ("token-ring", 1, 2, ""): (5, 4, 4, 0, 0),
    ("token-ring", 2, 2, ""): (100, 170, 14, None, 1),
    ("token-ring", 2, 3, ""): (210, 370, 20, None, 1),
    ("token-ring", 3, 1, ""): (162, 297, 13, None, 2),
    ("token-ring", 3, 2, ""): (975, 2055, 22, None, 2),
    ("token-ring", 4, 1, ""): (756, 1620, 18, None, 3),
    ("ricart-agrawala-readers-writers", 1, 2, ""): (7, 8, 4, 0, 0),
    ("ricart-agrawala-readers-writers", 2, 2, ""): (638, 1138, 16, 2, 2),
    ("ricart-agrawala-readers-writers", 3, 1, ""): (26642, 95545, 18, 4, 2),
    ("raymond-k", 2, 2, ""): (2272, 6998, 16, 2, 0),
    ("raymond-k", 3, 1, ""): (11614, 41406, 18, 4, 2),
    ("srimani-reddy", 2, 2, ""): (25, 40, 8, 0, 0),
    ("srimani-reddy", 3, 1, ""): (2839, 8263, 18, 5, 2),
    ("mishra-srimani", 2, 2, ""): (1704, 6342, 25, None, None),
    ("mishra-srimani", 3, 1, ""): (55069, 305390, 48, None, None),
    ("nishio-li-manning", 2, 2, ""): (10400, 45424, 22, None, None),
    ("nishio-li-manning-apart", 2, 1, ""): (7621, 24191, 19, None, None),
    ("ricart-agrawala-failures", 2, 2, ""): (13412, 33763, 26, None, None),
    ("maekawa-takeover", 2, 2, ""): (198, 474, 15, None, None),
    ("raymond-recovery", 2, 2, ""): (682, 1376, 17, None, None),
    ("mishra-srimani-coordinator", 2, 2, ""): (2383, 9223, 27, None, None),
    ("naimi-trehel-failures", 2, 2, ""): (381, 1180, 17, None, None),
    ("naimi-trehel-failures", 3, 2, ""): (42660, 191525, 30, None, None),
    ("kakugawa", 1, 2, ""): (5, 4, 4, 0, 0),
    ("kakugawa", 2, 2, ""): (25, 40, 8, 0, 0),
    ("kakugawa", 2, 3, ""): (49, 84, 12, 0, 0),
    ("dijkstra-ring", 1, 2, ""): (5, 4, 4, 0, 0),
    ("dijkstra-ring", 2, 2, ""): (840, 1800, 21, None, 1),
    ("dijkstra-ring", 2, 3, ""): (1888, 4176, 27, None, 1),
    ("dijkstra-ring", 3, 1, ""): (2286, 5310, 29, None, 2),
    ("cao-singhal", 1, 2, ""): (5, 4, 4, 0, 0),
    ("cao-singhal", 2, 2, ""): (298, 427, 16, 3, 2),
    ("cao-singhal", 2, 3, ""): (1673, 2577, 23, 3, 3),
    ("cao-singhal", 3, 1, ""): (2302, 5237, 18, 4, 2),
    ("lodha-kshemkalyani", 1, 2, ""): (5, 4, 4, 0, 0),
    ("lodha-kshemkalyani", 2, 2, ""): (180, 246, 16, 2, 2),
    ("lodha-kshemkalyani", 2, 3, ""): (668, 965, 24, 2, 2),
    ("lodha-kshemkalyani", 3, 1, ""): (2184, 5639, 17, 4, 2),
    ("mueller-priority", 1, 2, ""): (5, 4, 4, 0, 0),
    ("mueller-priority", 2, 2, ""): (71, 101, 14, 2, 2),
    ("mueller-priority", 2, 3, ""): (160, 244, 18, 2, 3),
    ("mueller-priority", 3, 1, ""): (150, 258, 13, 3, 2),
    ("mueller-priority", 4, 1, ""): (1332, 2812, 18, 3, 3),
    ("joung", 1, 2, ""): (7, 8, 4, 0, 0),
    ("joung", 2, 2, ""): (788, 1442, 16, 2, 2),
    ("raynal-k-of-l", 1, 2, ""): (7, 8, 4, 0, 0),
    ("raynal-k-of-l", 2, 2, ""): (1572, 3435, 17, 3, 2),
    ("sopena-arantes-sens", 1, 2, ""): (5, 4, 4, 0, 0),
    ("sopena-arantes-sens", 2, 2, ""): (85, 121, 14, 2, 2),
    ("sopena-arantes-sens", 2, 3, ""): (213, 329, 18, 2, 3),
    ("sopena-arantes-sens", 3, 1, ""): (164, 296, 13, 3, 2),
    ("sopena-arantes-sens", 4, 1, ""): (1456, 3238, 24, 6, 3),
    ("chandy-misra", 1, 2, ""): (9, 12, 4, 0, 0),
    ("chandy-misra", 2, 2, ""): (1699, 3379, 23, 6, 2),
    ("chandy-misra", 2, 3, ""): (4767, 9746, 27, 6, 3),
    ("bouabdallah-laforest", 1, 2, ""): (17, 20, 4, 0, 0),
    ("bouabdallah-laforest", 2, 2, ""): (2177, 4519, 18, 5, 2),
    ("bouabdallah-laforest", 3, 1, ""): (6742, 15618, 15, 5, 2),
    ("ricart-agrawala-delaying", 1, 2, ""): (5, 4, 4, 0, 0),
    ("ricart-agrawala-delaying", 2, 2, ""): (260, 385, 18, 2, 2),
    ("ricart-agrawala-delaying", 3, 1, ""): (6915, 23965, 21, 4, 2),
    ("ricart-agrawala-implicit-broadcast", 1, 2, ""): (5, 4, 4, 0, 0),
    ("ricart-agrawala-implicit-broadcast", 2, 2, ""): (355, 555, 20, Fraction(5, 2), 2),
    ("ricart-agrawala-implicit-broadcast", 3, 1, ""): (5169, 14525, 22, Fraction(13, 3), 2),
    ("ricart-agrawala-insertion", 1, 2, ""): (22, 25, 7, None, None),
    ("maekawa-relinquish", 1, 2, ""): (5, 4, 4, 0, 0),
    ("maekawa-relinquish", 2, 2, ""): (84, 120, 14, 3, 2),
    ("maekawa-relinquish", 3, 1, ""): (491, 964, 15, 3, 2),
    ("agrawal-el-abbadi-trees", 1, 2, ""): (5, 4, 4, 0, 0),
    ("agrawal-el-abbadi-trees", 2, 2, ""): (246, 359, 20, 3, 2),
    ("agrawal-el-abbadi-trees", 3, 1, ""): (342, 610, 15, Fraction(7, 2), 2),
    ("suzuki-kasami-by-number", 1, 2, ""): (5, 4, 4, 0, 0),
    ("suzuki-kasami-by-number", 2, 2, ""): (83, 119, 16, 2, 2),
    ("suzuki-kasami-by-number", 3, 1, ""): (727, 2080, 15, 3, 2),
    ("raymond-echo", 1, 2, ""): (5, 4, 4, 0, 0),
    ("raymond-echo", 2, 2, ""): (174, 371, 16, 2, 2),
    ("raymond-piggyback", 1, 2, ""): (5, 4, 4, 0, 0),
    ("raymond-piggyback", 2, 2, ""): (69, 103, 12, 2, 2),
    ("raymond-piggyback", 3, 1, ""): (156, 277, 13, 4, 2),
    ("mishra-srimani-bounded", 1, 2, ""): (6, 9, 4, None, None),
    ("mishra-srimani-bounded", 2, 2, ""): (2389, 9630, 27, None, None),
    ("srimani-reddy-bounded", 1, 2, ""): (5, 4, 4, 0, 0),
    ("srimani-reddy-bounded", 2, 2, ""): (25, 40, 8, 0, 0),
    ("srimani-reddy-bounded", 3, 1, ""): (2839, 8263, 18, 5, 2),
}


def cluster(
    name: str,
    nodes: int,
    requests: int | tuple[int, ...] | None,
    structure: str = "",
    network: Network | None = None,
) -> Model:
    quorums = structure if name.startswith("maekawa") and structure else None
    topology = structure if structure and not quorums else None
    return model(name, nodes, requests, network, quorums, topology)


@each_search
@pytest.mark.parametrize(("size", "counts"), PINNED.items(), ids=str)
def test_an_algorithm_holds_with_the_pinned_counts(
    size: tuple[str, int, int, str], counts: tuple[object, ...], large: int | None
) -> None:
    report = check(cluster(*size), large=large)
    assert report.holds
    assert report.everyone_entered
    measured = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *measured) == counts


def test_every_algorithm_is_pinned() -> None:
    assert {name for name, *_ in PINNED} == set(HOLDING)


TOO_LARGE = {  # for a naive search
    ("bouabdallah-laforest", False, 3),
    ("bouabdallah-laforest", True, 3),
    ("chandy-misra", True, 3),
    ("joung", False, 3),
    ("joung", True, 3),
    ("raynal-k-of-l", False, 3),
    ("raynal-k-of-l", True, 3),
    ("kakugawa", True, 3),
    ("majority-spare", True, 3),
    ("weighted-majority-spare", True, 3),
    ("mishra-srimani", False, 3),
    ("mishra-srimani-bounded", False, 3),
    ("mishra-srimani-bounded", True, 3),
    ("mishra-srimani-coordinator", False, 3),
    ("mishra-srimani-coordinator", True, 3),
    ("nishio-li-manning", False, 3),
    ("nishio-li-manning", True, 3),
    ("nishio-li-manning-apart", False, 3),
    ("nishio-li-manning-apart", True, 3),
    ("raymond-echo", False, 3),
    ("raymond-echo", True, 3),
    ("raymond-k", False, 3),
    ("ricart-agrawala-delaying", False, 3),
    ("ricart-agrawala-implicit-broadcast", False, 3),
    ("ricart-agrawala-insertion", False, 3),
    ("ricart-agrawala-readers-writers", False, 3),
}
NAIVE = [
    (entry.name, fifo, nodes, requests)
    for entry in CATALOGUE
    for fifo in (True, False)
    for nodes, requests in ((2, 2), (3, 1))
    if entry.family != "museum" and fifo >= entry.fifo
    if (entry.name, fifo, nodes) not in TOO_LARGE
]


@pytest.mark.parametrize(("name", "fifo", "nodes", "requests"), NAIVE)
def test_the_fast_search_finds_what_a_naive_one_finds(
    name: str, fifo: bool, nodes: int, requests: int
) -> None:
    """The same states and transitions, to the last one."""
    chosen = replace(
        model(name, nodes, requests, Network(fifo)),
        fences=False,
    )
    found = explore(chosen)
    assert not found.violated
    for search in (Search(chosen), ArraySearch(chosen)):
        search.run(Limits())
        assert search.exhausted
        assert search.coverage == found[:3]


@each_search
@pytest.mark.parametrize(
    "name",
    [
        "maekawa-without-inquire",
        "ricart-agrawala-ties",
        "ricart-agrawala-deaf",
        "carvalho-roucairol-unaware",
    ],
)
def test_a_counterexample_is_as_short_as_a_naive_search_finds_it(
    name: str, large: int | None
) -> None:
    chosen = exhibit(name)
    violation = check(chosen, large=large).violation
    assert violation is not None
    assert violation.depth == explore(chosen).depth


# Fences


@pytest.mark.parametrize("name", HOLDING)
def test_fences_that_are_really_counted_grow(name: str) -> None:
    chosen = model(name, 2, 2)
    assert not explore(chosen).violated
    assert check(chosen).holds


@pytest.mark.parametrize(
    "name", ["ricart-agrawala-ties", "ricart-agrawala-deaf", "carvalho-roucairol-unaware"]
)
@pytest.mark.parametrize("fifo", [True, False], ids=["fifo", "any order"])
@pytest.mark.parametrize(("nodes", "requests"), [(2, 2), (3, 1)])
@each_search
def test_one_bit_finds_the_fence_that_a_counter_finds(
    name: str, fifo: bool, nodes: int, requests: int, large: int | None
) -> None:
    """With room for all, nothing but the fences can go wrong."""
    chosen = replace(model(name, nodes, requests, Network(fifo)), rule=Permits(nodes))
    violation = check(chosen, large=large).violation
    found = explore(chosen)
    if violation is None:
        assert not found.violated
    else:
        assert (violation.property, violation.depth) == (found.violated, found.depth)


@dataclass(eq=False)
class Careless(Peer):
    """Lets everybody in at once."""

    def acquire(self) -> None:
        self.grant()

    def release(self) -> None:
        pass


def careless(**changes: object) -> Model:
    simple = Model(
        name="careless",
        make=lambda node: Careless(node, (1, 2)),
        nodes=2,
        requests=(1, 1),
        network=Network(fifo=False),
    )
    return replace(simple, **changes)  # type: ignore[arg-type]


@each_search
def test_two_inside_are_found(large: int | None) -> None:
    violation = check(careless(), large=large).violation
    assert violation is not None
    assert violation.property == "exclusion"
    assert violation.depth == 2
    assert violation.text == "1 and 2 are inside together"


@each_search
def test_a_fence_that_does_not_grow_is_found_without_anybody_meeting(
    large: int | None,
) -> None:
    violation = check(careless(rule=Permits(2)), large=large).violation
    assert violation is not None
    assert violation.property == "fence"
    assert [s.fence for s in violation.trace if s.kind is Kind.ENTER] == [1, 1]


def test_as_many_as_there_is_room_for_may_be_inside() -> None:
    assert check(careless(rule=Permits(2), fences=False)).holds


@pytest.mark.parametrize("name", [n for n in HOLDING if not algorithm(n).timely])
def test_fences_grow_in_every_step_of_the_worst_schedule(name: str) -> None:
    """The replay counts them as a node would."""
    faultless = Network(algorithm(name).fifo)
    trace = check(model(name, 2, 3, faultless)).overtaking
    assert trace is not None
    fences = [step.fence for step in trace if step.kind is Kind.ENTER]
    assert fences == list(range(1, len(fences) + 1))


# Counterexamples


@each_search
def test_maekawa_1985_deadlocks_on_the_grid_of_four(large: int | None) -> None:
    violation = check(model("maekawa-1985", 4, 1, quorums="grid"), large=large).violation
    assert violation is not None
    assert (violation.property, violation.depth) == ("deadlock", 14)
    assert violation.trace.steps[-1].kind is Kind.VIOLATION


def test_a_trace_is_a_run() -> None:
    """Each message that arrives was sent before, and has not arrived yet."""
    violation = check(exhibit("maekawa-1985")).violation
    assert violation is not None
    must_be_a_run(violation.trace)
    assert violation.trace.steps[-1].time == violation.depth


def must_be_a_run(trace: Trace) -> None:
    under_way: dict[int, Step] = {}
    times = [step.time for step in trace]
    assert times == sorted(times)
    for step in trace:
        if step.kind is Kind.SEND:
            assert step.flight is not None
            under_way[step.flight] = step
        elif step.kind in (Kind.RECEIVE, Kind.LOSE):
            assert step.flight is not None
            sent = under_way.pop(step.flight)
            assert (sent.node, sent.peer) == (step.peer, step.node)
            assert sent.message == step.message


# Limits


def test_a_search_that_is_cut_short_is_no_proof() -> None:
    report = check(model("ricart-agrawala", 3, 2), Limits(states=1000))
    assert not report.complete
    assert not report.holds
    assert "1,000 states" in report.cut
    assert report.max_overtaken is None


def test_somebody_else_may_stop_it() -> None:
    report = check(model("ricart-agrawala", 3, 2), Limits(stop=lambda c: f"{c.states}!"))
    assert not report.complete
    assert report.cut.endswith("!")


@pytest.mark.parametrize("requests", [(1, 1), (1, 1, 1, 1), (-1, 2, 2), (0, 0, 0), 0])
def test_senseless_requests_are_refused(requests: int | tuple[int, ...]) -> None:
    with pytest.raises(UsageError):
        model("central", 3, requests)


# Faults


@pytest.mark.parametrize(
    ("network", "violated"),
    [
        (Network(fifo=False, losses=1), "deadlock"),
        (Network(fifo=False, duplications=1), "remote error"),
        (Network(fifo=False, crashes=1), "deadlock"),
    ],
    ids=str,
)
@each_search
def test_a_central_coordinator_survives_no_fault(
    network: Network, violated: str, large: int | None
) -> None:
    violation = check(model("central", 2, 1, network), large=large).violation
    assert violation is not None
    assert violation.property == violated
    must_be_a_run_with_faults(violation.trace)


def must_be_a_run_with_faults(trace: Trace) -> None:
    assert trace.steps[-1].kind is Kind.VIOLATION
    received = [s.flight for s in trace if s.kind is Kind.RECEIVE]
    faults = sum(s.kind in (Kind.LOSE, Kind.CRASH) for s in trace)
    assert faults + len(received) - len(set(received)) == 1


def test_faults_are_spent_once() -> None:
    """One crash of two: each node alone may be gone, never both."""
    chosen = replace(careless(network=Network(False, crashes=1)), requests=(1, 0))
    search = Search(replace(chosen, fences=False))
    search.run(Limits())
    gone = [search.phases(state).count(Phase.CRASHED) for state in search.states]
    assert max(gone) == 1
    assert search.exhausted


@each_search
def test_who_crashes_may_come_back_with_its_memory_lost(large: int | None) -> None:
    """No node is stuck as long as another may come back, which then has forgotten."""
    network = Network(False, crashes=1, returns=True)
    violation = check(model("raymond", 2, (2, 1), network), large=large).violation
    assert violation is not None
    assert violation.property == "deadlock"
    kinds = [step.kind for step in violation.trace]
    assert kinds.index(Kind.CRASH) < kinds.index(Kind.RESTART)


# A medium


@dataclass(eq=False)
class Greeting(Peer):
    """Each node greets all at its start; the one whose greeting comes first may enter."""

    messages = (Request,)
    first: NodeId = 0
    wants: bool = False

    def start(self) -> None:
        self.broadcast(Request(0))

    def acquire(self) -> None:
        self.wants = True
        self.enter_if_first()

    def release(self) -> None:
        pass

    def receive_request(self, sender: NodeId, message: Request) -> None:
        self.first = self.first or sender
        self.enter_if_first()

    def enter_if_first(self) -> None:
        if self.wants and self.first == self.me:
            self.wants = False
            self.grant()


@each_search
def test_on_a_medium_a_node_hears_what_it_has_broadcast_at_its_start(
    large: int | None,
) -> None:
    """The nodes start one after the other, so node 1 is the first everywhere."""
    chosen = careless(
        make=lambda node: Greeting(node, (1, 2)), requests=(1, 0), medium=True
    )
    report = check(replace(chosen, fences=False), large=large)
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == explore(chosen)[:3]


# Time-outs


class Hasty(Peer):
    """Asks the other, and goes in if no answer has come in time."""

    messages = (Request, Reply)

    def acquire(self) -> None:
        self.broadcast(Request(1))
        self.set_timer("answers", 1.0)

    def release(self) -> None:
        pass

    def receive_request(self, sender: NodeId, message: Request) -> None:
        self.send(sender, Reply())

    def receive_reply(self, sender: NodeId, message: Reply) -> None:
        self.cancel_timer("answers")
        self.grant()

    def timer(self, name: str) -> None:
        raise AssertionError("no answer in time")


def hasty(outlasting: tuple[str, ...], requests: int | None = 1) -> Model:
    """Only node 1 asks, unless requests are without end."""
    chosen = model("central", 2, requests and (requests, 0), Network(fifo=False))
    return replace(
        chosen,
        make=lambda node: Hasty(node, (1, 2)),
        outlasting=outlasting,
        rule=Permits(2),
    )


@each_search
def test_a_time_out_is_too_early_unless_it_outlasts_all_that_is_under_way(
    large: int | None,
) -> None:
    violation = check(hasty(()), large=large).violation
    assert violation is not None
    assert violation.property == "invariant"
    assert check(hasty(("answers",)), large=large).holds


@each_search
def test_moves_that_wait_for_a_time_out_are_no_transitions(large: int | None) -> None:
    assert check(hasty(("answers",)), large=large).coverage == (5, 4, 4)


def test_a_report_says_what_it_assumes() -> None:
    assert hasty(("answers",)).assumptions == "any order, long time-outs"
    chosen = model("nishio-li-manning", 2, 1)
    assert chosen.assumptions == "any order, 1 loss, age up to 2"


# Requests without end


@pytest.mark.parametrize(
    ("name", "states"),
    [("central", 152), ("raymond", 152), ("naimi-trehel", 396), ("token-ring", 84)],
)
@each_search
def test_nobody_starves_where_numbers_do_not_grow(
    name: str, states: int, large: int | None
) -> None:
    report = check(model(name, 3, None), large=large)
    assert report.holds
    assert report.coverage.states == states


def test_where_numbers_grow_the_search_has_no_end() -> None:
    report = check(model("ricart-agrawala", 2, None), Limits(states=5000))
    assert not report.complete
    assert report.violation is None


@each_search
def test_a_lasso_closes_and_its_loop_is_fair(large: int | None) -> None:
    """What is under way when the loop begins has arrived when it ends."""
    violation = check(exhibit("central-lifo"), large=large).violation
    assert violation is not None
    assert violation.loop_from is not None
    must_be_a_run(violation.trace)
    stem = [s for s in violation.trace if s.time <= violation.loop_from]
    loop = [s for s in violation.trace if s.time > violation.loop_from]
    assert in_flight(stem) == in_flight(stem + loop)
    entered = {s.node for s in loop if s.kind is Kind.ENTER}
    assert entered == {1, 3}
    assert loop[-1].node == 2


def in_flight(steps: list[Step]) -> list[tuple[NodeId, NodeId | None, object]]:
    sent = {s.flight: (s.node, s.peer, s.message) for s in steps if s.kind is Kind.SEND}
    for step in steps:
        if step.kind is Kind.RECEIVE:
            del sent[step.flight]
    return sorted(sent.values(), key=repr)


# TR-869


def overtaken(name: str, requests: tuple[int, ...], fifo: bool) -> Verdict:
    return check(model(name, len(requests), requests, Network(fifo)))


@pytest.mark.parametrize(
    ("requests", "fifo", "bound"),
    [
        ((3, 1), True, 2),
        ((3, 1), False, 2),
        ((3, 3, 1), True, 4),
        ((3, 3, 1), False, 5),
    ],
    ids=str,
)
def test_tr869_appendix_the_bounds_hold_and_are_reached(
    requests: tuple[int, ...], fifo: bool, bound: int
) -> None:
    """2(N−1) in order, N(N+1)/2 − 1 out of order, and the last node can be so unlucky."""
    n = len(requests)
    assert bound == (2 * (n - 1) if fifo else n * (n + 1) // 2 - 1)
    report = overtaken("ricart-agrawala", requests, fifo)
    assert report.holds
    assert report.max_overtaken == bound


@pytest.mark.parametrize(("requests", "entries"), [((3, 3, 1), 6), ((4, 3, 1), 7)])
def test_tr869_listing_exceeds_the_bound_out_of_order(
    requests: tuple[int, ...], entries: int
) -> None:
    """All entries of the others: with this listing there is no bound at all."""
    report = overtaken("ricart-agrawala-listing", requests, fifo=False)
    assert report.holds
    assert report.max_overtaken == entries == sum(requests) - 1


def test_tr869_listing_keeps_the_bound_in_order() -> None:
    assert overtaken("ricart-agrawala-listing", (3, 3, 1), fifo=True).max_overtaken == 4


@pytest.mark.parametrize("fifo", [True, False], ids=["fifo", "any order"])
@pytest.mark.parametrize("requests", [(4, 4), (2, 2, 2)], ids=str)
def test_tr869_6_4_outstanding_numbers_are_at_most_n_minus_1_apart(
    requests: tuple[int, ...], fifo: bool
) -> None:
    """Those of the requests that were made and whose nodes have not left yet."""
    search = Search(model("ricart-agrawala", len(requests), requests, Network(fifo)))
    search.run(Limits())
    numbers = [outstanding_numbers(search, node) for node in range(len(requests))]
    both = list(zip(numbers, search.sites, strict=True))
    apart = 0
    for state in search.states:
        here = [n[state >> s.shift & MASK] for n, s in both]
        known = [number for number in here if number]
        apart = max(apart, max(known, default=0) - min(known, default=0))
    assert apart == len(requests) - 1


def outstanding_numbers(search: Search, index: int) -> list[int]:
    """By site: the number of the node's request, 0 if it has none."""
    locals_ = [search.sites[index].local(s) for s in range(len(search.sites[index].sites))]
    wants = (Phase.WAITING, Phase.INSIDE)
    return [local.snapshot[0] if local.phase in wants else 0 for local in locals_]
