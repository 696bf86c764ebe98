"""Every engine passes the suite, and a broken one does not."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path

import pytest

import peerlock
from peerlock.core.errors import UsageError
from peerlock.membership import ClusterError, Engine, Joined, MemberId, Renewed, View
from peerlock.membership.etcd import EtcdEngine
from peerlock.membership.place import engine_for
from peerlock.membership.postgresql import PostgresqlEngine
from peerlock.membership.sqlite import SqliteEngine
from peerlock.testing import EngineSuite
from tests.support import etcd_servers
from tests.support.postgresql_servers import Server
from tests.support.tiny_engine import TinyEngine


class TestTiny(EngineSuite):
    lease = 0.2

    def engine(self, cluster: str, lease: float | None) -> Engine:
        return TinyEngine(f"tiny://{cluster}", lease)


class TestSqlite(EngineSuite):
    lease = 0.3
    folder: Path

    @pytest.fixture(autouse=True)
    def place(self, short_path: Path) -> None:
        self.folder = short_path

    def engine(self, cluster: str, lease: float | None) -> Engine:
        return SqliteEngine(self.folder / cluster, lease)


class TestEtcd(EngineSuite):
    lease = 2.0
    slack = 4.0  # before 3.5.13, the others wait for one more lease

    @pytest.fixture(autouse=True)
    def place(self, etcd: etcd_servers.Server) -> None:
        self.address = etcd.address

    def engine(self, cluster: str, lease: float | None) -> Engine:
        return EtcdEngine(f"etcd://{self.address}/{cluster}", lease)


class TestPostgresql(EngineSuite):
    lease = 6.0  # a question may take half of it, with all other tests beside it

    @pytest.fixture(autouse=True)
    def place(self, postgresql: Server) -> None:
        self.conninfo = postgresql.conninfo()

    def engine(self, cluster: str, lease: float | None) -> Engine:
        return PostgresqlEngine(f"{self.conninfo}?cluster={cluster}", lease)


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[etcd_servers.Server]:
    with etcd_servers.servers(tmp_path_factory.mktemp("etcd")) as [server]:
        yield server


# Engines that break a rule, and which test must notice


class Forgetful(TinyEngine):
    """It begins again when the last member has left."""

    async def leave(self, me: MemberId) -> View:
        view = await super().leave(me)
        if not view.members:
            self.shared.register = self.shared.register._replace(number=0, highest=0)
        return view


class FromZero(TinyEngine):
    def __init__(self, url: str, lease: float | None) -> None:
        super().__init__(url, lease)
        register = self.shared.register
        if not register.members:
            self.shared.register = register._replace(number=0, highest=0)


class Hasty(TinyEngine):
    def renewed(self, me: MemberId) -> float:
        deadline = super().renewed(me)
        self.shared.deadlines[me] -= (self.lease or 0) / 2
        return deadline


class Patient(TinyEngine):
    def renewed(self, me: MemberId) -> float:
        deadline = super().renewed(me)
        self.shared.deadlines[me] = inf
        return deadline


class Generous(TinyEngine):
    """A member that is out is not told."""

    async def renew(self, me: MemberId, suspects: Collection[MemberId] = ()) -> Renewed:
        renewed = await super().renew(me, suspects)
        return renewed._replace(deadline=max(renewed.deadline, self.renewed(0)))


class NotBeyond(TinyEngine):
    async def join(self, address: str, beyond: int = 0) -> Joined:
        return await super().join(address)


class Unreserved(TinyEngine):
    async def reserve(self) -> int:
        return self.shared.register.reserve().highest


class Restless(TinyEngine):
    """Every renewal makes a new view."""

    async def renew(self, me: MemberId, suspects: Collection[MemberId] = ()) -> Renewed:
        renewed = await super().renew(me, suspects)
        register = self.shared.register
        self.shared.register = register._replace(
            number=register.highest + 1, highest=register.highest + 1
        )
        return renewed._replace(view=self.shared.register.view)


class Doubled(TinyEngine):
    """A process that joins again is in twice."""

    async def join(self, address: str, beyond: int = 0) -> Joined:
        self.me = 0
        return await super().join(address, beyond)


class Shared(TinyEngine):
    def __init__(self, url: str, lease: float | None) -> None:
        super().__init__("tiny://one-for-all", lease)


class Backwards(TinyEngine):
    async def join(self, address: str, beyond: int = 0) -> Joined:
        joined = await super().join(address, beyond)
        register = self.shared.register
        self.shared.register = register._replace(members=register.members[::-1])
        return joined


class Lasting(TinyEngine):
    """Members never leave."""

    async def leave(self, me: MemberId) -> View:
        return self.shared.register.view


class Nosy(TinyEngine):
    """To read is to be a member."""

    async def read(self) -> View:
        return (await self.join("reader")).view


class Endless(TinyEngine):
    """The lease is counted from too late."""

    def renewed(self, me: MemberId) -> float:
        return super().renewed(me) + 0.1


@dataclass
class Broken:
    engine: type[TinyEngine]
    test: str


BROKEN = [
    Broken(Forgetful, "test_no_id_is_given_twice"),
    Broken(FromZero, "test_numbers_begin_with_the_clock"),
    Broken(Hasty, "test_a_silent_member_is_out_after_its_lease_and_not_before"),
    Broken(Patient, "test_a_silent_member_is_out_after_its_lease_and_not_before"),
    Broken(Patient, "test_a_process_that_ends_without_leaving_is_out_after_its_lease"),
    Broken(Generous, "test_a_member_that_was_removed_is_told"),
    Broken(NotBeyond, "test_a_process_joins_beyond_the_numbers_that_it_has_seen"),
    Broken(Unreserved, "test_reserved_numbers_are_below_those_of_later_views"),
    Broken(Restless, "test_numbers_grow_with_every_change_and_a_view_has_one_number"),
    Broken(Doubled, "test_a_process_that_joins_again_is_another_member"),
    Broken(Shared, "test_clusters_are_independent"),
    Broken(Backwards, "test_members_are_listed_in_the_order_in_which_they_joined"),
    Broken(Lasting, "test_a_process_that_joins_is_a_member_until_it_leaves"),
    Broken(Nosy, "test_reading_changes_nothing"),
    Broken(Endless, "test_a_member_that_renews_stays"),
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda b: b.engine.__name__)
def test_a_broken_engine_does_not_pass(broken: Broken) -> None:
    class Suite(EngineSuite):
        lease = 0.1
        slack = 0.1

        def engine(self, cluster: str, lease: float | None) -> Engine:
            return broken.engine(f"tiny://{cluster}", lease)

    with pytest.raises(AssertionError):
        getattr(Suite(), broken.test)()


# Engines of other packages


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that brings an engine for tiny://, as pip would install it."""
    info = tmp_path / "tiny-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
    points = "[peerlock.engines]\ntiny = tests.support.tiny_engine:TinyEngine\n"
    points += "torn = tests.support.no_such_module:Engine\n"
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("installed", "short_path")
def test_an_engine_of_another_package_is_found_by_its_scheme() -> None:
    with peerlock.sync.join("tiny://found") as node, node.lock("x") as grant:
        assert grant.fence
        assert isinstance(engine_for("tiny://found", 1.0), TinyEngine)


@pytest.mark.usefixtures("installed")
def test_an_engine_that_cannot_be_imported_is_one_line() -> None:
    with pytest.raises(ClusterError, match=r"no_such_module:Engine for torn://: No module"):
        engine_for("torn://x", 1.0)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("url", ["huge://x", "tiny", "tiny:/x"])
def test_a_scheme_that_no_package_brings(url: str) -> None:
    with pytest.raises(UsageError, match="invalid cluster"):
        engine_for(url, 1.0)
