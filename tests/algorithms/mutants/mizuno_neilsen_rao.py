"""Mutants of mizuno-neilsen-rao."""

from tests.support.mutants import Cluster, breaks, harmless

MUTANTS = (
    breaks(
        "starvation",
        "            self.pass_on_requests_of((j,))\n",
        "            pass\n",
        Cluster(4, 1),
    ),
    breaks(
        "starvation",
        "        self.pass_on_requests_of(self.members)\n",
        "",
        Cluster(3, 1, "plane"),
    ),
    breaks(
        "starvation",
        "            self.holder = self.first_holder\n",
        "            self.holder = 0\n",
        Cluster(4, 1),
    ),
    breaks(
        "starvation",
        "            self.pass_on_requests_of((self.me,))\n",
        "            pass\n",
        Cluster(3, 1, "plane"),
    ),
    breaks(
        "starvation",
        "                self.send(j, Acquired(message.granted))\n",
        "                pass\n",
        Cluster(3, 1, "plane"),
    ),
    breaks(
        "remote error",
        "        if sum(message.granted) < sum(self.granted):\n"
        "            return  # overtaken by a later one\n",
        "",
        Cluster(3, 2, "plane"),
    ),
    breaks(
        "starvation",
        "            self.serve_if_idle()\n\n    def receive_requests",
        "            pass\n\n    def receive_requests",
    ),
    breaks(
        "invariant",
        "        if not self.requesting:\n            assert",
        "        if True:\n            assert",
    ),
    harmless(
        "the holder is told more often than need be",
        "            self.holder = 0\n\n    def unknown",
        "\n    def unknown",
        Cluster(3, 1, "plane"),
    ),
)
