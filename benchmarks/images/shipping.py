"""Slim images of a registry on another machine, which has nothing but that registry.

    python benchmarks/images/shipping.py [--case NAME]... [--folder FOLDER]

Needs root, debootstrap, Docker's engine and Debian's docker-registry (`make deps-docker
deps-registry`), and the packages that `lazy.py` names. Two engines with data roots of their own
stand for two machines. One pushes the original and the slim image; the other pulls the slim one,
and `trimtab cold-store serve` is beside it. There, traced and other inputs have to have the
original's output. What the push adds to the registry is what its folder grows by.

containerd pulls and starts three images in turns, from the registry at 1 Gbit/s: the original
whole, the original lazily (eStargz), and the slim one whole. `trimtab image start` finds what the
original has to read until it is ready.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import lazy
from building import Builder
from cases import NEW, SMALLEST, Case
from commands import docker, run
from recording import recorded
from running import Runs
from slimming import TRIMTAB

PROJECT = Path(__file__).parents[2]
_TEN = ("python", "nginx", "redis", "caddy", "memcached", "postgres", "node", "r", "jvm", "torch")
CASES = {name: SMALLEST[name] for name in _TEN} | NEW
RESULTS = "shipping"
_INSIDE = "/run/trimtab"
_START_ROUNDS = 3
_GBIT_PER_S = 1.0


def measured(
    case: Case,
    image: str,
    engines: tuple[str, str],
    registry: Path,
    host: str,
    folder: Path,
    snapshotter: Path,
) -> dict[str, Any]:
    """Slim, push and pull `image`, which the first engine has, and run it on the second."""
    first, second = engines
    expected = {held_out: Runs(first, case).output(image, held_out) for held_out in (False, True)}
    name = f"{host}/{case.software}"
    docker(first, "tag", image, f"{name}:1")
    docker(first, "push", "--quiet", f"{name}:1")
    workspace = folder / "ws"
    environment = {**os.environ, "DOCKER_HOST": first, "XDG_CACHE_HOME": str(folder / "cache")}
    words = ["image", "slim", f"{name}:1", "--runs", "2", "--settle", "2"]
    words += ["--workspace", str(workspace)]
    program = ["--user", case.user] if case.user else []
    if case.port is not None:
        program += ["--drive", " ".join(case.drive()), "--address", f"127.0.0.1:{case.port}"]
    program += ["--", *case.command]
    run([*TRIMTAB, *words, *program], env=environment, cwd=folder, timeout=1500)
    words = ["image", "start", f"{name}:1", str(workspace / "slim.tar")]
    words += ["--rounds", "1", "--output", "start.json"]
    run([*TRIMTAB, *words, *program], env=environment, cwd=folder, timeout=1500)
    needed = json.loads((folder / "start.json").read_text())["before"]["needed"]
    shutil.rmtree(folder / "cache")
    before_bytes = _bytes(registry)
    push = ["image", "push", str(workspace / "slim.tar"), "--to", f"{name}:slim", "--json"]
    push += ["--original", f"{name}:1"]
    pushed = json.loads(run([*TRIMTAB, *push], env=environment, cwd=folder))
    figures: dict[str, Any] = {key: pushed[key] for key in pushed if key.endswith("_bytes")}
    figures |= {"files": pushed["files"], "added_bytes": _bytes(registry) - before_bytes}
    figures["needed"] = needed
    figures["until_ready"] = until_ready(case, first, host, folder, snapshotter, expected[False])
    for engine, tag in ((first, f"{name}:1"), (first, f"{name}:slim"), (first, image)):
        docker(engine, "rmi", tag)
    docker(second, "pull", "--quiet", f"{name}:slim")
    with cold_store(folder, host) as socket:
        mount = ("--volume", f"{socket.parent}:{_INSIDE}:ro")
        for what, held_out in (("traced", False), ("held_out", True)):
            runs = Runs(second, case)
            figures[what] = runs.verdict(f"{name}:slim", expected[held_out], held_out, *mount)
            figures[f"{what}_alone"] = runs.verdict(f"{name}:slim", expected[held_out], held_out)
        figures["misses"] = len((folder / "misses.jsonl").read_text().splitlines())
    docker(second, "rmi", f"{name}:slim")
    return figures


def until_ready(
    case: Case, address: str, host: str, folder: Path, snapshotter: Path, expected: str
) -> dict[str, list[dict[str, float]]]:
    """Return what `lazy.start` does of each round, by image, which the registry at `host` has."""
    name, original, slim = case.software, "1", "slim"
    if case.user:  # containerd's client knows no other user than the image's
        original, slim = (_with_user(case, address, f"{host}/{name}", tag) for tag in ("1", "slim"))
    lazy.to_estargz(host, f"{name}:{original}", f"{name}:estargz", folder)
    inspect = ("inspect", "--format", "{{json .Config.Entrypoint}}")
    kinds: dict[str, tuple[str, list[str], Path | None]] = {
        kind: (
            f"{name}:{tag}",
            json.loads(docker(address, *inspect, f"{host}/{name}:{of}")) or [],
            snapshotter if kind == "original_lazily" else None,
        )
        for kind, tag, of in (
            ("original", original, "1"),
            ("original_lazily", "estargz", "1"),
            ("slim", slim, "slim"),
        )
    }
    figures: dict[str, list[dict[str, float]]] = {kind: [] for kind in kinds}
    with lazy.relayed(host, _GBIT_PER_S) as relay:
        for number in range(_START_ROUNDS):
            for kind in kinds if number % 2 == 0 else reversed(kinds):
                figures[kind].append(lazy.start(relay, case, *kinds[kind], folder, expected))
    return figures


def _with_user(case: Case, address: str, name: str, tag: str) -> str:
    """Push the image once more, with the case's user as its own; return the new tag."""
    container = docker(address, "create", f"{name}:{tag}", *case.command).strip()
    changed = f"{tag}-with-user"
    docker(address, "commit", "--change", f"USER {case.user}", container, f"{name}:{changed}")
    docker(address, "rm", container)
    docker(address, "push", "--quiet", f"{name}:{changed}")
    docker(address, "rmi", f"{name}:{changed}")
    return changed


