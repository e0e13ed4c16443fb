"""Pull an image and run its program until it is ready, by containerd: whole, or lazily by eStargz.

The snapshotter is made of Debian's packages (_PACKAGES) by `snapshotter/main.go`. A relay between
them and the registry counts bytes; each connection is as fast as the line asked for. Each start has
daemons with folders of their own, so nothing is there before. Needs root and FUSE.
"""

import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from cases import Case
from commands import CommandError, run

_PACKAGES = (
    "stargz-snapshotter",
    "golang-github-containerd-stargz-snapshotter-dev",
    "golang-go",
)
_SOURCES = "/usr/share/gocode/src/github.com/containerd/stargz-snapshotter"
_SO_MAX_PACING_RATE = 47  # asm-generic/socket.h; Python has no name for it
_PIECE_BYTES = 1 << 18
_WAIT_S = 120.0
_POLL_S = 0.005
_NAMESPACE = f"trimtab-{os.getpid()}"  # runc has the containers of all containerds
_numbers = itertools.count()


class Relay:
    """Passes connections on to the registry at `host`; `received_bytes` came back from it."""

    def __init__(self, host: str, gbit_per_s: float) -> None:
        name, _, port = host.partition(":")
        self._registry = (name, int(port))
        self._rate = int(gbit_per_s * 1e9 / 8)
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.host = f"127.0.0.1:{self.listening.getsockname()[1]}"
        self.received_bytes = 0
        self._counting = Lock()
        Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listening.accept()
                client.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, self._rate)
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                registry = socket.create_connection(self._registry)
                Thread(target=self._pass_on, args=(client, registry), daemon=True).start()
                Thread(target=self._pass_on, args=(registry, client), daemon=True).start()

    def _pass_on(self, source: socket.socket, destination: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_PIECE_BYTES):
                if source.getpeername() == self._registry:
                    with self._counting:
                        self.received_bytes += len(data)
                destination.sendall(data)
        for side in (source, destination):
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)


@contextmanager
def relayed(host: str, gbit_per_s: float) -> Iterator[Relay]:
    """Yield a relay to the registry at `host`."""
    relay = Relay(host, gbit_per_s)
    try:
        yield relay
    finally:
        relay.listening.shutdown(socket.SHUT_RDWR)  # so that nothing waits for a connection
        relay.listening.close()


def built_snapshotter(folder: Path) -> Path:
    """Build the snapshotter in `folder`, and return its program. Exits without what it needs."""
    if not Path(_SOURCES).is_dir() or not shutil.which("go") or not shutil.which("ctr-remote"):
        raise SystemExit(f"{', '.join(_PACKAGES)}: missing; run make deps-stargz")
    program = folder / "containerd-stargz-grpc"
    own = folder / "go/src/github.com/containerd/stargz-snapshotter"
    shutil.copytree(_SOURCES, own, dirs_exist_ok=True)
    # It takes tokens from Kubernetes by an interface that Debian no longer packs.
    (own / "service/resolver/cri.go").unlink(missing_ok=True)
    words = ["go", "build", "-o", str(program)]
    environment = {
        **os.environ,
        "GO111MODULE": "off",
        "GOPATH": f"{folder}/go:/usr/share/gocode",
        "GOCACHE": f"{folder}/go/cache",
    }
    source = Path(__file__).with_name("snapshotter") / "main.go"
    run([*words, str(source)], env=environment, timeout=900)
    shutil.rmtree(folder / "go")
    return program


def to_estargz(host: str, name: str, target: str, folder: Path) -> None:
    """Put the image `name` of the registry into it as `target`, with eStargz's layers."""
    with _containerd(folder, None) as ctr:
        run([*ctr, "images", "pull", "--plain-http", f"{host}/{name}"], timeout=600)
        convert = [*ctr, "images", "convert", "--estargz", "--oci"]
        run([*convert, f"{host}/{name}", f"{host}/{target}"], timeout=900)
        run([*ctr, "images", "push", "--plain-http", f"{host}/{target}"], timeout=600)


