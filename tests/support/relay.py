"""A relay between a client and a server, in a thread, whose connections can be cut."""

import socket
import threading
import time
from contextlib import suppress
from typing import Self

DEADLINE = 60.0


class Relay:
    def __init__(self, where: str) -> None:
        host, _, port = where.rpartition(":")
        self._server = (host, int(port))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = "{}:{}".format(*self._listening.getsockname())
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self._listening.close()
        self.cut()
        for thread in self._threads:
            thread.join()

    def cut(self) -> None:
        pairs, self._pairs = self._pairs, []
        for end in [end for pair in pairs for end in pair]:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def wait_for(self, connections: int) -> None:
        too_late = time.monotonic() + DEADLINE
        while len(self._pairs) < connections:
            assert time.monotonic() < too_late
            time.sleep(0.005)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.create_connection(self._server)
            self._pairs.append((client, server))
            pump = threading.Thread(target=self._both, args=(client, server))
            self._threads.append(pump)
            pump.start()

    def _both(self, client: socket.socket, server: socket.socket) -> None:
        back = threading.Thread(target=copy, args=(server, client))
        back.start()
        copy(client, server)
        back.join()
        client.close()
        server.close()


def copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
