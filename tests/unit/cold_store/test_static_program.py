"""The cold store as one static program: it runs in a root that has no other program or library."""

import ctypes
import gzip
import json
import os
import re
import resource
import shlex
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zran
from dns_example import names_served
from fake_registry import FakeRegistry
from handmade_zstd import index_of, streamed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from real_engine import address, needs_engine, running_engine
from test_cold_server import CONTENT, SHA256, ask

from trimtab.binaries.elf.reader import read_elf
from trimtab.cold_store import bundled
from trimtab.cold_store.index import ColdIndex
from trimtab.cold_store.node.allowed import IndexName
from trimtab.debloating.shipping.node_program import python_needs, recording
from trimtab.debloating.shipping.node_program.server_sources import copy_server
from trimtab.errors import TrimtabError
from trimtab.native import native_path
from trimtab.sources import imports_of

pytestmark = pytest.mark.xdist_group("static program")
CONTAINERFILE = Path(__file__).resolve().parents[3] / "examples/shipping/Containerfile"
HOST = "registry.test"
NOBODY = "65534:65534"
MOST_BYTES = 16 << 20
USAGE = 2


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("program") / "cold-store"
    trimtab = Path(sys.executable).parent / "trimtab"
    subprocess.run([trimtab, "cold-store", "program", path], check=True)
    return path


def run(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    options = {"env": {"PATH": os.environ["PATH"]}, **options}
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)


@pytest.fixture
def root(program: Path, tmp_path: Path) -> Path:
    """A root with the program alone."""
    folder = tmp_path / "root"
    folder.mkdir()
    os.link(program, folder / "cold-store")
    done = run(*entering(folder), "--help")
    if done.returncode:
        pytest.skip(f"this machine has no namespaces for users: {done.stderr}")
    return folder


