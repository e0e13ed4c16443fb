"""The server as a process: its sockets, its patience, its end, and the one file that has it all."""

import json
import signal
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
import zran
from fake_registry import FakeRegistry
from hypothesis import given
from hypothesis import strategies as st

from trimtab.cli.image.cold_store import write_file
from trimtab.cold_store import __main__ as program
from trimtab.cold_store.node import server as servers
from trimtab.cold_store.node.allowed import IndexName
from trimtab.cold_store.node.server import AddressError, Server
from trimtab.cold_store.node.store import Request, Response

CONTENT = b"a removed file" * 3000
INDEX = zran.index_of([(CONTENT, CONTENT, 0)], {(0, 0, len(CONTENT)): CONTENT})
SHA256 = next(iter(INDEX.files))
PARTS = [b"GET /x HTTP/1.0", b"\r\n", b"\r\n\r\n", b": ", b"Trimtab-Index"]


def connected(address: str) -> socket.socket:
    if address.startswith("unix:"):
        client = socket.socket(socket.AF_UNIX)
        client.connect(address.removeprefix("unix:"))
        return client
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)))


def received(client: socket.socket) -> bytes:
    data = b""
    while part := client.recv(1 << 16):
        data += part
    return data


def ask(address: str, path: str, **headers: str) -> bytes:
    lines = [f"GET {path} HTTP/1.0", *(f"{name}: {each}" for name, each in headers.items())]
    with connected(address) as client:
        client.sendall("\r\n".join((*lines, "", "")).encode())
        return received(client)


@contextmanager
def serving(answer: Callable[[Request], Response], address: str) -> Iterator[Server]:
    server = Server(address, answer)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()


def path_as_answer(request: Request) -> Response:
    return Response(200, request.path.encode(), request.headers.get("x", "").encode())


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"unix:{tmp_path}/run/cold.sock"


