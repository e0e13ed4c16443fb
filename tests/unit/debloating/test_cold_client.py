"""What runs in a slim image asks the node's cold store for pieces: over a socket, or by http://."""

import os
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
import slim_example
from dns_example import names_served
from machine_root import root_of_programs
from returning import TEXT, make_original, make_slim, run

from trimtab.config.groups.debloat import Debloat, Fallback
from trimtab.debloating.fallback import FETCHER, FILE_FALLBACK_LIBRARY, Source
from trimtab.debloating.files.file_fallback import add_file_fallback
from trimtab.debloating.files.folder_tree import root_tree
from trimtab.native import native_path
from trimtab.records.misses.record_lines import CallLine, FileLine, Line, lines_of_record

INDEX = "registry.example:5000/team/app@sha256:" + 64 * "a"
SOCKET = "run/trimtab/cold-store.sock"
ENDED = 70
_NOBODY = 65534
_HEAD_BYTES = 8 + 65 * 4  # of an object
Answer = Callable[[bytes], bytes]


class Server:
    """A cold store in front of the folder `store`; `answers` come first, then good ones."""

    def __init__(self, store: Path, *answers: Answer) -> None:
        self.store, self.answers = store, list(answers)
        self.requests: list[tuple[str, dict[str, str]]] = []

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        self.requests.append((request.path, dict(request.headers)))
        answer = self.answers.pop(0) if self.answers else good
        path = self.store / request.path.strip("/")
        request.wfile.write(answer(path.read_bytes()) if path.is_file() else status(404)(b""))

    @property
    def pieces(self) -> list[Line]:
        """The pieces of all requests, as the reader of records takes them."""
        pieces = [unquote_to_bytes(headers["Trimtab-Piece"]) for _, headers in self.requests]
        with tempfile.NamedTemporaryFile() as record:
            record.write(b"".join(piece + b"\n" for piece in pieces))
            record.flush()
            return list(lines_of_record(Path(record.name)))


def good(data: bytes) -> bytes:
    return b"HTTP/1.0 200 OK\r\ncontent-length: %d\r\n\r\n" % len(data) + data


def status(code: int) -> Answer:
    return lambda _: b"HTTP/1.0 %d No\r\nContent-Length: 3\r\n\r\nno\n" % code


def cut(data: bytes) -> bytes:
    return good(data)[:-1]


def garbage(data: bytes) -> bytes:
    return data


def wrong(data: bytes) -> bytes:
    """An object of other bytes: a chunk that is stored as it is, of zeros."""
    sizes = [_HEAD_BYTES] + 64 * [_HEAD_BYTES + len(b"value=1\n")]
    return good(b"TRIMTABO" + b"".join(each.to_bytes(4, "little") for each in sizes) + bytes(8))


def too_long(data: bytes) -> bytes:
    return good(data) + b"more"


