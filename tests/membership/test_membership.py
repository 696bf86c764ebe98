"""The members: the engine on SQLite and flock, its files, and all that can befall them."""

import asyncio
import fcntl
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from math import inf
from pathlib import Path
from typing import Any

import pytest

import peerlock
from peerlock.core.errors import UsageError
from peerlock.membership import sqlite
from peerlock.membership.engine import ClusterError
from peerlock.membership.memory import MemoryEngine
from peerlock.membership.place import engine_for, own_directory, private_directory
from peerlock.membership.sqlite import SqliteEngine
from tests.support.engines import Clock, Engine, end, files, heard, start

AS_ROOT = os.geteuid() == 0


# In and out


def test_who_joins_is_a_member_until_he_leaves(one: Engine, two: Engine) -> None:
    first = one.join("/a")
    second = two.join("/b")

    assert [(m.id, m.address) for m in second.view.members] == [
        (first.me, "/a"),
        (second.me, "/b"),
    ]
    assert {member.pid for member in second.view.members} == {os.getpid()}
    assert one.renew(first.me).view == second.view == one.read()
    left = one.leave(first.me)
    assert [member.id for member in left.members] == [second.me]
    assert two.renew(second.me).view == left
    assert one.leave(first.me) == left


def test_the_number_grows_with_every_change_and_with_nothing_else(
    one: Engine, two: Engine
) -> None:
    first = one.join("/a")
    numbers = [first.view.number, two.join("/b").view.number]
    assert one.renew(first.me).view.number == numbers[-1] == two.read().number
    numbers += [two.see_one_pass().number, one.leave(first.me).number]
    numbers += [one.join("/a", numbers[-1] + 1000).view.number]

    assert numbers == sorted(set(numbers))
    assert numbers[-1] > numbers[-2] + 1000


def test_a_member_is_never_given_a_number_twice(one: Engine) -> None:
    numbers = []
    for _ in range(5):
        numbers.append(one.join("/a").me)
        one.leave(numbers[-1])
    assert numbers == sorted(set(numbers))


def test_to_read_makes_no_database(path: Path) -> None:
    with Engine(path) as engine:
        assert engine.read() == (0, ())
    assert not path.exists()


def test_many_processes_that_join_at_once_get_numbers_of_their_own(path: Path) -> None:
    processes = [start(path) for _ in range(12)]
    try:
        numbers = [heard(process) for process in processes]
        assert len(set(numbers)) == 12
        with Engine(path) as engine:
            assert [m.id for m in engine.read().members] == sorted(numbers)
    finally:
        for process in processes:
            end(process)


def test_many_threads_make_one_database(path: Path) -> None:
    """The first process makes it; none is turned away."""
    engines = [SqliteEngine(path, 60) for _ in range(20)]
    with ThreadPoolExecutor(20) as threads:
        joined = list(threads.map(lambda e: asyncio.run(e.join("/a")), engines))
    assert len({one.me for one in joined}) == 20
    assert len({engine.cluster for engine in engines}) == 1
    for engine in engines:
        engine.close()


# Death


def test_the_next_look_puts_out_who_was_killed(path: Path, one: Engine) -> None:
    me = one.join("/a").me
    process = start(path)
    theirs = heard(process)
    alive = one.renew(me)
    assert [member.id for member in alive.view.members] == [me, theirs]

    end(process)
    looked = one.renew(me)
    assert looked.changed
    assert [member.id for member in looked.view.members] == [me]
    assert looked.view.number == alive.view.number + 1
    assert len(files(path)) == 1


def test_who_joins_puts_out_the_dead(path: Path, one: Engine) -> None:
    process = start(path)
    heard(process)
    end(process)
    assert len(one.join("/a").view.members) == 1


def test_the_socket_of_the_dead_is_removed_that_of_the_living_is_not(
    path: Path, short_path: Path, one: Engine
) -> None:
    address = short_path / "0123456789abcdef.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(address))
    with Engine(path, 0.05) as silent:
        silent.join(str(address))
        time.sleep(0.06)
        beside = f"{short_path}/b"
        assert one.join(beside).view.members[-1].address == beside
        assert address.exists()
        silent.join(str(address))
    one.renew(0)
    assert not address.exists()


