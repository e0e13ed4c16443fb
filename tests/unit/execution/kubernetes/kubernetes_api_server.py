"""An API server over HTTP that serves pods and nodes from files and takes bindings."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

SAMPLES = Path(__file__).parent / "samples"


class ApiServer(ThreadingHTTPServer):
    """Pods change as on a real one: a bound pod has its node; `refusals` are answered instead."""

    daemon_threads = True

    def __init__(self, samples: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pods = json.loads((SAMPLES / f"{samples}_pods.json").read_text())
        self.nodes = json.loads((SAMPLES / f"{samples}_nodes.json").read_text())
        self.bindings: list[tuple[str, dict[str, Any]]] = []
        self.refusals: dict[str, int] = {}
        self.watches: list[dict[str, list[str]]] = []
        self.watch_status = 200
        self.watched = Event()

    def pod(self, name: str) -> dict[str, Any]:
        return next(pod for pod in self.pods["items"] if pod["metadata"]["name"] == name)

    def node(self, name: str) -> dict[str, Any]:
        return next(node for node in self.nodes["items"] if node["metadata"]["name"] == name)


class _Handler(BaseHTTPRequestHandler):
    server: ApiServer

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        if "watch" in query:
            self.server.watches.append(query)
            event = {"type": "MODIFIED", "object": self.server.pods["items"][0]}
            if self.server.watch_status != 200:
                status = {"kind": "Status", "code": self.server.watch_status, "reason": "Expired"}
                event = {"type": "ERROR", "object": {**status, "message": "too old"}}
            self._answer(200, event)
            self.server.watched.set()
        elif url.path == "/api/v1/pods":
            self._answer(200, self.server.pods)
        elif url.path == "/api/v1/nodes":
            self._answer(200, self.server.nodes)
        else:
            self._answer(404, _status(404, "NotFound"))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        *_, name, verb = self.path.split("/")
        assert verb == "binding"
        if name in self.server.refusals:
            code = self.server.refusals[name]
            self._answer(code, _status(code, "Refused"))
            return
        self.server.bindings.append((self.path, body))
        self.server.pod(name)["spec"]["nodeName"] = body["target"]["name"]
        self._answer(201, {"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201})

    def _answer(self, code: int, document: Any) -> None:
        content = json.dumps(document).encode() + b"\n"
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


def _status(code: int, reason: str) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "code": code,
    }


@contextmanager
def api_server(samples: str) -> Iterator[ApiServer]:
    with ApiServer(samples) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
