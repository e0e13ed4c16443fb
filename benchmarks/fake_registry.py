"""A registry for tests and benchmarks: OCI's distribution API in memory, which can misbehave."""

import argparse
import base64
import hashlib
import json
import re
import secrets
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

_PATH = re.compile(r"/v2/(.+)/(blobs|manifests|referrers)/([^/]+)/?")
_UPLOAD = re.compile(r"/v2/(.+)/blobs/uploads/([0-9a-f]*)")
_RANGE = re.compile(r"bytes=(\d+)-(\d+)")


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@dataclass
class FakeRegistry:
    """What a registry holds and how it behaves; `requests` has the method and path of each.

    `answer`, if given, sees each request first and tells whether it has answered it.
    """

    login: str = ""  # NAME:PASSWORD
    tokens: bool = False
    latency_s: float = 0.0
    tls: ssl.SSLContext | None = None
    ranges: bool = True
    subjects: bool = True
    redirect: str = ""  # to the blobs of the registry at this address
    answer: "Callable[[Handler], bool] | None" = None
    blobs: dict[tuple[str, str], bytes] = field(default_factory=dict)
    manifests: dict[tuple[str, str], tuple[str, bytes]] = field(default_factory=dict)
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    issued: dict[str, str] = field(default_factory=dict)  # tokens and their scopes
    uploads: dict[str, str] = field(default_factory=dict)

    def add(self, repository: str, data: bytes) -> str:
        """Hold a blob; return its digest."""
        digest = digest_of(data)
        self.blobs[repository, digest] = data
        return digest

    def count(self, method: str, part: str) -> int:
        """Return how many requests had a method and a part of the path."""
        return sum(each == method and part in path for each, path, _ in self.requests)

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Yield HOST:PORT; the registry answers in the block."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, self))
        server.daemon_threads = True
        if self.tls is not None:
            server.socket = self.tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()


