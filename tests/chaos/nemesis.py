"""What goes wrong, when, to whom: drawn from a seed, and written down.

The kinds are shuffled like cards and dealt until they are used up, then shuffled again: so
a long run has all of them about equally often, in all orders.  While one lasts, something
else may happen to a worker.  Between two there is a pause, now and then too short for
everybody to recover.
"""

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from random import Random
from typing import Any

from tests.chaos.etcd import Etcd, EtcdServer
from tests.chaos.hosts import Hosts
from tests.chaos.postgresql import Postgresql

Fault = Callable[[], None]


class Nemesis:
    def __init__(self, hosts: Hosts, seed: int, diary: Path) -> None:
        self._hosts = hosts
        self._network = hosts.network
        self._lease = hosts.lease
        self._random = Random(seed)
        self._diary = diary.open("w", buffering=1)
        self._absent: dict[str, float] = {}  # workers that come back, and when
        self._inner = False
        self._note("servers", "", " ".join(hosts.servers_at))
        self._keeper = hosts.keeper
        self._service = hosts.keeper.name
        self.kinds: dict[str, Fault] = {
            "worker killed": self._kill_worker,
            "host killed": self._kill_host,
            "worker paused": self._pause_worker,
            "host cut off": self._cut_off_host,
            "cut in halves": self._cut_in_halves,
            "one way between hosts": self._one_way_between_hosts,
            f"one way to {self._service}": self._one_way_to_service,
            "lossy": self._lossy,
            "slow": self._slow,
            f"{self._service} stopped, shortly": self._stop_service_shortly,
            f"{self._service} stopped, too long": self._stop_service_too_long,
            f"{self._service} killed, all of it": self._kill_service,
            f"{self._service} very slow": self._slow_service,
            f"{self._service} member cut off": self._cut_off_server,
            **self._faults_of_its_own(),
        }

    def _faults_of_its_own(self) -> dict[str, Fault]:
        if isinstance(self._keeper, Etcd):
            etcd = OfEtcd(self, self._keeper)
            return {
                "etcd member killed": etcd.kill_server,
                "etcd member frozen": etcd.freeze_server,
                "etcd restored": etcd.restore,
                "etcd member replaced": etcd.replace_server,
            }
        postgresql = OfPostgresql(self, self._keeper)
        return {
            "postgresql killed, quickly back": postgresql.kill_primary,
            "backends terminated": postgresql.terminate,
            "replica promoted": postgresql.fail_over,
            "lagging replica promoted": postgresql.fail_over_with_a_lag,
        }

    def close(self) -> None:
        self._diary.close()

    def run(self, seconds: float, kinds: list[str] | None = None) -> None:
        """`kinds`: these, in this order; otherwise all, until the time is over."""
        ends = time.monotonic() + seconds
        deck = list(kinds or ())
        while time.monotonic() < ends:
            if not deck:
                if kinds:
                    break
                deck = sorted(self.kinds)
                self._random.shuffle(deck)
            self.kinds[deck.pop(0)]()
            self._wait(self._random.choice([0.2, 1.5, 3.0, 5.0]) * self._lease / 3)
            self._hosts.mind_the_failed()

    def calm_down(self) -> None:
        """No more of it; and everybody is there again."""
        self._network.heal()
        for worker in self._hosts.workers.values():
            worker.signal(signal.SIGCONT)
        self._keeper.calm_down()
        for place in sorted(self._absent):
            self._hosts.start_worker(place)
        self._absent.clear()
        self._note("calm", "", "")

    # What is written down

    def _note(self, what: str, kind: str, whom: str, **more: Any) -> None:
        line = [what, time.monotonic(), kind, whom, more]
        self._diary.write(json.dumps(line) + "\n")

    @contextmanager
    def _fault(self, kind: str, whom: str, **more: Any) -> Iterator[None]:
        self._note("begin", kind, whom, **more)
        try:
            yield
        finally:
            self._note("end", kind, whom)

    # Time

    def _wait(self, seconds: float) -> None:
        """Meanwhile, who was to come back does."""
        ends = time.monotonic() + seconds
        while (now := time.monotonic()) < ends:
            for place in [p for p, when in self._absent.items() if when <= now]:
                del self._absent[place]
                self._hosts.start_worker(place)
            time.sleep(min(0.05, ends - now))

    def _while_it_lasts(self, seconds: float) -> None:
        """Something else may happen at the same time, but not more."""
        if not self._inner and self._random.random() < 0.3:
            self._inner = True
            self._wait(seconds * 0.3)
            self._random.choice([self._kill_worker, self._pause_worker])()
            self._inner = False
            seconds *= 0.7
        self._wait(seconds)

    def _a_while(self) -> float:
        """Shorter than a lease, about one, or longer."""
        return self._lease * self._random.choice([0.3, 0.8, 1.3, 2.2, 3.0])

    # Processes

    def _kill(self, places: list[str]) -> None:
        for place in places:
            worker = self._hosts.workers.pop(place)
            worker.kill()
            self._note("dead", "", worker.who)
            self._absent[place] = time.monotonic() + self._random.uniform(0, self._lease)

    def _kill_worker(self) -> None:
        if places := sorted(self._hosts.workers):
            place = self._random.choice(places)
            with self._fault("worker killed", place):
                self._kill([place])

    def _kill_host(self) -> None:
        host = self._random.choice(self._hosts.workers_at)
        with self._fault("host killed", host):
            self._kill([p for p in sorted(self._hosts.workers) if on(p, host)])

    def _pause_worker(self) -> None:
        """Mostly for longer than its lease; it goes on as if nothing had happened."""
        if not (places := sorted(self._hosts.workers)):
            return
        place = self._random.choice(places)
        worker = self._hosts.workers[place]
        seconds = self._lease * self._random.choice([0.6, 1.3, 2.0, 2.5])
        with self._fault("worker paused", place, who=worker.who):
            worker.signal(signal.SIGSTOP)
            self._wait(seconds)
            worker.signal(signal.SIGCONT)

    # The service that keeps the members

    def _stop_service_shortly(self) -> None:
        """Shorter than the lease by what it takes to ask again: nobody is to notice."""
        self._stop_service("stopped, shortly", 0.4 * self._lease)

    def _stop_service_too_long(self) -> None:
        """Everybody loses everything, and is told in time."""
        self._stop_service("stopped, too long", 1.6 * self._lease)

    def _stop_service(self, how: str, seconds: float) -> None:
        with self._fault(f"{self._service} {how}", self._service):
            self._keeper.signal(signal.SIGSTOP)
            self._wait(seconds)
            self._keeper.signal(signal.SIGCONT)

    def _kill_service(self) -> None:
        with self._fault(f"{self._service} killed, all of it", self._service):
            self._keeper.kill()
            self._wait(1.3 * self._lease)
            self._keeper.calm_down()

    def _slow_service(self) -> None:
        """It answers, but late: some renewals are in time, and some are not."""
        with self._fault(f"{self._service} very slow", self._service):
            ends = time.monotonic() + self._lease * self._random.choice([1.5, 3.0])
            while time.monotonic() < ends:
                self._keeper.signal(signal.SIGSTOP)
                self._wait(self._random.choice([0.1, 0.25, 0.5]) * self._lease)
                self._keeper.signal(signal.SIGCONT)
                self._wait(0.02)

    @contextmanager
    def _unknown_worker(self, kind: str, seconds: float) -> Iterator[Fault]:
        """A worker joins after something was copied, and is then cut off from the service
        alone; `seconds`: after these, a dead worker is out."""
        if not (places := sorted(self._hosts.workers)):
            yield lambda: None
            return
        place = self._random.choice(places)
        host = place.partition(".")[0]
        pairs = [pair for s in self._keeper.at for pair in ((s, host), (host, s))]

        def come_back() -> None:
            self._absent[place] = time.monotonic()
            self._wait(self._lease)
            self._network.block(pairs)

        with self._fault(kind, host):
            self._kill([place])
            self._absent[place] = inf
            self._wait(seconds)
            yield come_back
            self._wait(self._lease)
            self._network.unblock(pairs)

    # The network

    def _cut_off_host(self) -> None:
        self._unplug("host cut off", self._random.choice(self._hosts.workers_at))

    def _cut_off_server(self) -> None:
        host = self._random.choice(self._hosts.servers_at)
        self._unplug(f"{self._service} member cut off", host)

    def _unplug(self, kind: str, host: str) -> None:
        with self._fault(kind, host):
            self._network.unplug(host)
            self._while_it_lasts(self._a_while())
            self._network.plug_in(host)

    def _cut_in_halves(self) -> None:
        """Two of the five here, three there, and servers on both sides."""
        ours = self._random.sample(self._hosts.workers_at, self._random.choice([2, 3]))
        servers = self._hosts.servers_at
        ours += self._random.sample(servers, self._random.randrange(1, len(servers)))
        others = [host for host in self._network.hosts if host not in ours]
        pairs = [pair for a in ours for b in others for pair in ((a, b), (b, a))]
        with self._fault("cut in halves", " ".join(sorted(ours))):
            self._network.block(pairs)
            self._while_it_lasts(self._a_while())
            self._network.unblock(pairs)

    def _one_way_between_hosts(self) -> None:
        """The hard one: both are in touch with the service, so both stay members."""
        pair = tuple(self._random.sample(self._hosts.workers_at, 2))
        self._one_way("one way between hosts", [(pair[0], pair[1])])

    def _one_way_to_service(self) -> None:
        """It is not heard there, or does not hear it."""
        host = self._random.choice(self._hosts.workers_at)
        deaf = self._random.random() < 0.5
        servers = self._hosts.servers_at
        pairs = [(s, host) if deaf else (host, s) for s in servers]
        self._one_way(f"one way to {self._service}", pairs)

    def _one_way(self, kind: str, pairs: list[tuple[str, str]]) -> None:
        with self._fault(kind, ", ".join(f"{a}→{b}" for a, b in pairs)):
            self._network.block(pairs)
            self._while_it_lasts(self._a_while())
            self._network.unblock(pairs)

    def _lossy(self) -> None:
        self._impair("lossy", delay=0, loss=self._random.choice([5, 15, 30]))

    def _slow(self) -> None:
        self._impair("slow", delay=self._random.choice([20, 60, 150]), loss=0)

    def _impair(self, kind: str, delay: int, loss: int) -> None:
        hosts = self._random.sample(
            self._network.hosts, self._random.choice([1, 2, len(self._network.hosts)])
        )
        whom = "all" if len(hosts) == len(self._network.hosts) else " ".join(sorted(hosts))
        with self._fault(kind, whom, delay=delay, loss=loss):
            for host in hosts:
                self._network.impair(host, delay, loss)
            self._while_it_lasts(self._lease * self._random.choice([1.0, 2.0, 3.0]))
            for host in hosts:
                self._network.repair(host)


