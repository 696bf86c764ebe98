"""What is measured: peerlock, and what people use instead, each behind one small interface.

To connect is to enter a session; it gives locks by name, to be entered and left by `with`
or, for programs that use asyncio, by `async with`.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import threading
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from functools import partial
from http.client import HTTPConnection
from importlib.util import find_spec
from math import ceil
from typing import Any, NamedTuple, Protocol

from bench.servers import NotHere

import peerlock

Lock = AbstractContextManager[Any] | AbstractAsyncContextManager[Any]


class Client(Protocol):
    def lock(self, name: str, /) -> Lock: ...


class Locks(NamedTuple):
    lock: Callable[[str], Lock]


Session = AbstractContextManager[Client] | AbstractAsyncContextManager[Client]


class Connect(Protocol):
    def __call__(self, address: str, ttl: float) -> Session:
        """`ttl`: after how many seconds the lock of a dead process may be taken, if the
        rival knows of its death by time alone."""


# Ours


@asynccontextmanager
async def peerlock_tasks(
    address: str, ttl: float, **knobs: Any
) -> AsyncIterator[peerlock.LockNode]:
    async with peerlock.join(f"sqlite:///{address}/cluster.db", **knobs) as node:
        yield node


@contextmanager
def peerlock_threads(address: str, ttl: float) -> Iterator[peerlock.sync.LockNode]:
    with peerlock.sync.join(f"sqlite:///{address}/cluster.db") as node:
        yield node


# Theirs


@contextmanager
def redis_py(address: str, ttl: float, sleep: float = 0.1) -> Iterator[Client]:
    """A waiter asks again after each `sleep`; a tenth of a second unless given."""
    import redis

    with redis.Redis.from_url(address) as client:
        yield Locks(lambda name: client.lock(name, timeout=ttl, sleep=sleep))


@contextmanager
def python_redis_lock(address: str, ttl: float) -> Iterator[Client]:
    import redis
    import redis_lock

    # It waits by a call that blocks at the server.
    with redis.Redis.from_url(address, socket_timeout=None) as client:
        yield Locks(lambda name: redis_lock.Lock(client, name, expire=ceil(ttl)))


class AdvisoryLock:
    def __init__(self, connection: Any, name: str) -> None:
        self.connection, self.name = connection, name

    def __enter__(self) -> None:
        self.run("SELECT pg_advisory_lock(hashtextextended(%s, 0))")

    def __exit__(self, *_: object) -> None:
        self.run("SELECT pg_advisory_unlock(hashtextextended(%s, 0))")

    def run(self, query: str) -> None:
        self.connection.execute(query, (self.name,), prepare=True)


@contextmanager
def postgresql(address: str, ttl: float) -> Iterator[Client]:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        yield Locks(lambda name: AdvisoryLock(connection, name))


class Gateway:
    """etcd's JSON gateway, over one connection that stays."""

    def __init__(self, address: str) -> None:
        self.connection = HTTPConnection(address)

    def post(self, path: str, **arguments: Any) -> Any:
        self.connection.request("POST", f"/v3/{path}", json.dumps(arguments))
        answer = self.connection.getresponse()
        body = json.loads(answer.read())
        if answer.status != 200:
            raise RuntimeError(f"etcd: {body}")
        return body


class EtcdClient(Gateway):
    """etcd's own lock service, under a lease that is kept alive as its clients do it."""

    def __init__(self, address: str, ttl: float) -> None:
        super().__init__(address)
        self.lease = self.post("lease/grant", TTL=ceil(ttl))["ID"]
        self.over = threading.Event()
        arguments = (Gateway(address), ttl / 3)
        threading.Thread(target=self.keep_alive, args=arguments, daemon=True).start()

    def keep_alive(self, gateway: Gateway, pause: float) -> None:
        while not self.over.wait(pause):
            gateway.post("lease/keepalive", ID=self.lease)

    def lock(self, name: str, /) -> EtcdLock:
        return EtcdLock(self, name)


class EtcdLock:
    def __init__(self, client: EtcdClient, name: str) -> None:
        self.client, self.name = client, b64encode(name.encode()).decode()
        self.key = ""

    def __enter__(self) -> None:
        answer = self.client.post("lock/lock", name=self.name, lease=self.client.lease)
        self.key = answer["key"]

    def __exit__(self, *_: object) -> None:
        self.client.post("lock/unlock", key=self.key)


@contextmanager
def etcd(address: str, ttl: float) -> Iterator[Client]:
    client = EtcdClient(address, ttl)
    try:
        yield client
    finally:
        client.over.set()


class Flock:
    def __init__(self, path: str) -> None:
        self.file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def __enter__(self) -> None:
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.flock(self.file, fcntl.LOCK_UN)


@contextmanager
def flock(address: str, ttl: float) -> Iterator[Client]:
    yield Locks(lambda name: Flock(f"{address}/{name}.lock"))


@contextmanager
def within_a_process(
    address: str, ttl: float, make: Callable[[], Lock]
) -> Iterator[Client]:
    yield Locks(lambda name: make())


class Rival(NamedTuple):
    name: str
    connect: Connect
    server: str = "directory"
    modules: tuple[str, ...] = ()
    packages: str = ""  # that bring the modules
    local: bool = False  # its locks mean nothing to other processes
    loop: str = "asyncio"

    @property
    def networked(self) -> bool:
        return self.server != "directory"

    def must_be_here(self) -> None:
        if any(find_spec(module) is None for module in self.modules):
            raise NotHere(f"pip install {self.packages}")


TASKS, UVLOOP = "peerlock, tasks", "peerlock, uvloop"
NO_THREAD = "peerlock, thread=False"
THREADS, IN_TURN = "peerlock, threads", "peerlock, in turn"
REDIS_PY = "redis-py"
ASYNCIO, THREADING = "asyncio.Lock", "threading.Lock"

_redis = Rival("", redis_py, "redis", ("redis",), "redis")

RIVALS: tuple[Rival, ...] = (
    Rival(TASKS, peerlock_tasks),
    Rival(UVLOOP, peerlock_tasks, modules=("uvloop",), packages="uvloop", loop="uvloop"),
    Rival(NO_THREAD, partial(peerlock_tasks, thread=False)),
    Rival(THREADS, peerlock_threads),
    # Every grant goes through the algorithm: no second one in a row while others wait.
    Rival(IN_TURN, partial(peerlock_tasks, hand_overs=1)),
    _redis._replace(name=REDIS_PY),
    _redis._replace(name="redis-py, 1 ms", connect=partial(redis_py, sleep=0.001)),
    Rival(
        "python-redis-lock",
        python_redis_lock,
        "redis",
        ("redis", "redis_lock"),
        "python-redis-lock",
    ),
    Rival("PostgreSQL", postgresql, "postgresql", ("psycopg",), "'psycopg[binary]'"),
    Rival("etcd", etcd, "etcd"),
    Rival("flock", flock),
    Rival(ASYNCIO, partial(within_a_process, make=asyncio.Lock), local=True),
    Rival(THREADING, partial(within_a_process, make=threading.Lock), local=True),
)
