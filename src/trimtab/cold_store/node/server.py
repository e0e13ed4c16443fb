"""A small HTTP/1.0 server on a socket of the node, which no container can hold for itself."""

import http.client
import os
import socket
import stat
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trimtab.cold_store.node.store import Request, Response

_MOST_CONNECTIONS = 1024
_MOST_HEAD_BYTES = 8192
_HEAD_S, _SEND_S, _END_S = 5.0, 10.0, 5.0
_BACKLOG = 512


class AddressError(OSError):
    """An address at which no server can listen; the message says why."""


class Server:
    """Answers requests at `address`: unix:PATH or HOST:PORT, one a connection.

    If there are too many connections, the one that has kept the server waiting for longest ends.
    Raises AddressError.
    """

    def __init__(self, address: str, answer: Callable[[Request], Response]):
        self._answer = answer
        self._listener = _listening(address)
        self._path = Path(address.removeprefix("unix:")) if address.startswith("unix:") else None
        name = self._listener.getsockname()
        self.address = address if self._path else f"{name[0]}:{name[1]}"
        self._lock = threading.Condition()
        self._connections = 0
        self._slow: OrderedDict[socket.socket, None] = OrderedDict()  # we wait for their clients
        self._ended = False

    def serve(self) -> None:
        """Answer until `stop`, and then those who have asked, for at most five seconds."""
        while not self._ended:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                if not self._ended:  # too many open files, or a client that has gone
                    time.sleep(0.01)
                continue
            with self._lock:
                while self._connections >= _MOST_CONNECTIONS and not self._ended:
                    self._end_slowest()
                    self._lock.wait(1)
                self._connections += 1
            try:
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()
            except RuntimeError:  # the system gives no more threads
                self._end(connection)
        with self._lock:
            self._lock.wait_for(lambda: not self._connections, _END_S)

    def stop(self) -> None:
        """Accept no more; the socket's file goes."""
        self._ended = True
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _end_slowest(self) -> None:
        slowest = next(iter(self._slow), None)
        if slowest is not None:
            del self._slow[slowest]
            with suppress(OSError):
                slowest.shutdown(socket.SHUT_RDWR)

    def _talk(self, connection: socket.socket) -> None:
        try:
            with self._waiting(connection):
                request = _request(connection)
            response = self._answer(request) if request else Response(400, b"no request\n")
            with self._waiting(connection):
                _send(connection, response)
        except OSError:
            pass  # the client has gone
        except Exception as error:
            print(f"trimtab cold-store: {type(error).__name__}: {error}", file=sys.stderr)
        finally:
            self._end(connection)

    def _end(self, connection: socket.socket) -> None:
        connection.close()
        with self._lock:
            self._connections -= 1
            self._lock.notify_all()

    @contextmanager
    def _waiting(self, connection: socket.socket) -> Iterator[None]:
        with self._lock:
            self._slow[connection] = None
        try:
            yield
        finally:
            with self._lock:
                self._slow.pop(connection, None)


def _request(connection: socket.socket) -> Request | None:
    """Return a request that arrives in time; None for anything but a GET of HTTP/1."""
    head, until = b"", time.monotonic() + _HEAD_S
    while b"\r\n\r\n" not in head:
        left_s = until - time.monotonic()
        if len(head) > _MOST_HEAD_BYTES or left_s <= 0:
            return None
        connection.settimeout(left_s)
        if not (data := connection.recv(_MOST_HEAD_BYTES)):
            return None
        head += data
    first, *lines = head.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or words[0] != "GET" or not words[2].startswith("HTTP/1."):
        return None
    pairs = (line.partition(":") for line in lines)
    return Request(words[1], {name.lower(): value.strip() for name, _, value in pairs})


def _send(connection: socket.socket, response: Response) -> None:
    data = response.data
    size_bytes = len(data) if isinstance(data, bytes) else os.fstat(data.fileno()).st_size
    head = (
        f"HTTP/1.0 {response.status} {http.client.responses[response.status]}\r\n"
        f"Content-Type: {response.media_type}\r\n"
        f"Content-Length: {len(response.head) + size_bytes}\r\n\r\n"
    )
    connection.settimeout(_SEND_S)
    connection.sendall(head.encode() + response.head)
    if isinstance(data, bytes):
        connection.sendall(data)
    else:
        with data:
            connection.sendfile(data)


def _listening(address: str) -> socket.socket:
    if address.startswith("unix:"):
        return _listening_at(Path(address.removeprefix("unix:")))
    host, _, port = address.rpartition(":")
    try:
        return socket.create_server((host.strip("[]"), int(port)), backlog=_BACKLOG)
    except (OSError, ValueError, OverflowError) as error:
        raise AddressError(f"{address}: {error}; expected unix:PATH or HOST:PORT") from None


def _listening_at(path: Path) -> socket.socket:
    """Listen on a socket that everybody may use; one that a dead server left is replaced."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() or path.is_symlink():
            if not stat.S_ISSOCK(path.lstat().st_mode):
                raise AddressError(f"{path}: in the place of the socket; remove it")
            with socket.socket(socket.AF_UNIX) as other, suppress(ConnectionRefusedError):
                other.connect(str(path))
                raise AddressError(f"{path}: another server listens on it; stop that one")
            path.unlink()
        listener.bind(str(path))
        path.chmod(0o666)
        listener.listen(_BACKLOG)
    except AddressError:
        listener.close()
        raise
    except OSError as error:
        listener.close()
        raise AddressError(
            f"{path}: {error.strerror or error}; name another with --listen"
        ) from None
    return listener