class OfEtcd:
    """What happens to etcd alone."""

    def __init__(self, nemesis: Nemesis, etcd: Etcd) -> None:
        self._nemesis = nemesis
        self._etcd = etcd

    def kill_server(self) -> None:
        host, server = self._one()
        with self._nemesis._fault("etcd member killed", host):
            server.kill()
            self._nemesis._while_it_lasts(self._nemesis._a_while())
            server.start()
            server.wait_until_ready()

    def freeze_server(self) -> None:
        host, server = self._one()
        with self._nemesis._fault("etcd member frozen", host):
            server.signal(signal.SIGSTOP)
            self._nemesis._while_it_lasts(self._nemesis._a_while())
            server.signal(signal.SIGCONT)

    def restore(self) -> None:
        """From a backup without a member that is cut off from etcd alone."""
        lease = self._nemesis._lease  # before 3.5.13, a dead member is out after two
        with self._nemesis._unknown_worker("etcd restored", 2.5 * lease) as come_back:
            backup = self._etcd.servers[self._etcd.at[0]].back_up()
            come_back()
            self._etcd.restore(backup)

    def replace_server(self) -> None:
        """One address of the list belongs to another etcd for a while."""
        host, server = self._one()
        with self._nemesis._fault("etcd member replaced", host):
            server.kill()
            server.start_another()
            server.wait_until_ready()
            self._nemesis._while_it_lasts(self._nemesis._a_while())
            server.kill()
            server.start()
            server.wait_until_ready()

    def _one(self) -> tuple[str, EtcdServer]:
        host = self._nemesis._random.choice(self._etcd.at)
        return host, self._etcd.servers[host]


