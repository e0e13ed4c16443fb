"""Pull an image from a registry on this machine, at a stated bandwidth.

The registry answers engines' requests for a pull (OCI distribution specification 1.1, "Pull"): a
manifest, and blobs by their digests. The kernel paces each connection (SO_MAX_PACING_RATE,
socket(7)), so bytes take as long as on such a line.
"""

import http.client
import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

from trimtab.errors import TrimtabError, UserError
from trimtab.files import read_json
from trimtab.images.archives.oci_layout import INDEX_NAME, LAYOUT_NAME
from trimtab.images.digest import checked
from trimtab.images.writing.layout import blob_name

_SO_MAX_PACING_RATE = 47  # asm-generic/socket.h; Python has no name for it
_LARGEST_RATE = (1 << 32) - 1  # the largest for kernels that store it in 32 bits
_BLOB = re.compile(r"/v2/image/(?:manifests|blobs)/(sha256:[0-9a-f]{64})")
_LATEST = "/v2/image/manifests/latest"
_CHUNK_BYTES = 1 << 18
_SILENCE_S = 60.0
_BITS_PER_BYTE, _BITS_PER_GBIT = 8, 1e9


def transfer_s(size_bytes: int, gbit_per_s: float) -> float:
    """Return the modelled transfer time of bytes on an otherwise idle line."""
    return size_bytes * _BITS_PER_BYTE / (gbit_per_s * _BITS_PER_GBIT)


def paced_bytes_per_s(gbit_per_s: float) -> int:
    """Return the pacing rate of a registry. Raises UserError for an invalid bandwidth."""
    bytes_per_s = gbit_per_s * _BITS_PER_GBIT / _BITS_PER_BYTE
    if not 1 <= bytes_per_s <= _LARGEST_RATE:
        most = _LARGEST_RATE * _BITS_PER_BYTE / _BITS_PER_GBIT
        raise UserError(
            f"gbit_per_s: {gbit_per_s:g} given, expected a bandwidth above 0 and up to {most:.0f}"
            " Gbit/s, which a registry can be paced to"
        )
    return int(bytes_per_s)


@contextmanager
def registry(layout: Path, gbit_per_s: float) -> Iterator[tuple[str, int]]:
    """Serve the image of the OCI layout `layout` during the block; yields host and port.

    Raises as `paced_bytes_per_s` does, and OSError without a free port.
    """

    class Handler(_Handler):
        folder, rate = layout, paced_bytes_per_s(gbit_per_s)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield "127.0.0.1", server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder: ClassVar[Path]
    rate: ClassVar[int]

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, self.rate)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_GET(self) -> None:
        digest = _manifest(self.folder)["digest"] if self.path == _LATEST else None
        if digest is None and (match := _BLOB.fullmatch(self.path)):
            digest = match[1]
        blob = self.folder / blob_name(digest or "none")
        if not blob.is_file():
            self.send_error(404)
            return
        with blob.open("rb") as file:
            self.send_response(200)
            self.send_header("Content-Length", str(blob.stat().st_size))
            self.send_header("Docker-Content-Digest", str(digest))
            self.end_headers()
            self.connection.sendfile(file)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def pull(host: str, port: int, folder: Path) -> None:
    """Pull the image of a `registry` into the new OCI layout `folder`; all digests are checked.

    Raises TrimtabError if the registry lacks a blob of its manifest, DamagedError for a wrong
    digest, and OSError as sockets and files do.
    """
    folder.mkdir()
    connection = http.client.HTTPConnection(host, port, timeout=_SILENCE_S)
    try:
        digest = _digest_of(_asked(connection, _LATEST))
        manifest = folder / blob_name(digest)
        _fetch(connection, _LATEST, digest, manifest)
        document = read_json(manifest)
        for blob in (document["config"], *document["layers"]):
            path = folder / blob_name(blob["digest"])
            if not path.exists():
                _fetch(connection, f"/v2/image/blobs/{blob['digest']}", blob["digest"], path)
    finally:
        connection.close()
    found = {
        "mediaType": document["mediaType"],
        "digest": digest,
        "size": manifest.stat().st_size,
    }
    (folder / INDEX_NAME).write_text(json.dumps({"schemaVersion": 2, "manifests": [found]}))
    (folder / LAYOUT_NAME).write_text('{"imageLayoutVersion":"1.0.0"}')


def _asked(connection: http.client.HTTPConnection, path: str) -> http.client.HTTPResponse:
    connection.request("GET", path)
    answer = connection.getresponse()
    if answer.status != 200:
        raise TrimtabError(f"{connection.host}{path}: {answer.status} {answer.reason}")
    return answer


def _digest_of(answer: http.client.HTTPResponse) -> str:
    answer.read()
    return str(answer.headers["Docker-Content-Digest"])


def _fetch(
    connection: http.client.HTTPConnection, path: str, digest: str, destination: Path
) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    answer = _asked(connection, path)
    with destination.open("xb") as file:
        for piece in checked(iter(lambda: answer.read(_CHUNK_BYTES), b""), digest):
            file.write(piece)


def _manifest(layout: Path) -> dict[str, Any]:
    found: dict[str, Any] = read_json(layout / INDEX_NAME)["manifests"][0]
    return found
