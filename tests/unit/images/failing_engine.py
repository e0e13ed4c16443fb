"""An engine that answers as the pages of Docker's API say, and then does not do what it should."""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from tempfile import TemporaryDirectory


class Answers(BaseHTTPRequestHandler):
    """Answers of an engine as the API's pages describe them, and `behaviour` where it fails."""

    behaviour = ""
    protocol_version = "HTTP/1.1"

    def address_string(self) -> str:
        return "a socket"

    def log_message(self, *_: object) -> None:
        pass

    def _send(self, data: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        if self.path.endswith("/version"):
            version = {"ApiVersion": "1.41", "MinAPIVersion": "1.12", "Version": "20.10"}
            self._send(json.dumps(version).encode())
        elif self.behaviour == "refuses" and self.path.endswith("/get"):
            self._send(b'{"message": "no space left on device"}', 500)
        elif self.behaviour == "talks nonsense":
            self._send(b"[1, 2")
        elif self.path.endswith("/json"):
            self._send(b'{"Id": "sha256:1", "RepoTags": null, "Size": 1}')
        else:
            self._send_archive()

    def _send_archive(self) -> None:
        data = self.archive
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        whole = self.behaviour == "has no space"
        half = data if whole else data[: len(data) // 3]
        self.wfile.write(b"%x\r\n%s\r\n" % (len(half), half))
        if whole or self.behaviour == "ends as if it were whole":
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    archive = b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._send(b'{"errorDetail": {"message": "write /layer: no space left on device"}}\n')


@contextmanager
def engine_that(behaviour: str, archive: bytes = b"") -> Iterator[str]:
    """Yield the address of an engine that does not do what it should."""
    kind = type("Handler", (Answers,), {"behaviour": behaviour, "archive": archive})
    with TemporaryDirectory() as place:
        path = f"{place}/socket"
        with socketserver.ThreadingUnixStreamServer(path, kind) as server:
            serving = threading.Thread(target=server.serve_forever, args=(0.01,))
            serving.start()
            try:
                yield f"unix://{path}"
            finally:
                server.shutdown()
                serving.join()