class OfPostgresql:
    """What happens to PostgreSQL alone."""

    def __init__(self, nemesis: Nemesis, postgresql: Postgresql) -> None:
        self._nemesis = nemesis
        self._postgresql = postgresql

    def kill_primary(self) -> None:
        """It is back before a lease is over."""
        primary = self._postgresql.primary
        with self._nemesis._fault("postgresql killed, quickly back", primary.host):
            primary.kill()
            primary.start()
            primary.wait_until_ready()

    def terminate(self) -> None:
        primary = self._postgresql.primary
        query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        query += "WHERE application_name = 'peerlock'"
        with self._nemesis._fault("backends terminated", primary.host):
            for _ in range(5):
                primary.answer(query)
                self._nemesis._wait(0.1 * self._nemesis._lease)

    def fail_over(self) -> None:
        primary = self._postgresql.primary
        with self._nemesis._fault("replica promoted", primary.host):
            self._postgresql.fail_over()
            self._nemesis._while_it_lasts(self._nemesis._a_while())
            self._postgresql.follow()

    def fail_over_with_a_lag(self) -> None:
        """The replica knows nothing of a member that is cut off from both servers."""
        kind, lease = "lagging replica promoted", self._nemesis._lease
        network = self._nemesis._network
        first, second = self._postgresql.at
        between = [(first, second), (second, first)]
        with self._nemesis._unknown_worker(kind, 1.5 * lease) as come_back:
            network.block(between)
            come_back()
            self._postgresql.fail_over()
            network.unblock(between)
        self._postgresql.follow()


def on(place: str, host: str) -> bool:
    return place.partition(".")[0] == host