@pytest.fixture
def sockets(short_path: Path) -> Iterator[Callable[..., Path]]:
    """Makes a socket that is in use, or was, of such an age in seconds."""
    with ExitStack() as in_use:

        def make(name: str, used: bool, age: float = 3600) -> Path:
            path = short_path / name
            bound = in_use.enter_context(socket.socket(socket.AF_UNIX))
            bound.bind(str(path))
            os.utime(path, (time.time() - age,) * 2)
            if not used:
                bound.close()
            return path

        yield make


def test_who_joins_removes_old_sockets_that_nobody_uses(
    sockets: Callable[..., Path], short_path: Path, one: Engine
) -> None:
    left = sockets("0123456789abcdef.sock", used=False)
    kept = [
        sockets("1123456789abcdef.sock", used=True),
        sockets("2123456789abcdef.sock", used=False, age=0),  # it may be in the making
        sockets("mine.sock", used=False),
        short_path / "3123456789abcdef.sock",
        short_path / "4123456789abcdef.sock",
    ]
    kept[-2].touch()
    kept[-1].symlink_to(kept[0])
    for path in kept[-2:]:
        os.utime(path, (0, 0), follow_symlinks=False)
    one.join(str(short_path / "a.sock"))
    assert not left.exists()
    assert all(os.path.lexists(path) for path in kept)


def test_who_uses_a_socket_does_not_notice_that_others_look(
    short_path: Path, one: Engine
) -> None:
    address = short_path / "0123456789abcdef.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(address))
        listening.listen()
        os.utime(address, (0, 0))
        one.join(str(short_path / "a.sock"))
        assert address.exists()
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()


def test_who_was_put_out_and_then_killed_leaves_no_socket(
    path: Path, short_path: Path, one: Engine, leases_clock: Clock
) -> None:
    process = start(path, *HAS_A_SOCKET.format(short_path).splitlines())
    theirs = heard(process)
    assert heard(process) == theirs  # it has its socket, too
    (address,) = short_path.glob("*.sock")
    process.send_signal(signal.SIGSTOP)
    leases_clock.now += 1000  # its lease is over
    assert theirs not in [m.id for m in one.join(f"{short_path}/a").view.members]
    os.utime(address, (0, 0))
    one.join(f"{short_path}/a")
    assert address.exists()  # it could be continued

    end(process)
    one.join(f"{short_path}/a")
    assert not address.exists()


HAS_A_SOCKET = """
import secrets, socket
bound = socket.socket(socket.AF_UNIX)
bound.bind(f"{}/{{secrets.token_hex(8)}}.sock")
print(joined.me, flush=True)
sys.stdin.read()
"""


def test_without_a_lease_death_is_seen_all_the_same(path: Path) -> None:
    with Engine(path, None) as engine:
        joined = engine.join("/a")
        assert joined.deadline == inf
        process = start(path)
        heard(process)
        end(process)
        assert len(engine.renew(joined.me).view.members) == 1


def test_who_ends_without_leaving_is_out(path: Path, one: Engine) -> None:
    process = start(path, "sys.exit()")
    heard(process)
    process.wait()
    assert len(one.join("/a").view.members) == 1
    end(process)


def test_an_engine_that_is_closed_without_leaving_is_out(path: Path, one: Engine) -> None:
    """As when joining was cancelled: the process lives on."""
    with Engine(path) as engine:
        engine.join("/a")
    assert [m.address for m in one.join("/b").view.members] == ["/b"]


# The thread

OUTLIVES_THE_MAIN_THREAD = """
import sys, threading, peerlock

node = peerlock.sync.join(sys.argv[1], lease=2)
renewed = threading.Semaphore(0)

def work():
    with node.lock("x"):
        threading.main_thread().join()
        node.host.on_renewal = lambda deadline: renewed.release()
        for _ in range(6):  # in all, more than a lease
            assert renewed.acquire(timeout=20)
        with node.lock("y", timeout=20):
            pass
    node.leave()
    print("all was well")

threading.Thread(target=work).start()
"""