@contextmanager
def cold_store(folder: Path, host: str) -> Iterator[Path]:
    """Yield the socket of a cold store for the registry `host`; its files are below `folder`."""
    socket = folder / "run/cold-store.sock"
    words = [
        sys.executable,
        "-m",
        "trimtab.cold_store",
        "serve",
        "--listen",
        f"unix:{socket}",
        "--allow",
        host,
    ]
    words += ["--cache", str(folder / "cold"), "--misses", str(folder / "misses.jsonl")]
    (folder / "misses.jsonl").touch()
    server = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        server.stderr.readline()  # it says that it listens
        yield socket
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Measure cases and put them into benchmarks/results/shipping.json, each with the machine."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", action="append", choices=list(CASES))
    parser.add_argument("--folder", type=Path, help="where images are built; bases stay there")
    given = parser.parse_args()
    scripts = PROJECT / "scripts"
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        other, registry = Path(place, "other"), Path(place, "registry")
        engines = (
            run([scripts / "engine.sh", "start"]).strip(),
            run([scripts / "engine.sh", "start", other]).strip(),
        )
        host = run([scripts / "registry.sh", "start", registry]).strip()
        snapshotter = lazy.built_snapshotter(Path(place))
        builder = Builder(engines[0], given.folder or Path(place))
        try:
            for name in given.case or CASES:
                folder, image = Path(place, name), f"trimtab-case-{name}:1"
                folder.mkdir()
                with recorded(RESULTS, name) as figures:
                    builder.build(CASES[name], image, folder)
                    figures.update(
                        measured(CASES[name], image, engines, registry, host, folder, snapshotter)
                    )
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            run([scripts / "registry.sh", "stop", registry])
            run([scripts / "engine.sh", "stop", other])


if __name__ == "__main__":
    main()