class Handler(BaseHTTPRequestHandler):
    """One connection to a FakeRegistry."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, registry: FakeRegistry, *given: object):
        self.registry = registry
        super().__init__(*given)  # type: ignore[arg-type]

    def log_message(self, *_: object) -> None:
        """Keep still."""

    def send(self, status: int, data: bytes = b"", **headers: str) -> None:
        """Answer, at once."""
        head = [f"HTTP/1.1 {status} X", f"Content-Length: {len(data)}"]
        head += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        body = b"" if self.command == "HEAD" else data
        self.wfile.write("\r\n".join((*head, "", "")).encode() + body)

    def handle_any(self) -> None:
        """Answer one request."""
        registry = self.registry
        registry.requests.append((self.command, self.path, dict(self.headers.items())))
        body = self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        time.sleep(registry.latency_s)
        if registry.answer is not None and registry.answer(self):
            return
        if self.path.startswith("/token"):
            self._token()
        elif not self._authorized():
            self._ask()
        elif upload := _UPLOAD.fullmatch(urlsplit(self.path).path):
            self._upload(upload[1], upload[2], body)
        elif found := _PATH.fullmatch(urlsplit(self.path).path):
            getattr(self, f"_{found[2]}")(found[1], found[3], body)
        else:
            self.send(404)

    do_GET = do_HEAD = do_PUT = do_POST = handle_any  # noqa: N815

    def _token(self) -> None:
        given = self.headers.get("Authorization", "")
        if self.registry.login and given != _basic(self.registry.login):
            self.send(401)
            return
        token = secrets.token_hex(8)
        scopes = parse_qs(urlsplit(self.path).query).get("scope", [])
        self.registry.issued[token] = " ".join(scopes)
        self.send(200, json.dumps({"token": token, "expires_in": 300}).encode())

    def _authorized(self) -> bool:
        registry, given = self.registry, self.headers.get("Authorization", "")
        if not registry.tokens:
            return not registry.login or given == _basic(registry.login)
        scopes = registry.issued.get(given.removeprefix("Bearer "), "")
        found = _PATH.match(self.path) or _UPLOAD.match(self.path)
        needed = "pull" if self.command in ("GET", "HEAD") else "pull,push"
        allowed = [each.split(":") for each in scopes.split()]
        return bool(found) and any(
            name == found[1] and actions.startswith(needed) for _, name, actions in allowed
        )

    def _ask(self) -> None:
        host = self.headers["Host"]
        kind = f'Bearer realm="http://{host}/token",service="fake"' if self.registry.tokens else ""
        self.send(401, b'{"errors": [{"code": "UNAUTHORIZED"}]}',
                  WWW_Authenticate=kind or 'Basic realm="fake"')  # fmt: skip

    def _blobs(self, repository: str, digest: str, _: bytes) -> None:
        data = self.registry.blobs.get((repository, digest))
        asked = _RANGE.fullmatch(self.headers.get("Range", ""))
        if data is None:
            self.send(404, b'{"errors": [{"code": "BLOB_UNKNOWN", "message": "blob unknown"}]}')
        elif self.registry.redirect and self.command == "GET":
            self.send(307, Location=f"http://{self.registry.redirect}{self.path}")
        elif asked and self.registry.ranges:
            start, end = int(asked[1]), min(int(asked[2]) + 1, len(data))
            self.send(206, data[start:end],
                      Content_Range=f"bytes {start}-{end - 1}/{len(data)}")  # fmt: skip
        else:
            self.send(200, data)

    def _manifests(self, repository: str, reference: str, body: bytes) -> None:
        manifests = self.registry.manifests
        if self.command == "PUT":
            kept = self.headers["Content-Type"], body
            manifests[repository, reference] = manifests[repository, digest_of(body)] = kept
            subject = json.loads(body).get("subject", {}).get("digest")
            more = {"OCI_Subject": subject} if subject and self.registry.subjects else {}
            self.send(201, **more)
        elif (repository, reference) in manifests:
            kind, data = manifests[repository, reference]
            self.send(200, data, Content_Type=kind)
        else:
            self.send(404, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}')

    def _referrers(self, repository: str, digest: str, _: bytes) -> None:
        if not self.registry.subjects:
            self.send(404)
            return
        found = []
        for (name, reference), (kind, data) in self.registry.manifests.items():
            manifest = json.loads(data)
            is_one = manifest.get("subject", {}).get("digest") == digest
            if name == repository and reference == digest_of(data) and is_one:
                found.append({"mediaType": kind, "digest": reference, "size": len(data),
                              "artifactType": manifest.get("artifactType")})  # fmt: skip
        self.send(200, json.dumps({"manifests": found}).encode(),
                  Content_Type="application/vnd.oci.image.index.v1+json")  # fmt: skip

    def _upload(self, repository: str, number: str, body: bytes) -> None:
        registry, query = self.registry, parse_qs(urlsplit(self.path).query)
        if self.command == "PUT" and registry.uploads.pop(number, None) == repository:
            right = digest_of(body) == query["digest"][0]
            if right:
                registry.add(repository, body)
            self.send(201 if right else 400)
        elif (
            "mount" in query and (source := (query["from"][0], query["mount"][0])) in registry.blobs
        ):
            registry.add(repository, registry.blobs[source])
            self.send(201)
        else:
            number = secrets.token_hex(8)
            registry.uploads[number] = repository
            self.send(202, Location=f"/v2/{repository}/blobs/uploads/{number}?state=1")


def _basic(login: str) -> str:
    return f"Basic {base64.b64encode(login.encode()).decode()}"


def main() -> None:
    """Serve files as the blobs of the repository `bench`, with latency; print HOST:PORT."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency-s", type=float, default=0.02)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    registry = FakeRegistry(latency_s=options.latency_s)
    for file in options.files:
        registry.add("bench", file.read_bytes())
    with registry.serving() as address:
        print(address, flush=True)
        input()


if __name__ == "__main__":
    main()