def test_threads_keep_their_locks_when_the_main_thread_has_ended(cluster: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OUTLIVES_THE_MAIN_THREAD, cluster],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.stdout, done.stderr) == ("all was well\n", "")


def threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "peerlock-membership"]


def test_an_engine_has_one_thread_from_its_first_call_until_it_is_closed(
    path: Path,
) -> None:
    before = len(threads())
    engine = SqliteEngine(path, 60)
    assert len(threads()) == before
    for _ in range(3):
        asyncio.run(engine.join("/a"))
        assert len(threads()) == before + 1
    engine.close()
    assert len(threads()) == before
    with pytest.raises(ClusterError, match="has left the cluster"):
        asyncio.run(engine.join("/a"))


def test_the_thread_of_an_engine_that_was_forgotten_ends(path: Path) -> None:
    before = threads()
    engine = SqliteEngine(path, 60)
    asyncio.run(engine.join("/a"))
    its_own = [thread for thread in threads() if thread not in before]
    os.close(engine.lock_file or 0)
    del engine
    gc.collect()
    for thread in its_own:
        thread.join(10)
    assert not any(thread.is_alive() for thread in its_own)


def test_who_gives_up_waiting_leaves_an_engine_that_works(path: Path, one: Engine) -> None:
    """What has begun is done all the same; what has not, never is."""
    engine = SqliteEngine(path, 60)
    begun, go_on = threading.Event(), threading.Event()

    def slowly(*arguments: Any) -> float:
        begun.set()
        assert go_on.wait(10)
        return type(engine)._write_deadline(engine, *arguments)

    engine._write_deadline = slowly  # type: ignore[method-assign, assignment]

    async def give_up() -> None:
        first = asyncio.create_task(engine.join("/first"))
        await asyncio.to_thread(begun.wait, 10)
        second = asyncio.create_task(engine.join("/second"))
        await asyncio.sleep(0)  # it has asked
        for task in (second, first):
            task.cancel()
        await asyncio.sleep(0)  # they have heard it
        go_on.set()
        await asyncio.gather(first, second, return_exceptions=True)
        assert first.cancelled()
        assert second.cancelled()
        assert [m.address for m in (await engine.read()).members] == ["/first"]
        joined = await engine.join("/third")
        assert [m.address for m in joined.view.members] == ["/third"]

    asyncio.run(give_up())
    assert len(files(path)) == 1
    engine.close()
    assert [m.address for m in one.join("/b").view.members] == ["/b"]


# Forks


def test_a_forked_child_gives_up_all_that_is_locked(short_path: Path) -> None:
    engine = engine_for(None, 60)
    assert isinstance(engine, SqliteEngine)
    asyncio.run(engine.join("/a"))
    path, before = engine.path, set(engine._locked.values())
    assert len(before) == 2  # the directory, too
    child = os.fork()
    if not child:
        engine.abandon()
        os._exit(any(is_open(descriptor) for descriptor in before))
    assert os.waitpid(child, 0)[1] == 0
    with Engine(path) as other:
        assert len(other.join("/b").view.members) == 2
    engine.close()


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def test_nobody_forks_between_the_opening_of_a_file_and_its_being_known() -> None:
    def fork() -> None:
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)

    forking = threading.Thread(target=fork)
    with sqlite.NOT_FORKING:
        forking.start()
        forking.join(0.2)
        assert forking.is_alive()
    forking.join(20)
    assert not forking.is_alive()


# Silence


def test_who_is_silent_is_put_out_when_his_lease_ends_and_not_before(
    path: Path, leases_clock: Clock
) -> None:
    with Engine(path, 10) as quiet, Engine(path, 60) as other:
        me, other_me = quiet.join("/a").me, other.join("/b").me
        leases_clock.now += 9
        assert quiet.renew(me).deadline == leases_clock.now + 10
        leases_clock.now += 9.999
        assert len(other.renew(other_me).view.members) == 2
        leases_clock.now += 0.001
        looked = other.renew(other_me)
        assert looked.changed
        assert [member.id for member in looked.view.members] == [other_me]

        told = quiet.renew(me)
        assert told.deadline == -inf
        assert told.view == looked.view
        assert quiet.join("/a").me > other_me


