"""The base of all algorithms: effects, snapshots, remote errors, names."""

from dataclasses import dataclass, fields

import pytest

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.mishra_srimani import MishraSrimani
from peerlock.algorithms.naimi_trehel_failures import NaimiTrehelFailures
from peerlock.algorithms.ricart_agrawala import Reply, Request, RicartAgrawala
from peerlock.algorithms.ricart_agrawala_failures import RicartAgrawalaFailures
from peerlock.algorithms.ricart_agrawala_insertion import RicartAgrawalaInsertion
from peerlock.algorithms.suzuki_kasami import Privilege
from peerlock.core.bits import all_but, bits, nodes_in
from peerlock.core.peer import (
    Broadcast,
    Enter,
    RemoteError,
    label,
    snake,
    state_fields,
)

MEMBERS = (1, 2, 3)

every_algorithm = pytest.mark.parametrize("entry", CATALOGUE, ids=lambda a: a.name)


def test_an_input_leaves_its_effects_in_order_and_draining_forgets_them() -> None:
    peer = RicartAgrawala(1, (1, 2))
    peer.acquire()
    peer.receive(2, Reply())

    assert peer.drain() == [Broadcast(Request(1)), Enter()]
    assert peer.drain() == []


@every_algorithm
def test_a_snapshot_restores_the_whole_state(entry: Algorithm) -> None:
    peer, other = (entry.peer(1, MEMBERS) for _ in range(2))
    fresh = peer.snapshot()
    peer.start()
    peer.acquire()
    peer.drain()

    assert peer.snapshot() != fresh
    other.restore(peer.snapshot())
    assert other.snapshot() == peer.snapshot()
    peer.restore(fresh)
    assert peer.snapshot() == fresh == entry.peer(1, MEMBERS).snapshot()


@every_algorithm
def test_a_snapshot_can_be_hashed_and_holds_no_settings(entry: Algorithm) -> None:
    peer = entry.peer(2, MEMBERS)

    assert hash(peer.snapshot()) == hash(entry.peer(2, MEMBERS).snapshot())
    assert not {"me", "members", "effects", "quorums", "topology"} & set(
        state_fields(entry.peer)
    )


@every_algorithm
def test_peers_share_one_tuple_of_members(entry: Algorithm) -> None:
    peers = [entry.peer(i, MEMBERS) for i in MEMBERS]

    assert all(peer.members is MEMBERS for peer in peers)


@dataclass(frozen=True)
class Nonsense:
    to: int


@every_algorithm
def test_a_message_of_another_algorithm_is_a_remote_error(entry: Algorithm) -> None:
    peer = entry.peer(1, MEMBERS)
    before = peer.snapshot()

    with pytest.raises(RemoteError, match="2 sent Nonsense"):
        peer.receive(2, Nonsense(3))
    assert peer.snapshot() == before
    assert peer.drain() == []


# What a correct node may send to one that has asked for nothing.
SENSIBLE = {"request", "inquire", "token"}
SENSIBLE_IN = {
    ("suzuki-kasami", "privilege"),
    ("srimani-reddy", "privilege"),
    ("srimani-reddy-bounded", "privilege"),
    ("chaudhuri-91", "call"),
    ("chaudhuri-91", "privilege"),  # which passes through
    ("chaudhuri-95", "call"),
    ("chaudhuri-95", "privilege"),
    ("banerjee-chrysanthis", "lr_collector"),
    ("ricart-agrawala-broadcast", "broadcast_reply"),
    ("ricart-agrawala-implicit-broadcast", "broadcast_reply"),
    ("agrawal-el-abbadi", "down"),
    ("agrawal-el-abbadi-trees", "down"),
    ("kakugawa", "down"),
    ("maekawa-takeover", "down"),
    ("raymond-echo", "explorer"),
    ("suzuki-kasami-by-number", "privilege"),
    ("maekawa-takeover", "report"),  # of a failure that we shall hear of
    ("majority", "down"),
    ("weighted-majority", "down"),
    ("majority-spare", "down"),
    ("weighted-majority-spare", "down"),
    ("nishio-li-manning", "token_missing"),
    ("nishio-li-manning-apart", "token_missing"),
    ("nishio-li-manning-apart", "ack"),  # to what was proposed before a failure
    ("nishio-li-manning-apart", "nack"),
    ("nishio-li-manning-apart", "recover"),
    ("nishio-li-manning-apart", "state"),  # told again
    ("nishio-li-manning-apart", "leave"),
    ("nishio-li-manning-apart", "farewell"),  # said again
    *(("naimi-trehel-failures", snake(m)) for m in NaimiTrehelFailures.messages),
    *(("mishra-srimani", snake(m)) for m in MishraSrimani.messages),  # late, if not wrong
    *(("mishra-srimani-coordinator", snake(m)) for m in MishraSrimani.messages),
    *(("mishra-srimani-bounded", snake(m)) for m in MishraSrimani.messages),
    *(("ricart-agrawala-failures", snake(m)) for m in RicartAgrawalaFailures.messages),
    ("chandy-misra", "ask"),
    ("chandy-misra", "ask_fork"),
    ("dijkstra-ring", "state"),  # whatever comes
    ("lodha-kshemkalyani", "flush"),  # which may be late
    *(("ricart-agrawala-insertion", snake(m)) for m in RicartAgrawalaInsertion.messages),
    ("mizuno-neilsen-rao", "requests"),
    ("mizuno-neilsen-rao", "acquired"),
}


@pytest.mark.parametrize(
    "entry", [a for a in CATALOGUE if a.verdict == "holds"], ids=lambda a: a.name
)
def test_senseless_messages_raise_and_change_nothing(entry: Algorithm) -> None:
    peer = entry.peer(2, MEMBERS)
    before = peer.snapshot()
    for message_type in entry.peer.messages:
        name = snake(message_type)
        if name in SENSIBLE or (entry.name, name) in SENSIBLE_IN:
            continue
        with pytest.raises(RemoteError):
            peer.receive(3, message_type(*[1 for _ in fields(message_type)]))
        assert peer.snapshot() == before
        assert peer.drain() == []


def test_an_unknown_timer_is_our_own_bug() -> None:
    with pytest.raises(AssertionError, match="never set a timer"):
        RicartAgrawala(1, MEMBERS).timer("wait")


def test_messages_are_labelled_as_papers_print_them() -> None:
    assert label(Request(3)) == "REQUEST(3)"
    assert label(Reply()) == "REPLY"
    assert label(Privilege((2, 5), (0, 1, 0))) == "PRIVILEGE([2 5], [0 1 0])"
    assert snake(type("TokenMissing", (), {})) == "token_missing"


def test_sets_of_nodes_as_bits() -> None:
    assert list(nodes_in(bits([5, 1, 3]))) == [1, 3, 5]
    assert list(nodes_in(all_but(2, 4))) == [1, 3, 4]
    assert list(nodes_in(0)) == []