def start(
    relay: Relay,
    case: Case,
    name: str,
    entrypoint: list[str],
    snapshotter: Path | None,
    folder: Path,
    expected: str,
) -> dict[str, float]:
    """Pull an image, lazily if by a `snapshotter`, and run `case` until it is ready; then end it.

    Returns the seconds and bytes of the registry until ready, and the seconds of the pull. Raises
    CommandError if the output does not begin as `expected` does.
    """
    with _containerd(folder, snapshotter) as ctr:
        began_s, before_bytes = time.monotonic(), relay.received_bytes
        how = "overlayfs" if snapshotter is None else "stargz"
        pull = "pull" if snapshotter is None else "rpull"
        words = ["images", pull, "--plain-http", "--snapshotter", how]
        run([*ctr, *words, f"{relay.host}/{name}"], timeout=600)
        pulled_s = time.monotonic()
        words = ["run", "--rm", "--net-host", "--snapshotter", how]
        words += [f"{relay.host}/{name}", "case", *entrypoint, *case.command]
        with (
            open(folder / "errors", "w") as errors,
            # ctr-remote has no --user.
            subprocess.Popen(
                ["ctr", *ctr[1:], *words], stdout=subprocess.PIPE, stderr=errors
            ) as program,
        ):
            try:
                _wait(program, case, folder / "errors", expected)
                ready_s, ready_bytes = time.monotonic(), relay.received_bytes
            finally:
                kill = [*ctr, "tasks", "kill", "--signal", "SIGKILL", "case"]
                subprocess.run(kill, capture_output=True)
                assert program.stdout is not None
                program.stdout.read()
                program.wait(_WAIT_S)
    return {
        "pull_s": pulled_s - began_s,
        "ready_s": ready_s - began_s,
        "ready_bytes": ready_bytes - before_bytes,
    }


def _wait(program: "subprocess.Popen[bytes]", case: Case, errors: Path, expected: str) -> None:
    """Return when the program has put out its first line, or its server has answered."""
    assert program.stdout is not None
    if case.port is None:
        while line := program.stdout.readline():
            if line.strip() and expected.lstrip().startswith(line.decode()):
                return
            raise CommandError(1, f"{line!r} where {expected[:200]!r} is expected")
        raise CommandError(1, f"it ended before a line: {errors.read_text()[-2000:]}")
    end_s = time.monotonic() + _WAIT_S
    while time.monotonic() < end_s and program.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", case.port)) == 0:
                if (answer := run(case.drive(), timeout=_WAIT_S)) != expected:
                    raise CommandError(1, f"{answer!r} where {expected!r} is expected")
                return
        time.sleep(_POLL_S)
    raise CommandError(1, f"nothing answers on port {case.port}: {errors.read_text()[-2000:]}")


@contextmanager
def _containerd(folder: Path, snapshotter: Path | None) -> Iterator[list[str]]:
    """Yield the words of a client of a new containerd; its files are in `folder` meanwhile."""
    place = folder / f"containerd-{next(_numbers)}"
    place.mkdir()
    configuration: list[str] = [
        "version = 2",
        f"root = {json.dumps(str(place / 'root'))}",
        f"state = {json.dumps(str(place / 'state'))}",
        'disabled_plugins = ["io.containerd.grpc.v1.cri"]',
        f"[grpc]\naddress = {json.dumps(str(place / 'sock'))}",
        f"[ttrpc]\naddress = {json.dumps(str(place / 'ttrpc'))}",
    ]
    if snapshotter is not None:
        address = json.dumps(str(place / "stargz.sock"))
        configuration.append(f'[proxy_plugins.stargz]\ntype = "snapshot"\naddress = {address}')
    (place / "config.toml").write_text("\n".join(configuration) + "\n")
    with ExitStack() as ended:
        ended.callback(shutil.rmtree, place, ignore_errors=True)
        ended.callback(_unmount, place)
        if snapshotter is not None:
            socket_path = place / "stargz.sock"
            words = (snapshotter, place / "stargz", socket_path)
            ended.enter_context(_daemon(words, socket_path))
        daemon = ("containerd", "--config", place / "config.toml")
        ended.enter_context(_daemon(daemon, place / "sock"))
        yield ["ctr-remote", "--address", str(place / "sock"), "--namespace", _NAMESPACE]


@contextmanager
def _daemon(words: Sequence[str | Path], listens_at: Path) -> Iterator[None]:
    log = listens_at.with_suffix(".log")
    with log.open("w") as file:
        daemon: Any = subprocess.Popen(words, stdout=file, stderr=file)
    try:
        end_s = time.monotonic() + _WAIT_S
        with socket.socket(socket.AF_UNIX) as probe:
            while probe.connect_ex(str(listens_at)):
                if daemon.poll() is not None or time.monotonic() > end_s:
                    raise CommandError(1, f"{words[0]} does not answer: {log.read_text()[-2000:]}")
                time.sleep(_POLL_S)
        yield
    finally:
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(20)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


def _unmount(place: Path) -> None:
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for mount in reversed(mounts):
        if Path(mount).is_relative_to(place):
            subprocess.run(["umount", "--lazy", mount], capture_output=True)
