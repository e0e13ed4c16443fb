"""The processor time of servers in containers, through 30 requests: original and slim image.

    python benchmarks/images/container_cpu.py [--case NAME]... [--pairs N] [--folder FOLDER]

Needs root, debootstrap and an engine, as `run.py`. Each container is new and has a network of its
own: in a shared one, connections that earlier ones closed make bind(2) slower. Containers of a pair
run one after the other, and which is first alternates. The time is the engine's count for the
container. The machine has to be idle.
"""

import argparse
import ctypes
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import docker as docker_sdk

sys.path.insert(0, str(Path(__file__).parents[1]))
from building import Builder
from cases import NEW, SMALLEST, Case
from commands import docker, run
from recording import recorded
from running import gone, wait_for
from slimming import TRIMTAB

PROJECT = Path(__file__).parents[2]
CASES = {name: case for name, case in (SMALLEST | NEW).items() if case.port is not None}
REQUESTS = 30
RESULTS = "container_cpu"


@contextmanager
def network_of(container: Any) -> Iterator[None]:
    """Be in the container's network, with the processes that this one starts."""
    set_namespace = ctypes.CDLL(None, use_errno=True).setns
    process = container.attrs["State"]["Pid"]
    own, its = (os.open(f"/proc/{each}/ns/net", os.O_RDONLY) for each in ("self", process))
    try:
        if set_namespace(its, 0):
            raise OSError(ctypes.get_errno(), "cannot enter the container's network")
        yield
    finally:
        set_namespace(own, 0)
        os.close(own)
        os.close(its)


def cpu_s(address: str, case: Case, image: str) -> float:
    """Start a container, send the requests, and return its processor time in s."""
    assert case.port is not None
    words = ("run", "--detach", "--rm", "--pull", "never", "--network", "none", image)
    container = docker(address, *words, *case.command).strip()
    client = docker_sdk.DockerClient(address)
    try:
        with network_of(client.containers.get(container)):
            wait_for(case.port, address, container)
            for _ in range(REQUESTS):
                run(case.drive(), timeout=100)
        stats: Any = client.containers.get(container).stats(stream=False)
        return float(stats["cpu_stats"]["cpu_usage"]["total_usage"]) / 1e9
    finally:
        docker(address, "kill", container)
        gone(case.port, address, container)
        client.close()


def measured(address: str, case: Case, image: str, pairs: int, folder: Path) -> dict[str, Any]:
    """Slim `image`, and return the times of both, in s, and the ratio of each pair."""
    words = ["image", "slim", image, "--workspace", str(folder / "ws")]
    words += ["--drive", " ".join(case.drive()), "--address", f"127.0.0.1:{case.port}"]
    environment = {"DOCKER_HOST": address, "XDG_CACHE_HOME": str(folder / "cache")}
    run(["env", *(f"{key}={value}" for key, value in environment.items()), *TRIMTAB, *words, "--",
         *case.command], cwd=folder, timeout=1500)  # fmt: skip
    slim = f"{image.rpartition(':')[0]}:slim"
    times: dict[str, list[float]] = {image: [], slim: []}
    for each in (image, slim):
        cpu_s(address, case, each)  # the page cache, alike for both
    for number in range(pairs):
        for each in (image, slim) if number % 2 else (slim, image):
            times[each].append(cpu_s(address, case, each))
    ratios = [after / before for before, after in zip(times[image], times[slim], strict=True)]
    docker(address, "rmi", slim)
    return {
        "before_s": statistics.median(times[image]),
        "after_s": statistics.median(times[slim]),
        "ratio": statistics.median(ratios),
        "ratios": sorted(ratios),
        "ratio_of_least": min(times[slim]) / min(times[image]),
    }


def main() -> None:
    """Measure cases and put them into benchmarks/results/container_cpu.json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", action="append", choices=list(CASES))
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="where images are built; bases stay there")
    given = parser.parse_args()
    address = run([PROJECT / "scripts/engine.sh", "start"]).strip()
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        builder = Builder(address, given.folder or Path(place))
        for name in given.case or CASES:
            folder, image = Path(place, name), f"trimtab-cpu-{name}:1"
            folder.mkdir()
            with recorded(RESULTS, name) as figures:
                builder.build(CASES[name], image, folder)
                figures.update(measured(address, CASES[name], image, given.pairs, folder))
                docker(address, "rmi", image)
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
