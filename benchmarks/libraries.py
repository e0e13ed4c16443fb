"""Debloating every library of LeNet5 training: bytes removed, time and memory of doing it."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import save

from trimtab.binaries.rewriting.compact import rewrite
from trimtab.config import Configurations
from trimtab.config.groups.debloat import Debloat
from trimtab.debloating.debloat import debloat_target
from trimtab.debloating.gpu_code import GpuTarget
from trimtab.debloating.libraries import locate_used, targets_of
from trimtab.debloating.prefix import prefix_of
from trimtab.records.tables import LIBRARIES, read_table
from trimtab.records.usage import Usage

USAGE = Path("results/profile/lenet5_train/this_machine/usage.json")


def locate_and_compact(usage: Path) -> dict[str, float]:
    """Locate and compact all libraries as the stage does, without measuring their sizes."""
    workload = Configurations(Path("conf")).option("workload", "lenet5_train")
    targets = targets_of([Usage.read(usage)], prefix_of(Path(workload.python)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:

        def work(target):  # type: ignore[no-untyped-def]
            located = locate_used(target, False, GpuTarget())
            rewrite(located.elf, located.spans, "compact", Path(folder, target.name))

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, sorted(targets, key=lambda each: -each.size_bytes)))
    return {
        "libraries": len(targets),
        "wall_s": time.perf_counter() - begun,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "rss_before_bytes": before * 1024,
        "largest_library_bytes": max(target.size_bytes for target in targets),
    }


def main() -> None:
    """Save the sizes of each mode, and time and memory in a process of their own."""
    code = "import json, libraries as l; print(json.dumps(l.locate_and_compact(l.USAGE)))"
    child = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(Path(__file__).parent), "PATH": "/usr/bin:/bin"},
    )
    figures: dict[str, object] = {"locate_and_compact": json.loads(child.stdout)}
    workload = Configurations(Path("conf")).option("workload", "lenet5_train")
    for mode in ("zero", "punch", "compact"):
        with tempfile.TemporaryDirectory() as folder:
            debloat_target(
                "benchmark", "this_machine", [USAGE], [workload],
                Debloat(name=mode, mode=mode), [], Path(folder),
            )  # fmt: skip
            table = read_table(Path(folder, "libraries.parquet"), LIBRARIES)
        sums = table.select_dtypes("number").sum()
        figures[mode] = {key: int(value) for key, value in sums.items()}
    save("libraries", figures)


if __name__ == "__main__":
    main()