def test_without_a_lease_nobody_who_lives_is_put_out(
    path: Path, leases_clock: Clock
) -> None:
    with Engine(path, None) as quiet, Engine(path, 60) as other:
        quiet.join("/a")
        leases_clock.now += 1e6
        assert len(other.join("/b").view.members) == 2


def test_who_joins_again_is_in_once(path: Path, leases_clock: Clock) -> None:
    """He knows sooner than others that his lease has ended."""
    with Engine(path, 10) as engine:
        engine.join("/a")
        again = engine.join("/a")
        assert [member.id for member in again.view.members] == [again.me]
        assert len(files(path)) == 1


def test_files_that_were_left_behind_are_in_nobodys_way(
    path: Path, short_path: Path, one: Engine
) -> None:
    Path(f"{path}.members").mkdir()
    Path(f"{path}.members", "0123456789abcdef").touch()
    (short_path / "peerlock").mkdir(mode=0o700)
    (short_path / "peerlock" / "0123456789abcdef.sock").touch()
    one.leave(one.join("/a").me)

    async def work() -> None:
        async with peerlock.join(f"sqlite://{path}") as node, node.lock("x", timeout=5):
            pass

    asyncio.run(work())


# Places


def test_addresses_of_clusters(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(url: str | None) -> Any:
        engine = engine_for(url, None)
        return getattr(engine, "path", None) or engine.cluster

    assert found(None) == short_path / "peerlock" / "cluster.db"
    assert found("sqlite:///var/a%20b.db") == Path("/var/a b.db")
    assert found("sqlite:////var/a%23%3Fb%ff.db") == Path(
        "/var", os.fsdecode(b"a#?b\xff.db")
    )
    assert found("memory://x#y") == "memory://x#y"
    assert found("memory://x") == "memory://x"
    monkeypatch.setenv("PEERLOCK_CLUSTER", "sqlite:///env.db")
    assert found(None) == Path("/env.db")
    assert found("memory://x") == "memory://x"
    monkeypatch.setenv("PEERLOCK_CLUSTER", "")
    assert found(None) == short_path / "peerlock" / "cluster.db"


@pytest.mark.parametrize(
    "url",
    [
        *("x", "redis://localhost", "sqlite://", "sqlite:///", "sqlite://host/c.db"),
        *("/c.db", "sqlite:c.db", "sqlite://[/c.db", "memory", "memory:x"),
    ],
)
def test_what_names_no_cluster(url: str) -> None:
    with pytest.raises(UsageError, match="use sqlite:///path/to/file"):
        engine_for(url, None)


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("sqlite:///tmp/a#b.db", "write %23 for the # in its path"),
        ("sqlite:///tmp/a?b.db", r"write %3F for the \? in its path"),
        ("sqlite:///tmp/a%00b.db", "use a path without %00"),
    ],
)
def test_what_would_name_another_file(url: str, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        engine_for(url, None)


@pytest.mark.parametrize("lease", [0, -1, 1e-3, float("nan"), float("inf"), True, "3"])
def test_a_lease_is_a_time_that_can_be_kept(lease: Any) -> None:
    with pytest.raises(UsageError, match=r"number of seconds, 0.1 or more, .*; got "):
        engine_for("memory://x", lease)


def test_the_own_directory_is_private(
    short_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert own_directory() == short_path / "peerlock"
    assert own_directory().stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short_path / "no"))
    with pytest.raises(ClusterError, match=r"cannot use .*; set XDG_RUNTIME_DIR to a"):
        own_directory()


