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
from trimtab.config.groups.debloat import Debloat, Mode, Remove
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import debloat_target
from trimtab.debloating.gpu.gpu_code import GpuScope
from trimtab.debloating.libraries.located import locate_used
from trimtab.debloating.libraries.profiled import ProfiledLibrary
from trimtab.debloating.targets.registry import target_of
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import LIBRARIES
from trimtab.records.usage import Usage

USAGE = Path("results/profile/lenet5_train/this_machine/usage.json")


def locate_and_compact(usage: Path) -> dict[str, float]:
    """Locate and compact all libraries as the stage does, without measuring their sizes."""
    workload = Configurations(Path("conf")).option("workload", "lenet5_train")
    libraries = target_of("benchmark", [workload]).libraries([Usage.read(usage)])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:

        def work(library: ProfiledLibrary) -> None:
            located = locate_used(library, Debloat(name="measured", remove=Remove.CODE), GpuScope())
            rewrite(located.elf, located.spans, "compact", Path(folder, library.name))

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, sorted(libraries, key=lambda library: -library.size_bytes)))
    return {
        "libraries": len(libraries),
        "wall_s": time.perf_counter() - begun,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "rss_before_bytes": before * 1024,
        "largest_library_bytes": max(library.size_bytes for library in libraries),
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
    for mode in Mode:
        with tempfile.TemporaryDirectory() as folder:
            stage = DebloatStage(
                target="benchmark", hardware="this_machine", gpus=[], workloads=[workload],
                debloat=Debloat(name=mode, remove=Remove.CODE, mode=mode),
            )  # fmt: skip
            debloat_target(stage, [USAGE], Path(folder))
            table = read_table(Path(folder, "libraries.parquet"), LIBRARIES)
        sums = table.select_dtypes("number").sum()
        figures[mode] = {key: int(value) for key, value in sums.items()}
    save("libraries", figures)


if __name__ == "__main__":
    main()
