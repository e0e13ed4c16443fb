"""The client of registries against one in memory: tokens, redirects, ranges, and lies."""

import io
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from fake_registry import FakeRegistry, Handler, digest_of

from trimtab.cold_store.credentials import Credentials
from trimtab.cold_store.registry import Registry, RegistryError
from trimtab.cold_store.transport import Transport

DATA = bytes(range(256)) * 400
INDEX = "application/vnd.oci.image.index.v1+json"
LOGIN = "me:secret"


def client(host: str, login: str = "", **options: object) -> Registry:
    name, _, password = login.partition(":")
    auths = {host: {"username": name, "password": password}} if login else {}
    pauses: list[float] = []
    given = Credentials({"auths": auths})
    return Registry(Transport(host, given, pause=pauses.append, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("tokens", [False, True])
@pytest.mark.parametrize("login", ["", LOGIN])
def test_what_was_pushed_is_pulled(tokens: bool, login: str) -> None:
    registry = FakeRegistry(login=login, tokens=tokens)
    with registry.serving() as host:
        asked = client(host, login)
        digest = digest_of(DATA)
        assert not asked.has_blob("a/b", digest)
        asked.put_blob("a/b", digest, len(DATA), lambda: io.BytesIO(DATA))
        assert asked.has_blob("a/b", digest)
        assert asked.blob("a/b", digest, len(DATA)) == DATA
        assert b"".join(asked.blob_chunks("a/b", digest, len(DATA))) == DATA
        assert asked.blob_range("a/b", digest, 1000, 70_000) == DATA[1000:70_000]
        assert not asked.mount_blob("c", digest_of(b"none"), "a/b")
        assert asked.mount_blob("c", digest, "a/b")
        assert asked.blob("c", digest, len(DATA)) == DATA
        assert not asked.has_manifest("a/b", "slim")
        assert not asked.put_manifest("a/b", "slim", b"{}", INDEX)
        assert asked.manifest("a/b", "slim") == (b"{}", INDEX, digest_of(b"{}"))
        assert asked.has_manifest("a/b", digest_of(b"{}"))
    assert not tokens or registry.count("GET", "/token") <= 4  # two repositories, pull and push


@pytest.mark.parametrize("subjects", [False, True])
def test_referrers(subjects: bool) -> None:
    registry = FakeRegistry(subjects=subjects)
    subject = digest_of(b"{}")
    manifest = {"artifactType": "x/y", "subject": {"digest": subject}}
    data = json.dumps(manifest).encode()
    with registry.serving() as host:
        asked = client(host)
        assert asked.referrers("a", subject, "x/y") == []
        assert asked.put_manifest("a", digest_of(data), data, INDEX) == subjects
        if not subjects:
            index = {"manifests": [{"digest": digest_of(data), "artifactType": "x/y"}]}
            asked.put_manifest("a", subject.replace(":", "-"), json.dumps(index).encode(), INDEX)
        assert [each["digest"] for each in asked.referrers("a", subject, "x/y")] == [
            digest_of(data)
        ]
        assert asked.referrers("a", subject, "x/z") == []


def test_many_requests_at_once_get_one_token() -> None:
    registry = FakeRegistry(login=LOGIN, tokens=True, latency_s=0.005)
    digest = registry.add("a", DATA)
    with registry.serving() as host, ThreadPoolExecutor(8) as pool:
        asked = client(host, LOGIN)
        assert set(pool.map(lambda _: asked.blob("a", digest, len(DATA)), range(16))) == {DATA}
    assert registry.count("GET", "/token") == 1


def test_a_token_that_ends_is_replaced() -> None:
    registry = FakeRegistry(tokens=True)
    digest = registry.add("a", DATA)
    with registry.serving() as host:
        asked = client(host)
        asked.blob("a", digest, len(DATA))
        registry.issued.clear()
        asked.blob("a", digest, len(DATA))
    assert registry.count("GET", "/token") == 2


def test_another_host_gets_no_authorization() -> None:
    behind = FakeRegistry()
    with behind.serving() as other:
        registry = FakeRegistry(login=LOGIN, redirect=other)
        digest = registry.add("a", DATA)
        behind.add("a", DATA)
        with registry.serving() as host:
            assert client(host, LOGIN).blob_range("a", digest, 5, 500) == DATA[5:500]
    [(_, _, headers)] = behind.requests
    assert "Authorization" not in headers and headers["Range"] == "bytes=5-499"


@pytest.mark.parametrize("leads_to", ["http://{other}\\@{host}", "http://{other}"])
def test_where_a_registry_leads_gets_no_authorization(leads_to: str) -> None:
    """Neither by an address that is read in two ways, nor for a challenge of its own."""

    def asks(handler: Handler) -> bool:
        handler.send(401, WWW_Authenticate=f'Bearer realm="http://{other}/token",service="x"')
        return True

    def leads(handler: Handler) -> bool:
        if handler.command == "GET" and "/blobs/" in handler.path:
            handler.send(307, Location=leads_to.format(other=other, host=host) + handler.path)
        return handler.command == "GET" and "/blobs/" in handler.path

    elsewhere = FakeRegistry(answer=asks)
    registry = FakeRegistry(login=LOGIN, tokens=True, answer=leads)
    digest = registry.add("a", DATA)
    with elsewhere.serving() as other, registry.serving() as host:
        asked = client(host, LOGIN)
        assert asked.has_blob("a", digest)
        with pytest.raises(RegistryError):
            asked.blob("a", digest, len(DATA))
    assert elsewhere.requests
    assert not any("Authorization" in headers for _, _, headers in elsewhere.requests)


def test_a_login_that_is_missing_is_named() -> None:
    registry = FakeRegistry(login=LOGIN)
    with registry.serving() as host:
        with pytest.raises(RegistryError, match=f"docker login {host}") as caught:
            client(host).blob("a", digest_of(DATA), 10)
        assert caught.value.status == 401
        with pytest.raises(RegistryError, match="docker login"):
            client(host, "me:wrong").blob("a", digest_of(DATA), 10)


def test_a_missing_blob_is_not_tried_again() -> None:
    registry = FakeRegistry()
    with registry.serving() as host, pytest.raises(RegistryError, match="blob unknown") as caught:
        client(host).blob("a", digest_of(DATA), 10)
    assert caught.value.status == 404 and len(registry.requests) == 1


def busy(failures: list[int]) -> Callable[[Handler], bool]:
    """Return an answer that fails with each of `failures`, from the last, before the true ones."""

    def answer(handler: Handler) -> bool:
        if failures:
            handler.send(failures.pop(), Retry_After="2")
            return True
        return False

    return answer


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_registry_is_asked_again(status: int) -> None:
    registry = FakeRegistry(answer=busy([status, status]))
    digest = registry.add("a", DATA)
    pauses: list[float] = []
    with registry.serving() as host:
        asked = Registry(Transport(host, Credentials(), pause=pauses.append))
        assert asked.blob("a", digest, len(DATA)) == DATA
    assert pauses == [2, 2]


def drops(places: list[int]) -> Callable[[Handler], bool]:
    """Ends the next answers with blobs after so many bytes, by closing the connection."""

    def answer(handler: Handler) -> bool:
        if "/blobs/" not in handler.path or handler.command != "GET" or not places:
            return False
        start, _, _ = handler.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        first = int(start) if handler.registry.ranges else 0
        part = DATA[first:]
        head = f"HTTP/1.1 206 X\r\nContent-Range: bytes {first}-{len(DATA) - 1}/{len(DATA)}\r\n"
        head = head if first else "HTTP/1.1 200 X\r\n"
        handler.wfile.write(f"{head}Content-Length: {len(part)}\r\n\r\n".encode())
        handler.wfile.write(part[: places.pop(0)])
        handler.close_connection = True
        return True

    return answer


def chunks(host: str, digest: str, size_bytes: int = len(DATA)) -> tuple[bytes, list[float]]:
    pauses: list[float] = []
    asked = Registry(Transport(host, Credentials(), pause=pauses.append))
    return b"".join(asked.blob_chunks("a", digest, size_bytes)), pauses


@pytest.mark.parametrize("places", [[], [0], [1, 0], [50_000, 7, 0], [len(DATA) - 1]])
@pytest.mark.parametrize("ranges", [True, False])
def test_a_blob_whose_connections_drop_comes_whole(places: list[int], ranges: bool) -> None:
    registry = FakeRegistry(answer=drops(left := [*places]), ranges=ranges)
    digest = registry.add("a", DATA)
    with registry.serving() as host:
        data, pauses = chunks(host, digest)
    assert data == DATA and not left and len(pauses) == len(places)
    ends = [sum(places[: number + 1]) for number in range(len(places))] if ranges else []
    asked = [headers.get("Range") for _, _, headers in registry.requests]
    assert not ranges or asked == [
        None,
        *(f"bytes={e}-{len(DATA) - 1}" if e else None for e in ends),
    ]


def test_a_blob_of_a_busy_registry_is_asked_for_again() -> None:
    registry = FakeRegistry(answer=busy([503, 429]))
    digest = registry.add("a", DATA)
    with registry.serving() as host:
        assert chunks(host, digest) == (DATA, [2, 2])


def test_a_blob_that_always_drops_is_given_up() -> None:
    registry = FakeRegistry(answer=drops([1] * 100))
    digest = registry.add("a", DATA)
    with registry.serving() as host, pytest.raises(RegistryError, match="cut off"):
        chunks(host, digest)
    assert len(registry.requests) == 4


def test_each_part_of_a_large_blob_has_its_own_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trimtab.cold_store.chunks._RENEWING_BYTES", 10_000)
    registry = FakeRegistry(answer=drops([10_000] * 9))
    digest = registry.add("a", DATA)
    with registry.serving() as host:
        assert chunks(host, digest)[0] == DATA
    assert len(registry.requests) == 10


def test_a_connection_without_a_length_that_ends_early_is_no_end() -> None:
    ends = [raw(b"HTTP/1.1 200 OK\r\n\r\n" + DATA[:5000])]
    registry = FakeRegistry(answer=lambda handler: bool(ends) and ends.pop()(handler))
    digest = registry.add("a", DATA)
    with registry.serving() as host:
        assert chunks(host, digest)[0] == DATA


@pytest.mark.parametrize("larger", [0, 500])
def test_other_bytes_after_a_drop_are_refused(larger: int) -> None:
    first = drops([50_000])

    def answer(handler: Handler) -> bool:
        if first(handler):
            return True
        content = f"bytes 50000-{len(DATA) + larger - 1}/{len(DATA) + larger}"
        handler.send(206, bytes(len(DATA) + larger - 50_000), Content_Range=content)
        return True

    registry = FakeRegistry(answer=answer)
    digest = registry.add("a", DATA)
    with registry.serving() as host, pytest.raises(RegistryError, match="expected sha256"):
        chunks(host, digest, len(DATA) + larger)
    assert len(registry.requests) == 2


@pytest.mark.parametrize("status", [206, 400, 405, 416, 501, 403, 404])
def test_a_registry_that_refuses_ranges_sends_all_again(status: int) -> None:
    first = drops([50_000])

    def refuses(handler: Handler) -> bool:
        if first(handler):
            return True
        if "Range" in handler.headers:
            handler.send(status, b"some", Content_Range="bytes 0-3/4")
            return True
        return False

    registry = FakeRegistry(answer=refuses)
    digest = registry.add("a", DATA)
    with registry.serving() as host:
        if status in (403, 404):
            with pytest.raises(RegistryError, match=str(status)):
                chunks(host, digest)
        else:
            assert chunks(host, digest)[0] == DATA
    asked = ["Range" in headers for _, _, headers in registry.requests]
    assert asked == [False, True, False][: 2 if status in (403, 404) else 3]


def test_an_upload_is_begun_again() -> None:
    seen: list[str] = []

    def fails_once(handler: Handler) -> bool:
        seen.append(handler.command)
        if seen.count("PUT") == 1 and handler.command == "PUT":
            handler.send(500)
            return True
        return False

    registry = FakeRegistry(answer=fails_once)
    with registry.serving() as host:
        client(host).put_blob("a", digest_of(DATA), len(DATA), lambda: io.BytesIO(DATA))
    assert seen == ["POST", "PUT", "POST", "PUT"]
    assert registry.blobs["a", digest_of(DATA)] == DATA


def test_a_registry_that_is_down_is_named() -> None:
    with FakeRegistry().serving() as host:
        pass
    with pytest.raises(RegistryError, match=f"{host}.*refused") as caught:
        client(host).blob("a", digest_of(DATA), 10)
    assert caught.value.passing


def test_a_registry_without_ranges_is_read_on() -> None:
    registry = FakeRegistry(ranges=False)
    digest = registry.add("a", DATA)
    with registry.serving() as host:
        assert client(host).blob_range("a", digest, 70_000, 70_010) == DATA[70_000:70_010]


@pytest.mark.parametrize("sent", ["bytes 0-9/100", "bytes 10-18/100", "nonsense", ""])
def test_another_range_is_refused(sent: str) -> None:
    def lies(handler: Handler) -> bool:
        handler.send(206, DATA[:10], Content_Range=sent)
        return True

    refused = pytest.raises(RegistryError, match="expected bytes 10-19")
    with FakeRegistry(answer=lies).serving() as host, refused:
        client(host).blob_range("a", digest_of(DATA), 10, 20)


def raw(text: bytes) -> Callable[[Handler], bool]:
    def answer(handler: Handler) -> bool:
        handler.wfile.write(text)
        handler.close_connection = True
        return True

    return answer


def wrong(handler: Handler) -> bool:
    handler.send(200, b"other bytes")
    return True


def round_and_round(handler: Handler) -> bool:
    handler.send(307, Location=handler.path)
    return True


def to_a_file(handler: Handler) -> bool:
    handler.send(307, Location="file:///etc/passwd")
    return True


def endless(handler: Handler) -> bool:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    handler.close_connection = True
    try:
        while True:
            handler.wfile.write(bytes(1 << 16))
    except OSError:
        return True


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (wrong, "expected sha256"),
        (round_and_round, "more than 5 redirects"),
        (to_a_file, "not allowed"),
        (endless, "more than 102400 bytes"),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nfew"), "cut off"),
        (raw(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n"), "line"),
        (raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n"), "headers"),
        (raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "cut off"),
        (raw(b"\x00\xff\r\n\r\n"), "GET"),
        (raw(b""), "GET"),
        (raw(b"HTTP/1.1 403 X\r\nContent-Length: 7\r\n\r\n[[[\x1b[1m"), "403 Forbidden"),
    ],
)
def test_lies_end_with_one_line(answer: Callable[[Handler], bool], said: str) -> None:
    with FakeRegistry(answer=answer).serving() as host:
        with pytest.raises(RegistryError, match=said) as caught:
            client(host).blob("a", digest_of(DATA), len(DATA))
        assert str(caught.value).isprintable()
        with pytest.raises(RegistryError):
            list(client(host).blob_chunks("a", digest_of(DATA), len(DATA)))
        if answer is endless:
            with pytest.raises(RegistryError):
                client(host).blob_range("a", digest_of(DATA), 1 << 31, (1 << 31) + 1)


@pytest.mark.parametrize(
    "place",
    ["http://{other}/blob?", "ftp://me:secret@r.org/blob?", "http://127.0.0.1:x/blob?"],
)
def test_no_error_has_the_signature_of_a_place(place: str) -> None:
    """Errors go to the log and to containers; who has a signed place may read it."""

    def refuses(handler: Handler) -> bool:
        handler.send(401)
        return True

    def leads(handler: Handler) -> bool:
        handler.send(307, Location=place.format(other=other) + "X-Amz-Signature=secret")
        return True

    refusing, leading = FakeRegistry(answer=refuses), FakeRegistry(answer=leads)
    with (
        refusing.serving() as other,
        leading.serving() as host,
        pytest.raises(RegistryError, match=r"leads to .*/blob") as caught,
    ):
        client(host).blob("a", digest_of(DATA), 99)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("place", ["http://[", "http://127.0.0.1:x/", "//", "\x00"])
def test_places_that_are_none(place: str) -> None:
    def answer(handler: Handler) -> bool:
        handler.send(202 if handler.command == "POST" else 307, Location=place)
        return True

    with FakeRegistry(answer=answer).serving() as host:
        with pytest.raises(RegistryError):
            client(host).put_blob("a", digest_of(DATA), len(DATA), lambda: io.BytesIO(DATA))
        with pytest.raises(RegistryError):
            client(host).blob("a", digest_of(DATA), len(DATA))


@pytest.mark.parametrize("name", ["WWW_Authenticate", "Link"])
@pytest.mark.parametrize("start", ["Bearer a", "<"])
@pytest.mark.timeout(20)
def test_long_headers_take_no_time(name: str, start: str) -> None:
    """Each of these would take a regular expression minutes."""

    def answer(handler: Handler) -> bool:
        status = 401 if name == "WWW_Authenticate" else 200
        value = start + 60_000 * start[-1]
        handler.send(status, b'{"manifests": []}', Content_Type="json", **{name: value})
        return True

    with FakeRegistry(answer=answer).serving() as host, suppress(RegistryError):
        client(host).referrers("a", digest_of(DATA), "x/y")


@pytest.mark.parametrize("token", ["[]", '{"token": 5}', '{"token": "a\\nb"}', "[" * 5000, "{}"])
def test_a_damaged_token_is_refused(token: str) -> None:
    def answer(handler: Handler) -> bool:
        if handler.path.startswith("/token"):
            handler.send(200, token.encode())
        return handler.path.startswith("/token")

    refused = pytest.raises(RegistryError, match="no token")
    with FakeRegistry(tokens=True, answer=answer).serving() as host, refused:
        client(host).blob("a", digest_of(DATA), 10)


@pytest.mark.parametrize(
    "start",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: ",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;",
    ],
    ids=["body", "head", "chunk"],
)
@pytest.mark.timeout(20)
def test_a_slow_registry_is_given_up(start: bytes) -> None:
    """It sends a byte again and again, so that no single wait is long."""
    given_up = threading.Event()

    def drips(handler: Handler) -> bool:
        handler.wfile.write(start)
        with suppress(OSError):
            while not given_up.wait(0.01):
                handler.wfile.write(b"x")
        return True

    with FakeRegistry(answer=drips).serving() as host:
        with pytest.raises(RegistryError, match=r"too slowly|timed out"):
            client(host, timeout_s=0.1, attempts=1).blob("a", digest_of(DATA), 1000)
        given_up.set()


@pytest.mark.timeout(20)
def test_heads_without_end_are_given_up() -> None:
    def continues(handler: Handler) -> bool:
        with suppress(OSError):
            while True:
                handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)
        return True

    refused = pytest.raises(RegistryError, match="timed out")
    with FakeRegistry(answer=continues).serving() as host, refused:
        client(host, timeout_s=0.1, attempts=1).blob("a", digest_of(DATA), 1000)


def test_the_registry_of_docker() -> None:
    asked = client("docker.io")
    assert asked._path("debian", "manifests", "13") == "/v2/library/debian/manifests/13"
    assert asked._path("a/b", "manifests", "13") == "/v2/a/b/manifests/13"
    assert asked._transport._base == "https://registry-1.docker.io/"