@pytest.mark.parametrize(
    "runtime",
    [
        *(None, "", ".", "run", "run/user/0"),
        *(f"/run/user/{os.getuid()}", f"/run/user/{os.getuid()}/", "//run//user/4711"),
        *(f"/var/run/user/{os.getuid()}", "/run/user/0/snap.x", "/mnt/wslg/runtime-dir"),
    ],
)
def test_cron_and_a_log_in_have_the_same_directory(
    runtime: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the user has chosen another, and a log-in has not."""
    monkeypatch.chdir(tmp_path)
    Path("run/user/0").mkdir(parents=True)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    if runtime is not None:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    assert own_directory() == Path(f"/tmp/peerlock-{os.getuid()}")


def test_the_own_directory_is_not_tidied_while_it_is_in_use(short_path: Path) -> None:
    """By systemd, which asks as we do here."""
    engine = engine_for(None, None)
    with ExitStack() as stack:
        folder = os.open(own_directory(), os.O_RDONLY)
        stack.callback(os.close, folder)
        fcntl.flock(folder, fcntl.LOCK_EX)  # it is at work, and we do not wait for it
        me = asyncio.run(engine.join("/a")).me
        fcntl.flock(folder, fcntl.LOCK_UN)
        asyncio.run(engine.renew(me))
        with pytest.raises(BlockingIOError):
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        engine.close()
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_private_directory_that_others_can_enter(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(ClusterError, match=r"others can enter .*: chmod 700 "):
        private_directory(tmp_path)


def test_a_private_directory_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "to nothing").symlink_to(tmp_path / "no")
    for name in ("file", "link", "to nothing"):
        with pytest.raises(
            ClusterError, match="is not a directory of this user; have it rem"
        ):
            private_directory(tmp_path / name)
    assert not (tmp_path / "no").exists()


@pytest.mark.skipif(not AS_ROOT, reason="only root can give directories away")
def test_a_private_directory_of_another_user(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o700)
    os.chown(tmp_path / "theirs", 12345, 12345)
    with pytest.raises(ClusterError, match="is not a directory of this user"):
        private_directory(tmp_path / "theirs")


def test_a_path_too_long_for_a_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    with pytest.raises(ClusterError, match=r"cannot listen at .*too long"):
        peerlock.sync.join(f"sqlite://{tmp_path}/c.db")


def test_in_memory_the_same_rules_hold() -> None:
    async def work() -> None:
        one, two = MemoryEngine("rules", None), MemoryEngine("rules", 60)
        first, second = await one.join("/a"), await two.join("/b")
        assert (first.deadline, len(second.view.members)) == (inf, 2)
        assert (await one.renew(first.me)).view == second.view == await two.read()
        left = await one.leave(first.me)
        assert [member.id for member in left.members] == [second.me]
        assert (await one.renew(first.me)).deadline == -inf
        await two.leave(second.me)

    asyncio.run(work())


def test_in_memory_who_joins_again_is_in_once_and_who_is_closed_is_out() -> None:
    async def work() -> None:
        one, two = MemoryEngine("once", None), MemoryEngine("once", None)
        first, second = await one.join("/a"), await two.join("/b")
        again = await one.join("/a")
        assert [member.id for member in again.view.members] == [second.me, again.me]
        two.close()
        seen = await one.renew(again.me)
        assert [member.id for member in seen.view.members] == [again.me]
        assert seen.view.number > again.view.number > second.view.number > first.me
        await one.leave(again.me)
        assert not one._state.deadlines

    asyncio.run(work())


def test_in_memory_a_forked_child_does_not_meet_its_parents_nodes() -> None:
    engine = MemoryEngine("forked", None)
    asyncio.run(engine.join("/a"))
    child = os.fork()
    if not child:
        alone = asyncio.run(MemoryEngine("forked", None).join("/b"))
        os._exit(len(alone.view.members))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    engine.close()


def test_an_address_that_is_refused_does_not_show_its_password() -> None:
    with pytest.raises(UsageError) as refused:
        engine_for("etdc://app:secret@10.0.0.5/prod", None)
    assert "etdc://app:…@10.0.0.5/prod" in str(refused.value)
    assert "secret" not in str(refused.value)