@contextmanager
def served(server: Server, socket: Path | None = None) -> Iterator[str]:
    """Serve at `socket`, or at a port of this machine; gives the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.handle(self)

        def log_message(self, *_: object) -> None:
            """Requests are no output of the tests."""

    kind: Any = ThreadingHTTPServer if socket is None else socketserver.ThreadingUnixStreamServer
    with kind(("127.0.0.1", 0) if socket is None else str(socket), Handler) as listener:
        thread = threading.Thread(target=listener.serve_forever, args=(0.01,))
        thread.start()
        try:
            port = listener.server_address[1]
            yield f"http://127.0.0.1:{port}" if socket is None else f"unix:{socket}"
        finally:
            listener.shutdown()
            thread.join()
    if socket is not None:
        socket.unlink()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_original(tmp_path_factory.mktemp("original") / "env")


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a short path, as sockets need it, into which everybody may look."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def slim(original: Path, short: Path) -> Path:
    """A slim environment with an index; it records a store that is nowhere."""
    source = Source(Fallback.STORE, short / "store", str(short / "nowhere"))
    slim = make_slim(original, short / "slim", source=source)
    (slim / "trimtab/registry").write_text(INDEX + "\n")
    return slim


def cat(slim: Path, address: str, status: int = 0, path: str = "old.conf") -> tuple[str, str]:
    done = run(slim, "cat", slim / path, variables={"TRIMTAB_STORE": address}, status=status)
    return done.stdout, done.stderr


@pytest.mark.parametrize("kind", ["unix", "http"])
def test_files_come_back(slim: Path, short: Path, kind: str) -> None:
    server = Server(short / "store")
    with served(server, short / "socket" if kind == "unix" else None) as address:
        assert cat(slim, address, path="data/text.txt") == (TEXT, "")
        assert cat(slim, address + "/") == ("value=1\n", "")
    assert all((short / "store" / path[1:]).is_file() for path, _ in server.requests)
    assert [headers["Trimtab-Index"] for _, headers in server.requests] == 2 * [INDEX]
    lines = [line for line in server.pieces if isinstance(line, FileLine)]
    assert [(line.file, line.kind) for line in lines] == [
        ("data/text.txt", "file"), ("old.conf", "file")]  # fmt: skip


def test_a_large_file_is_one_miss(short: Path) -> None:
    original = short / "original"
    original.mkdir()
    (original / "large").write_bytes(os.urandom((2 << 20) + 5))
    source = Source(Fallback.STORE, short / "store", str(short / "nowhere"))
    slim = make_slim(original, short / "slim", ["/large"], source)
    server = Server(short / "store", good, good, cut, status(502))
    with served(server, short / "socket") as address:
        run(slim, "cmp", slim / "large", original / "large", variables={"TRIMTAB_STORE": address})
    assert len(server.requests) == 5
    assert len({headers["Trimtab-Piece"] for _, headers in server.requests}) == 1


def test_a_name_may_have_any_bytes(short: Path) -> None:
    original = short / "original"
    original.mkdir()
    name = 'a "b"\\ \n é' + os.fsdecode(b"\xff")
    (original / name).write_text("strange\n")
    source = Source(Fallback.STORE, short / "store", str(short / "nowhere"))
    slim = make_slim(original, short / "slim", [f"/{name}"], source)
    server = Server(short / "store")
    with served(server, short / "socket") as address:
        assert cat(slim, address, path=name) == ("strange\n", "")
    [piece] = server.pieces
    recorded = next(lines_of_record(slim / "trimtab/fallback.jsonl"))
    assert replace(piece, time_s=recorded.time_s) == recorded


@pytest.mark.parametrize("kind", ["unix", "http"])
def test_code_comes_back(build: Callable[..., Path], short: Path, record: Path, kind: str) -> None:
    environment = build("compact", Source(Fallback.STORE, short / "store", str(short / "nowhere")))
    (environment / "trimtab/registry").write_text(INDEX + "\n")
    server = Server(short / "store", status(502))
    program = "print(mine.far(7), mine.outer(6))"
    with served(server, short / "socket" if kind == "unix" else None) as address:
        done = slim_example.run(environment, record, program, TRIMTAB_STORE=address)
    assert (done.returncode, done.stdout, done.stderr) == (0, "9 8\n", "")
    assert {headers["Trimtab-Index"] for _, headers in server.requests} == {INDEX}
    recorded = [line for line in lines_of_record(record) if isinstance(line, CallLine)]
    places = {(line.library, line.address) for line in recorded}
    sent = [(line.library, line.address) for line in server.pieces if isinstance(line, CallLine)]
    assert len(sent) == len(server.requests) == 2  # one object, and one failure
    assert set(sent) <= places
    with served(Server(short / "store", status(403)), short / "socket") as address:
        shutil.rmtree(environment / "trimtab/cache")
        done = slim_example.run(environment, record, program, TRIMTAB_STORE=address)
    assert done.returncode == ENDED and len(done.stderr.splitlines()) == 1
    assert "lib/libmine.so needs code that was removed" in done.stderr
    assert f"the cold store at {address} could not give it: it refused" in done.stderr


def test_code_comes_back_where_nothing_may_be_written(prefix: Path, short: Path) -> None:
    if os.geteuid():
        pytest.skip("needs a second user")
    user = 54322
    source = Source(Fallback.STORE, short / "store", str(short / "nowhere"))
    environment = slim_example.make_slim(prefix, short / "slim", "compact", source)
    (short / "slim").chmod(0o755)
    main = "int far(int), outer(int); int main(void) { return 10 * far(7) + outer(6); }"
    libraries = [f"-L{prefix}/lib", "-lmine", f"-Wl,-rpath,{environment}/lib"]
    build = ["gcc", "-x", "c", "-", "-x", "none", "-o", short / "program", *libraries]
    subprocess.run(build, input=main, text=True, check=True)
    server, cache = Server(short / "store"), Path(f"/tmp/trimtab-cache-{user}")
    try:
        with served(server, short / "socket") as address:
            (short / "socket").chmod(0o666)
            for _ in range(2):
                done = subprocess.run(
                    [short / "program"], env={"TRIMTAB_STORE": address}, user=user, group=user,
                    cwd="/", text=True, capture_output=True, timeout=60,
                )  # fmt: skip
                assert (done.returncode, done.stderr) == (98, "")
        assert len(server.requests) == 1 and cache.stat().st_uid == user
    finally:
        shutil.rmtree(cache, ignore_errors=True)


@pytest.mark.parametrize(
    ("answers", "requests", "why"),
    [
        ([status(404)], 1, "could not give it: the image's index does not name it"),
        ([status(403)], 1, "could not give it: it refused"),
        ([status(400)], 1, "could not give it: it refused"),
        ([status(502), cut], 3, None),
        (3 * [status(502)], 3, "could not give it: it sent no whole answer"),
        (3 * [cut], 3, "could not give it: it sent no whole answer"),
        (3 * [garbage], 3, "could not give it: it sent no whole answer"),
        (3 * [too_long], 3, "could not give it: it sent no whole answer"),
        ([wrong, wrong], 2, "could not give it: what it sent is not the original's"),
        ([wrong], 2, None),
    ],
)
def test_answers(
    slim: Path, short: Path, answers: list[Answer], requests: int, why: str | None
) -> None:
    server = Server(short / "store", *answers)
    with served(server, short / "socket") as address:
        out, errors = cat(slim, address, ENDED if why else 0)
        assert len(server.requests) == requests
        assert out == ("" if why else "value=1\n")
        if why:
            assert "old.conf: was removed" in errors and len(errors.splitlines()) == 1
            assert f"the cold store at {address} {why}" in errors
            left = [path for path in (slim / "trimtab").rglob("*") if path.is_file()]
            assert not (slim / "old.conf").exists()
            assert not [path for path in left if "cache" in str(path) or "partial" in path.name]
            assert cat(slim, address) == ("value=1\n", "")  # once the server is well


def test_a_server_that_is_gone(slim: Path, short: Path) -> None:
    with served(Server(short / "store"), short / "socket") as address:
        assert cat(slim, address, path="data/deep/text.txt") == ("deep\n", "")
    (short / "dead").touch()
    for gone in (address, f"unix:{short}/dead", "http://127.0.0.1:1"):
        assert (
            f"the cold store at {gone} cannot be reached; run `trimtab cold-store serve`"
            in cat(slim, gone, ENDED)[1]
        )


def test_without_a_server_both_remedies_are_named(slim: Path, short: Path) -> None:
    if Path("/", SOCKET).exists():
        pytest.skip("this machine serves a cold store")
    errors = run(slim, "cat", slim / "old.conf", status=ENDED).stderr
    assert "old.conf: was removed" in errors and len(errors.splitlines()) == 1
    assert "run `trimtab cold-store serve`" in errors
    assert "docker run --volume /run/trimtab:/run/trimtab" in errors
    assert f"--volume STORE:{short}/nowhere:ro" in errors


def test_two_processes_at_once_fetch_once(slim: Path, short: Path) -> None:
    server = Server(short / "store")
    variables = {"LD_PRELOAD": str(slim / FILE_FALLBACK_LIBRARY)}
    with served(server, short / "socket") as address:
        both = [
            subprocess.Popen(
                ["cat", slim / "data/text.txt"], text=True, stdout=subprocess.PIPE,
                env={**os.environ, **variables, "TRIMTAB_STORE": address},
            )
            for _ in range(2)
        ]  # fmt: skip
        assert [process.communicate(timeout=60)[0] for process in both] == [TEXT, TEXT]
    assert len(server.requests) == 1


def test_a_source_is_readable_while_the_server_is_there(short: Path) -> None:
    """Its byte code stayed, and without the server the program goes on without it."""
    app = short / "original/app"
    app.mkdir(parents=True)
    (app / "broken.py").write_text("def fail():\n    raise ValueError('of the program')\n")
    (app / "more.py").write_text("VALUE = 1\n")
    subprocess.run([sys.executable, "-m", "compileall", "-q", app], check=True)
    source = Source(Fallback.STORE, short / "store", str(short / "nowhere"))
    slim = make_slim(app.parent, short / "slim", ["/app/broken.py", "/app/more.py"], source)
    (slim / "trimtab/registry").write_text(INDEX + "\n")
    fail = "import sys; sys.path.insert(0, 'app'); import broken; broken.fail()"
    command = (sys.executable, "-I", "-c", fail)
    variables = {"TRIMTAB_STORE": f"unix:{short}/socket"}
    errors = run(slim, *command, cwd=slim, variables=variables, status=1).stderr
    assert "in fail\nValueError" in errors and "trimtab:" not in errors
    with pytest.raises(AssertionError, match="No such file"):
        run(slim, "cat", slim / "app/more.py", variables=variables)
    with served(Server(short / "store"), short / "socket"):
        errors = run(slim, *command, cwd=slim, variables=variables, status=1).stderr
        assert "raise ValueError('of the program')\nValueError" in errors
        assert run(slim, "cat", slim / "app/more.py", variables=variables).stdout == "VALUE = 1\n"


def fetch(folder: Path, address: str, *piece: str, root: Path | None = None) -> int:
    fetcher = folder / FETCHER.name
    if not fetcher.exists():
        shutil.copy(native_path(FETCHER.name), fetcher)
    enter = ["/usr/sbin/chroot", str(root)] if root else []
    program = f"/{fetcher.relative_to(root)}" if root else fetcher
    to = folder / "to/object"
    place = f"/{to.relative_to(root)}" if root else to
    shutil.rmtree(to.parent, ignore_errors=True)
    done = subprocess.run([*enter, program, address, place, *piece], timeout=60, stderr=-1)
    assert not done.stderr and to.exists() == (done.returncode == 0)
    return done.returncode


def test_what_the_server_is_told(short: Path) -> None:
    (short / "ab").mkdir()
    (short / "ab/name").write_bytes(b"object")
    server = Server(short)

    def told(*piece: str) -> tuple[str | None, str | None]:
        with served(server, short / "socket") as address:
            assert fetch(short, f"{address}/ab/name", *piece) == 0
        path, headers = server.requests[-1]
        assert path == "/ab/name"
        return headers.get("Trimtab-Index"), headers.get("Trimtab-Piece")

    assert told() == (None, None)
    assert told("a-b_c.d~") == (None, "a-b_c.d~")
    assert told('{"é": 1}\n') == (None, "%7B%22%C3%A9%22%3A%201%7D")
    assert told(333 * '"' + "x")[1] == 333 * "%22" + "x"
    assert told(334 * '"')[1] is None
    for line, sent in {
        INDEX: INDEX,
        f"{INDEX}\n": INDEX,
        f"{INDEX}\r\nHost: x\n": None,
        f"{INDEX}\n\n": None,
        "x" * 1000 + "\n": "x" * 1000,
        "x" * 1001: None,
        "": None,
    }.items():
        (short / "registry").write_text(line)
        assert told()[0] == sent
    assert fetch(short, f"unix:{short}/socket/ab/name") == 3  # nobody serves there
    assert fetch(short, f"unix:{short}/{'x' * 100}/ab/name") == 3
    for address in ("unix:name", "ftp://host/ab/name", "http:///ab", "http://host:x/", ""):
        assert fetch(short, address) == 2


def test_hosts_are_found_by_name(short: Path) -> None:
    """By the files and the name server of the root, which may have no C library."""
    if os.geteuid():
        pytest.skip("only root may change the root, and serve names")
    (short / "ab").mkdir()
    (short / "ab/name").write_bytes(b"object")
    (short / "etc").mkdir()
    names = {b"store.cluster.test": "127.0.0.1", b"plain.test": "127.0.0.1"}
    with served(Server(short)) as address, names_served(names) as server:
        port = address.rpartition(":")[2]

        def found(name: str) -> bool:
            status = fetch(short, f"http://{name}:{port}/ab/name", root=short)
            assert status in (0, 3)
            return status == 0

        assert found("localhost") and not found("other")
        (short / "etc/hosts").write_text("# x\n::1 other\n127.0.0.1\tthis Other # store\n")
        assert found("other") and not found("store") and not found("plain.test")
        (short / "etc/resolv.conf").write_text(
            f"nameserver {server}\noptions ndots:5\nsearch none.test cluster.test\n"
        )
        assert found("store") and found("plain.test") and not found("nothing.test")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change the root")
@pytest.mark.parametrize("how", ["library", "init", "another user"])
def test_an_image_asks_the_node_by_itself(short: Path, how: str) -> None:
    """Unless its own store is there; as another user, to whom nothing belongs, from /tmp."""
    root, slim = short / "root", short / "slim"
    root_of_programs(root, ("sh", "cat"))
    (root / "tmp").chmod(0o1777)
    for name in ("a", "b", "c"):
        (root / name).write_text(f"{name}\n")
    subprocess.run(["cp", "-a", root, slim], check=True)
    for name in ("a", "b", "c"):
        (slim / name).unlink()
    source = Source(Fallback.STORE, short / "store", "/trimtab/store")
    add_file_fallback(slim, root, root_tree(root), ["/a", "/b", "/c"], source)
    (slim / "trimtab/registry").write_text(INDEX + "\n")
    (slim / SOCKET).parent.mkdir(parents=True)
    if how == "init":
        shutil.copy(native_path("trimtab-init"), slim / "trimtab/init")
    else:
        (slim / "etc/ld.so.preload").write_text(f"/{FILE_FALLBACK_LIBRARY}\n")
    user = ["--userspec=65534:65534"] if how == "another user" else []
    init = ["/trimtab/init"] if how == "init" else []
    with_proc = ["unshare", "--mount", "sh", "-c", 'mount -t proc none "$1/proc" && exec "$0" "$@"']
    if how == "init" and subprocess.run([*with_proc, "true", slim], stderr=-1).returncode:
        pytest.skip("no mounts are allowed")

    def read(name: str) -> tuple[int, str, str]:
        enter = with_proc if how == "init" else []
        command = [*enter, "/usr/sbin/chroot", *user, slim, *init, "/bin/cat", f"/{name}"]
        done = subprocess.run(command, env={}, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    code, _, errors = read("a")
    assert code == ENDED and "--volume STORE:/trimtab/store:ro" in errors
    assert "docker run --volume /run/trimtab:/run/trimtab" in errors
    server = Server(short / "store")
    with served(server, slim / SOCKET):
        (slim / SOCKET).chmod(0o666)
        assert read("a") == (0, "a\n", "")
        assert [headers["Trimtab-Index"] for _, headers in server.requests] == [INDEX]
        shutil.copytree(short / "store", slim / "trimtab/store")
        assert read("b") == (0, "b\n", "")
        assert len(server.requests) == 1
        shutil.rmtree(slim / "trimtab/store")
        server.answers = [status(404)]
        code, _, errors = read("c")
        assert code == ENDED
        assert "the cold store at unix:/run/trimtab/cold-store.sock could not give it" in errors
    if how == "another user":
        assert (slim / f"tmp/trimtab-cache-{_NOBODY}").stat().st_uid == _NOBODY
        assert not (slim / "a").exists() and not (slim / "trimtab/cache").exists()


@pytest.mark.parametrize("address", ["/a", "unix:/run/a.sock", "http://a", "http://a:1/b"])
def test_an_address_of_a_store(address: str) -> None:
    assert store_at(address).store_address == address


@pytest.mark.parametrize("address", ["a", "unix:a", "unix:", "http://", "http://a:b", "https://a"])
def test_no_address_of_a_store(address: str) -> None:
    with pytest.raises(ValueError, match="expected an absolute path, http://"):
        store_at(address)


def store_at(address: str) -> Debloat:
    return Debloat(name="d", fallback=Fallback.STORE, store="s", store_address=address)