@contextmanager
def started(
    *words: str, command: tuple[str, ...] = ()
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The program and where it listens."""
    given = command or (sys.executable, "-m", "trimtab.cold_store")
    process = subprocess.Popen([*given, "serve", *words], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr
        said = process.stderr.readline()
        assert "listening at" in said, said + process.stderr.read()
        yield process, said.split()[-1]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("command", "at"), [("module", "socket"), ("file", "port"), ("verb", "socket")]
)
def test_a_container_gets_its_object(tmp_path: Path, address: str, command: str, at: str) -> None:
    registry = FakeRegistry(login="me:secret", tokens=True)
    registry.add("team/app", CONTENT)
    digest = registry.add("team/app", INDEX.to_bytes())
    words: tuple[str, ...] = ()
    if command == "file":
        write_file(tmp_path / "cold.pyz")
        names = zipfile.ZipFile(tmp_path / "cold.pyz").namelist()
        assert {each.split("/")[0] for each in names} == {"__main__.py", "trimtab", "urllib3"}
        words = (sys.executable, "-I", "-S", str(tmp_path / "cold.pyz"))
    elif command == "verb":
        words = (str(Path(sys.executable).parent / "trimtab"), "cold-store")
    with ExitStack() as stack:
        host = stack.enter_context(registry.serving())
        auths = {"auths": {host: {"username": "me", "password": "secret"}}}
        (tmp_path / "config.json").write_text(json.dumps(auths))
        process, found = stack.enter_context(
            started(
                *("--listen", address if at == "socket" else "127.0.0.1:0"),
                *("--allow", f"{host}/team", "--cache", str(tmp_path / "cache")),
                *("--auth", str(tmp_path / "config.json"), "--misses", str(tmp_path / "misses")),
                command=words,
            )
        )
        index = str(IndexName(host, "team/app", digest))
        piece = "%7B%22file%22%3A%22a%22%7D"
        named = {"Trimtab-Index": index, "Trimtab-Piece": piece}
        answer = ask(found, f"/{SHA256[:2]}/{SHA256[:32]}-000000", **named)
        head, _, data = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.0 200 OK\r\n")
        assert f"Content-Length: {len(data)}".encode() in head
        assert data.endswith(CONTENT) and len(data) == len(CONTENT) + 268
        assert b"well" in ask(found, "/healthz")
        assert json.loads((tmp_path / "misses").read_text())["piece"] == {"file": "a"}
        if at == "socket":
            assert Path(address.removeprefix("unix:")).stat().st_mode & 0o777 == 0o666
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert not Path(address.removeprefix("unix:")).exists()


def test_another_address_tells_about_the_server_alone(tmp_path: Path, address: str) -> None:
    words = ("--listen", address, "--allow", "r.org/x", "--cache", str(tmp_path / "cache"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with started(*words, "--metrics", f"127.0.0.1:{port}"):
        assert b"cache_bytes 0" in ask(f"127.0.0.1:{port}", "/metrics")
        assert b"200 OK" in ask(f"127.0.0.1:{port}", "/healthz")
        assert b"404" in ask(f"127.0.0.1:{port}", f"/{SHA256[:2]}/{SHA256[:32]}-000000")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--allow", "a b"], "expected HOST"),
        (["--allow", "r.org/x", "--listen", "nowhere"], "expected unix:PATH"),
        (["--allow", "r.org/x", "--auth", "/dev/null"], "config.json"),
        (["--allow", "r.org/x", "--auth", "/nowhere"], "no such file"),
        (["--allow", "r.org/x", "--ca", "/nowhere"], "/nowhere"),
        (["--allow", "r.org/x", "--cache", "/dev/null/x"], "another folder"),
        (["--allow", "r.org/x", "--misses", "/nowhere/x"], "/nowhere/x"),
    ],
)
def test_what_cannot_be_used_is_named(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = [] if "--cache" in words else ["--cache", str(tmp_path)]
    assert program.main(["serve", "--listen", f"unix:{tmp_path}/s", *cache, *words]) == 2
    written = capsys.readouterr().err
    assert said in written and written.startswith("error: ") and written.count("\n") == 1


def test_a_dead_socket_is_replaced_and_a_live_one_is_not(address: str, tmp_path: Path) -> None:
    path = Path(address.removeprefix("unix:"))
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with serving(path_as_answer, address):
        assert ask(address, "/x").endswith(b"/x")
        with pytest.raises(AddressError, match="another server listens"):
            Server(address, path_as_answer)
        assert ask(address, "/x").endswith(b"/x")
    assert not path.exists()
    path.write_text("kept")
    with pytest.raises(AddressError, match="remove it"):
        Server(address, path_as_answer)
    assert path.read_text() == "kept"


def test_a_container_that_says_nothing_holds_nobody_up(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "_MOST_CONNECTIONS", 4)
    monkeypatch.setattr(servers, "_HEAD_S", 1000)
    with serving(path_as_answer, address), ExitStack() as stack:
        silent = [stack.enter_context(connected(address)) for _ in range(12)]
        for each in silent[::2]:
            with suppress(OSError):  # it may have been ended
                each.sendall(b"GET / HTT")
        assert ask(address, "/x").endswith(b"/x")
        for each in silent:
            each.close()


def test_a_container_that_does_not_read_holds_nobody_up(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "_MOST_CONNECTIONS", 2)
    monkeypatch.setattr(servers, "_SEND_S", 1000)
    large = bytes(8 << 20)
    with (
        serving(lambda request: Response(200, large), address),
        ExitStack() as stack,
    ):
        for _ in range(4):
            client = stack.enter_context(connected(address))
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert ask(address, "/x").endswith(large)


def test_a_slow_request_ends(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_HEAD_S", 0.05)
    with serving(path_as_answer, address), connected(address) as client:
        client.sendall(b"GET / HTTP/1.0\r\n")
        assert received(client) in (b"", *[b"HTTP/1.0 400 Bad Request"])


@pytest.mark.parametrize(
    "sent",
    [
        b"\r\n\r\n",
        b"POST / HTTP/1.0\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / FTP/1.0\r\n\r\n",
        b"GET  / HTTP/1.0\r\n\r\n",
        b"\x00\xff\xfe\r\n\r\n",
        b"GET / HTTP/1.0\r\nx: " + b"y" * 100_000,
        b"x" * 100_000,
    ],
)
def test_no_request_at_all(address: str, sent: bytes) -> None:
    with serving(path_as_answer, address):
        with connected(address) as client:
            try:
                client.sendall(sent)
                answer = received(client)
            except (BrokenPipeError, ConnectionResetError):
                answer = b""
        assert answer == b"" or answer.startswith(b"HTTP/1.0 400")
        assert ask(address, "/x", X="y").endswith(b"/xy")


@given(st.lists(st.binary(max_size=60) | st.sampled_from(PARTS), max_size=12))
def test_any_bytes_are_a_request_or_none(parts: list[bytes]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"".join(parts))
        theirs.shutdown(socket.SHUT_WR)
        request = servers._request(ours)
    assert request is None or b"GET " + request.path.encode("latin-1") in b"".join(parts)


def test_an_error_of_ours_ends_one_connection(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(request: Request) -> Response:
        if request.path == "/bad":
            raise RuntimeError("ours")
        return path_as_answer(request)

    with serving(fails, address):
        assert ask(address, "/bad") == b""
        assert ask(address, "/x").endswith(b"/x")
    assert "RuntimeError: ours" in capsys.readouterr().err


def test_the_end_waits_for_those_who_asked(address: str) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    def waits(request: Request) -> Response:
        asked.set()
        may_answer.wait()
        return path_as_answer(request)

    server = Server(address, waits)
    thread = threading.Thread(target=server.serve)
    thread.start()
    with connected(address) as client:
        client.sendall(b"GET /x HTTP/1.0\r\n\r\n")
        asked.wait()
        server.stop()
        may_answer.set()
        assert received(client).endswith(b"/x")
    thread.join()


def test_a_node_without_more_threads_goes_on(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with serving(path_as_answer, address):
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", none)
            with connected(address) as client, suppress(ConnectionResetError, BrokenPipeError):
                client.sendall(b"GET / HTTP/1.0\r\n\r\n")
                assert received(client) == b""
        assert ask(address, "/path").endswith(b"/path")
