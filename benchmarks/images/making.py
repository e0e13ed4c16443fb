"""What it takes to make the image of PyTorch training slim, and what tracing costs in it.

    python benchmarks/images/making.py [--folder FOLDER] [--rounds N]

Needs root, debootstrap and an engine (`make deps-docker`). `trimtab image slim` and `trimtab
verify` work on an archive of the image, without the engine and with nothing unpacked before: once
with their defaults, and once with few runs. Then the image's program runs as it is, with functions
and with files traced, in turn. Nothing is removed in between: for minutes after many files went,
ext4 makes new ones slowly. The file system of FOLDER is named beside the figures.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from building import Builder
from cases import SMALLEST
from commands import docker, run
from common import save, spread
from slimming import TRIMTAB

from trimtab.config.groups.workload import TargetConfig, Workload
from trimtab.debloating.targets.registry import target_of
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.profile import with_files_followed
from trimtab.profiling.runs.run import measure_run
from trimtab.profiling.tracing.functions import tracing_environment

_PROJECT = Path(__file__).parents[2]
_IMAGE, _CASE = "trimtab-made-torch:1", SMALLEST["torch_with_byte_code"]
# Of trimtab image slim, and of trimtab verify.
_OPTIONS: dict[str, tuple[list[str], list[str]]] = {
    "default": ([], []),
    "few runs": (["--runs", "2", "--settle", "2"], ["--repeats", "2"]),
}
# Besides traced and settling ones: two as it is, of which one has its files followed; and beside
# each pair of verify's, in the end, one with all its processes followed.
_FIRST, _FOLLOWED = 2, 2


def made(archive: Path, folder: Path, options: tuple[list[str], list[str]]) -> dict[str, Any]:
    """Return how long both commands take, and how often the program runs in them."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    of_slim, of_verify = options
    workspace = folder / "ws"
    slim = ["image", "slim", str(archive), "--workspace", str(workspace), *of_slim]
    verify = ["verify", "--workspace", str(workspace), *of_verify]
    times = []
    for words in ([*slim, "--", *_CASE.command], verify):
        began_s = time.perf_counter()
        run([*TRIMTAB, *words], env=environment, cwd=folder, timeout=1500)
        times.append(time.perf_counter() - began_s)
    verdict = json.loads((workspace / "verify.json").read_text())
    settled = json.loads((workspace / "settling.json").read_text())
    traced = int(of_slim[1]) if of_slim else 3
    pairs = verdict["workloads"][0]["repeats"]
    runs = _FIRST + traced + len(settled["runs"]) + 2 * pairs + _FOLLOWED
    return {"slim_s": times[0], "verify_s": times[1], "runs": runs, "passed": verdict["passed"]}


def traced(archive: Path, folder: Path, rounds: int) -> dict[str, Any]:
    """Return times of the program in its image: as it is, and traced in two ways."""
    workload = Workload(
        name="training",
        command=list(_CASE.command),
        target=TargetConfig(kind="image", location=str(archive)),
    )
    plain = target_of("training", [workload]).program(workload, folder / "run")
    environment = tracing_environment(dict(plain.environment), folder / "functions")
    functions = replace(plain, environment=environment)
    programs = {
        "plain": plain,
        "functions": functions.with_access_to(folder / "functions"),
        "files": with_files_followed(plain, folder / "files.jsonl"),
    }
    times: dict[str, list[float]] = {name: [] for name in programs}
    for number in range(-1, rounds):  # the first warms the page cache
        names = list(programs) if number % 2 == 0 else list(programs)[::-1]
        for name in names:
            measured = measure_run(
                programs[name], condition=name, repeat=max(number, 0), hardware=NO_POWER_MODEL,
                log_dir=folder / "logs",
            )  # fmt: skip
            if measured.failure:
                raise SystemExit(f"{name}: {measured.failure}")
            if number >= 0:
                times[name].append(measured.wall_s)
    ratios = {
        f"{name}_ratio": spread([a / b for a, b in zip(times[name], times["plain"], strict=True)])
        for name in ("functions", "files")
    }
    return {**{f"{name}_wall_s": spread(each) for name, each in times.items()}, **ratios}


def main() -> None:
    """Measure, and write benchmarks/results/image_making.json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=Path, default=None, help="where images are built")
    given = parser.parse_args()
    engine = _PROJECT / "scripts/engine.sh"
    address = os.environ.get("DOCKER_HOST") or run([engine, "start"]).strip()
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        folder = Path(place, "made")
        folder.mkdir()
        Builder(address, given.folder or Path(place)).build(_CASE, _IMAGE, folder)
        archive = Path(place, "image.tar")
        docker(address, "save", "--output", str(archive), _IMAGE)
        docker(address, "rmi", _IMAGE)
        file_system = run(["stat", "--file-system", "--format=%T", place]).strip()
        figures: dict[str, Any] = {
            "image_bytes": archive.stat().st_size,
            "file_system": file_system.replace("ext2/ext3", "ext4"),
        }
        for name, options in _OPTIONS.items():
            own = Path(place, name.replace(" ", "_"))
            own.mkdir()
            figures[name] = made(archive, own, options)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        figures["tracing"] = traced(archive, folder, given.rounds)
    save("image_making", figures)


if __name__ == "__main__":
    main()