def entering(root: Path, *words: str) -> list[str]:
    return [str(native_path("trimtab-in-root")), *words, str(root), "--", "/cold-store"]


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A registry's key, and its certificate."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is missing: apt-get install openssl")
    folder = tmp_path_factory.mktemp("identity")
    key, certificate = folder / "key.pem", folder / "cert.pem"
    command = (
        f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1"
        f" -keyout {key} -out {certificate} -subj /CN=r -addext subjectAltName=DNS:{HOST}"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    return key, certificate


def layer_of(compression: str) -> tuple[bytes, ColdIndex]:
    """A layer that has one file, and its index."""
    if compression == "zstd":
        index, layer = index_of([(streamed(CONTENT), CONTENT)], {(0, len(CONTENT)): CONTENT})
        return layer, index
    layer = gzip.compress(CONTENT) if compression == "gzip" else CONTENT
    spacing = 1 << 20 if compression == "gzip" else 0
    files = {(0, 0, len(CONTENT)): CONTENT}
    return layer, zran.index_of([(layer, CONTENT, spacing)], files)


@contextmanager
def registry_of(identity: tuple[Path, Path], compression: str) -> Iterator[SimpleNamespace]:
    """A registry by TLS that holds a cold index: its address and the index's name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity[1], identity[0])
    registry = FakeRegistry(tls=context)
    layer, index = layer_of(compression)
    registry.add("team/app", layer)
    digest = registry.add("team/app", index.to_bytes())
    with registry.serving() as place:
        host = f"{HOST}:{place.rpartition(':')[2]}"
        yield SimpleNamespace(host=host, index=str(IndexName(host, "team/app", digest)))


@contextmanager
def serving(*command: str, **variables: str) -> Iterator[tuple["subprocess.Popen[str]", list[str]]]:
    """The server, and the lines that it says before it listens."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=variables) as process:
        try:
            assert process.stderr
            said = []
            for line in process.stderr:
                said.append(line)
                if "listening at" in line:
                    break
            assert said and "listening at" in said[-1], said
            yield process, said
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("user", "names", "authorities", "compression"),
    [
        ([], "hosts", "/etc/ssl/certs/ca-certificates.crt", "gzip"),
        (["--user", NOBODY], "dns", "/etc/pki/tls/certs/ca-bundle.crt", "zstd"),
        ([], "hosts", "--ca", "none"),
    ],
)
def test_a_container_gets_its_object_in_an_empty_root(
    user: list[str],
    names: str,
    authorities: str,
    compression: str,
    root: Path,
    tmp_path: Path,
    identity: tuple[Path, Path],
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    words = ["--listen", f"unix:{shared}/socket", "--cache", f"{shared}/cache"]
    (root / "etc").mkdir()
    place = root / authorities.strip("/") if authorities != "--ca" else root / "ca.pem"
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(identity[1], place)
    if authorities == "--ca":
        words += ["--ca", "/ca.pem"]
    with ExitStack() as stack:
        registry = stack.enter_context(registry_of(identity, compression))
        if names == "hosts":
            (root / "etc/hosts").write_text(f"127.0.0.1 {HOST}\n")
        else:
            server = stack.enter_context(names_served({HOST.encode(): "127.0.0.1"}))
            (root / "etc/resolv.conf").write_text(f"nameserver {server}\n")
        words += ["--allow", f"{registry.host}/team", "--misses", f"{shared}/misses"]
        command = [*entering(root, *user, "--bind", str(shared)), "serve", *words]
        process, said = stack.enter_context(serving(*command))
        assert len(said) == 1
        named = {"Trimtab-Index": registry.index, "Trimtab-Piece": "%7B%22file%22%3A%22a%22%7D"}
        answer = ask(f"unix:{shared}/socket", f"/{SHA256[:2]}/{SHA256[:32]}-000000", **named)
        assert answer.startswith(b"HTTP/1.0 200 OK\r\n"), answer
        assert answer.endswith(CONTENT)
        assert json.loads((shared / "misses").read_text())["piece"] == {"file": "a"}
        assert Path(f"/proc/{process.pid}/comm").read_text() == "cold-store\n"
        assert all_from_memory(process.pid)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert {path.name for path in shared.iterdir()} == {"cache", "misses"}


@needs_engine
def test_it_runs_in_an_image_that_has_nothing_else(program: Path, tmp_path: Path) -> None:
    """By the engine's default filter of system calls, and with as little as the recipes give."""
    folder = tmp_path / "image"
    folder.mkdir()
    shutil.copy(program, folder)
    shutil.copy(CONTAINERFILE, folder)
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    registry = FakeRegistry()
    layer, index = layer_of("gzip")
    registry.add("team/app", layer)
    digest = registry.add("team/app", index.to_bytes())
    less = "--detach --network host --read-only --cap-drop ALL --security-opt no-new-privileges"
    less += f" --user 10001 --volume {shared}:/run/trimtab --tmpfs /cache:uid=10001"
    with running_engine() as engine, registry.serving() as host:
        docker = ["docker", "--host", address(engine)]
        build = run(*docker, "build", "--file", folder / "Containerfile", "--tag", "it", folder,
                    env={"DOCKER_BUILDKIT": "0", "PATH": os.environ["PATH"]})  # fmt: skip
        assert build.returncode == 0, build.stderr
        assert "--allow" in run(*docker, "run", "--rm", "it").stdout
        words = ["serve", "--allow", f"{host}/team", "--cache", "/cache/kept"]
        name = run(*docker, "run", *less.split(), "it", *words).stdout.strip()
        logs = [*docker, "logs", "--follow", name]
        with subprocess.Popen(logs, stderr=subprocess.PIPE, text=True) as log:
            assert log.stderr and any("listening at" in line for line in log.stderr)
            named = {"Trimtab-Index": str(IndexName(host, "team/app", digest))}
            path = f"/{SHA256[:2]}/{SHA256[:32]}-000000"
            assert ask(f"unix:{shared}/cold-store.sock", path, **named).endswith(CONTENT)
            run(*docker, "stop", name)
        assert run(*docker, "wait", name).stdout == "0\n"


def all_from_memory(process: int) -> bool:
    """Whether no code of the process is in a file of a disk, and none can be written."""
    maps = Path(f"/proc/{process}/maps").read_text().splitlines()
    files = {line.split(maxsplit=5)[5] for line in maps if len(line.split()) > 5}
    files = {each for each in files if each[0] == "/"}
    assert not [line for line in maps if "wx" in line.split()[1]]
    return bool(files) and all(each.startswith("/memfd:") for each in files)


def test_it_is_one_static_program(program: Path) -> None:
    assert read_elf(program).is_static_executable
    if readelf := shutil.which("readelf"):
        assert not re.search("INTERP|DYNAMIC", run(readelf, "-lW", program).stdout)
    assert program.stat().st_size < MOST_BYTES
    assert program.stat().st_mode & 0o777 == 0o755


def test_it_listens_to_nothing_of_another_python(program: Path, tmp_path: Path) -> None:
    """Nor of another linker: their variables, and modules of the working directory."""
    for name in ("trimtab", "argparse", "ssl"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(99)")
    given = {"LD_PRELOAD": "/nowhere.so", "LD_LIBRARY_PATH": str(tmp_path), "LD_DEBUG": "all",
             "PYTHONHOME": "/nowhere", "PYTHONPATH": str(tmp_path), "PYTHONINSPECT": "1",
             "GLIBC_TUNABLES": "glibc.malloc.check=3", bundled.MODULES: "_ssl=0:"}  # fmt: skip
    done = run(program, "serve", "--help", cwd=tmp_path, env=given)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--allow" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"trimtab.py", "argparse.py", "ssl.py"}


def test_a_helper_in_python_is_asked(program: Path, tmp_path: Path) -> None:
    """It runs by the node's Python, which the program's variables would keep from starting."""
    layer, index = layer_of("none")
    registry = FakeRegistry(login="me:secret")
    registry.add("team/app", layer)
    digest = registry.add("team/app", index.to_bytes())
    helper = tmp_path / "docker-credential-test"
    said = json.dumps({"Username": "me", "Secret": "secret"})
    python = [sys.executable, "-c", f"print({said!r})"]
    helper.write_text(f"#!/bin/sh\nexec {shlex.join(python)}\n")
    helper.chmod(0o755)
    (tmp_path / "config.json").write_text('{"credsStore": "test"}')
    address = f"unix:{tmp_path}/socket"
    words = ["--listen", address, "--cache", tmp_path / "cache", "--auth", tmp_path / "config.json"]
    with registry.serving() as host:
        command = [program, "serve", *words, "--allow", f"{host}/team"]
        with serving(*map(str, command), PATH=f"{tmp_path}:{os.environ['PATH']}"):
            named = {"Trimtab-Index": str(IndexName(host, "team/app", digest))}
            answer = ask(address, f"/{SHA256[:2]}/{SHA256[:32]}-000000", **named)
    assert answer.startswith(b"HTTP/1.0 200 OK\r\n"), answer


def test_it_says_that_no_authority_is_there(root: Path) -> None:
    command = entering(root)
    wrong = ["serve", "--allow", "a b", "--cache", "/cache"]
    done = run(*command, *wrong)
    assert done.returncode == USAGE and done.stderr.count("\n") == 2
    assert "no certificate authorities on this machine; name them with --ca" in done.stderr
    for option in (["--ca", "/x"], ["--ca=/x"]):
        assert "no certificate authorities" not in run(*command, *wrong, *option).stderr


def test_it_says_that_proc_is_missing(root: Path) -> None:
    if os.geteuid():
        pytest.skip("only root may change the root")
    done = run("/cold-store", preexec_fn=lambda: os.chroot(root))
    assert done.returncode == USAGE
    assert done.stderr == "error: cannot read /proc/self/exe (error 2); mount /proc\n"


@pytest.mark.parametrize(
    ("kind", "most", "said"),
    [
        (resource.RLIMIT_NOFILE, 20, "raise the limit (ulimit -n)"),
        (resource.RLIMIT_FSIZE, 1 << 20, "raise the limit (ulimit -f)"),
        (resource.RLIMIT_AS, 8 << 20, "no memory"),
    ],
)
def test_a_limit_is_named(kind: int, most: int, said: str, program: Path) -> None:
    done = run(program, "--help", preexec_fn=lambda: resource.setrlimit(kind, (most, most)))
    assert done.returncode == USAGE
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_closed_streams_are_not_its_parts(program: Path) -> None:
    done = run("/bin/sh", "-c", 'exec "$0" --help <&- >&- 2>&-', program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.fixture(scope="module")
def other(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("other") / "cold-store"
    shutil.copy(program, path)
    return path


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255), cut=st.booleans())
def test_a_damaged_one_is_refused(
    program: Path, other: Path, where: float, flip: int, cut: bool
) -> None:
    start = native_path("trimtab-static-program").stat().st_size
    whole = program.stat().st_size
    at = start + int(where * (whole - start))
    with other.open("r+b") as file:
        file.seek(at)
        before = file.read()
        if cut:
            file.truncate(at)
        else:
            file.seek(at)
            file.write(bytes([before[0] ^ flip]))
    try:
        done = run(other, "--help")
    finally:
        with other.open("r+b") as file:
            file.seek(at)
            file.write(before)
    assert done.returncode == USAGE
    assert done.stderr == "error: this program's file is damaged; copy it again\n"


def test_what_python_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_server(tmp_path)
    with pytest.raises(TrimtabError, match=r"no_such is missing .*use another Python"):
        python_needs.needs_of(tmp_path, ["trimtab.cold_store.index", "no_such"])
    monkeypatch.setattr(python_needs, "_LIBRARIES", ["libnone.so.1"])
    with pytest.raises(TrimtabError, match=r"libnone\.so\.1 is missing"):
        python_needs.needs_of(tmp_path, ["trimtab.cold_store.index"])
    monkeypatch.setattr(python_needs, "_LOADER", "ld-musl-x86_64.so.1")
    with pytest.raises(TrimtabError, match=r"its dynamic linker is /.*ld-linux"):
        python_needs.needs_of(tmp_path, ["trimtab.cold_store.index"])


def test_what_is_left_out_is_not_used() -> None:
    own = Path(bundled.__file__).parent.rglob("*.py")
    assert not set(recording._LEFT_OUT) & {
        name for path in own for name in imports_of(path.read_bytes())
    }


def test_memory_is_never_writable_and_executable(program: Path) -> None:
    """As systemd's MemoryDenyWriteExecute has it."""
    refuse_gain = (65, 1, 0, 0, 0)  # PR_SET_MDWE, since Linux 6.3
    words = ["serve", "--allow", "a b", "--ca", "/nowhere"]

    def limit() -> None:
        if ctypes.CDLL(None).prctl(*refuse_gain):
            os._exit(77)

    done = run(program, *words, preexec_fn=limit)
    if done.returncode == 77:
        pytest.skip("this kernel has no PR_SET_MDWE")
    assert done.returncode == USAGE and "expected HOST" in done.stderr


@pytest.mark.parametrize("name", ["", "/dev/null/x"])
def test_a_place_that_can_have_no_file_is_named(name: str, tmp_path: Path) -> None:
    trimtab = Path(sys.executable).parent / "trimtab"
    done = run(trimtab, "cold-store", "program", tmp_path / name)
    assert done.returncode == USAGE
    assert f"{tmp_path / name}: " in done.stderr and "name a" in done.stderr
